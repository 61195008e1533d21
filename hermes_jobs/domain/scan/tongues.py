"""The main phrases of overriding, secrecy and leaking in languages that a table of words is enough for."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hermes_jobs.domain.scan.finding import Rule, rule
from hermes_jobs.domain.scan.folding import bare

_GAP = r"[^.!?\n]{0,30}?"


class Tongue(msgspec.Struct, frozen=True, kw_only=True):
    """Words as alternatives, with `~` for any ending. An order and one of `earlier` make an override."""

    set_aside: str
    orders: str
    earlier: str
    tell_nothing: str
    user: str
    show: str
    prompt: str


TONGUES = (
    Tongue(  # Swedish
        set_aside="ignorera|glöm|strunta i|bortse från|följ inte",
        orders="instruktion~|anvisning~|regler~|direktiv~|riktlinjer~",
        earlier="tidigare|föregående|alla|dina|ovanstående",
        tell_nothing="berätta inte|berätta inget|säg inte|säg inget|säg ingenting|avslöja inte|nämn inte"
        "|hemlighåll|dölj",
        user="användaren",
        show="visa|skriv ut|avslöja|upprepa",
        prompt="systemprompt~|system prompt|dina instruktioner",
    ),
    Tongue(  # Danish, Norwegian
        set_aside="ignorer|ignorér|glem|se bort fra|overse",
        orders="instruktion~|instruks~|anvisning~|regler~|retningslinjer~",
        earlier="tidligere|forrige|foregående|alle|dine|ovenstående",
        tell_nothing="fortæl ikke|sig ikke|si ikke|fortell ikke|nævn ikke|nevn ikke|skjul",
        user="brugeren|brukeren",
        show="vis|udskriv|skriv ut|gentag",
        prompt="systemprompt~|system prompt|ledetekst~",
    ),
    Tongue(  # Czech, Slovak
        set_aside="ignoruj~|zapomeň~|nedbej~|zabudni~|nerespektuj~|přehlížej~",
        orders="pokyn~|instrukc~|pravidl~|příkaz~|inštrukci~",
        earlier="předchozí~|předešl~|všechn~|veškeré|tvé|své|predchádzajúc~|všetk~",
        tell_nothing="neříkej|nic neříkej|nesděluj|nezmiňuj|neprozraď|nehovor|nepovedz|zataj",
        user="uživateli|uživatele|používateľovi",
        show="vypiš|zobraz|ukaž|prozraď|zopakuj|vypíš",
        prompt="systémový prompt|systémové instrukce|system prompt|systémovou výzvu",
    ),
    Tongue(  # Ukrainian
        set_aside="ігноруй~|забудь~|не зважай~ на|відкинь~|знехтуй~|не виконуй~",
        orders="інструкц~|вказівк~|правил~|команд~|настанов~",
        earlier="попередн~|усі|всі|свої|твої|ваші|дотеперішн~",
        tell_nothing="не кажи~|не говори~|не повідомляй~|не згадуй~|нічого не кажи~|приховай~",
        user="користувач~",
        show="покажи|виведи|надрукуй|розкрий|повтори",
        prompt="системний промпт|системні інструкції|системного промпту|system prompt",
    ),
    Tongue(  # Greek
        set_aside="αγνόησε|αγνοήστε|ξέχνα|ξεχάστε|ξέχασε|παράβλεψε|παραβλέψτε|μην ακολουθείς",
        orders="οδηγίες|εντολές|κανόνες|οδηγιών|εντολών",
        earlier="προηγούμεν~|όλες|όλους|όλων|αρχικ~|σου|παραπάνω",
        tell_nothing="μην πεις|μην αναφέρεις|μην αποκαλύψεις|μην ενημερώσεις|μη λες|κρύψε",
        user="χρήστη|χρήστης",
        show="δείξε|εμφάνισε|τύπωσε|αποκάλυψε|επανάλαβε",
        prompt="system prompt|οδηγίες συστήματος|προτροπή συστήματος|αρχικές οδηγίες",
    ),
    Tongue(  # Indonesian, Malay
        set_aside="abaikan|lupakan|jangan ikuti|hiraukan|kesampingkan",
        orders="instruksi|perintah|aturan|arahan|petunjuk|pedoman",
        earlier="sebelumnya|sebelum ini|semua|terdahulu|di atas|anda|kamu|awal",
        tell_nothing="jangan beri tahu|jangan beritahu|jangan katakan|jangan bilang|jangan sebutkan"
        "|rahasiakan|sembunyikan",
        user="pengguna|user",
        show="tampilkan|tunjukkan|cetak|ungkapkan|ulangi",
        prompt="prompt sistem|system prompt|instruksi sistem",
    ),
    Tongue(  # Persian
        set_aside="نادیده بگیر~|فراموش کن~|توجه نکن~|کنار بگذار~|پیروی نکن~",
        orders="دستور~|قوانین|قواعد|راهنما~",
        earlier="قبلی|پیشین|همه|تمام|بالا|خود~",
        tell_nothing="نگو~|اطلاع نده~|مخفی کن~|پنهان کن~|نباید بداند|خبر نده~",
        user="کاربر",
        show="نشان بده~|چاپ کن~|نمایش بده~|فاش کن~|تکرار کن~",
        prompt="پرامپت سیستم|دستورات سیستم|دستورالعمل سیستم|system prompt",
    ),
    Tongue(  # Hebrew
        set_aside="התעלם|התעלמי|התעלמו|תתעלם|שכח|תשכח|שכחי|אל תציית|בטל",
        orders="ההוראות|הוראות|ההנחיות|הנחיות|הכללים|הפקודות|מההוראות|מההנחיות",
        earlier="הקודמות|הקודמים|כל|מכל|שלך|לעיל|המקוריות",
        tell_nothing="אל תספר~|אל תגיד~|אל תאמר~|אל תגלה~|אל תציין~|הסתר",
        user="למשתמש|מהמשתמש|המשתמש",
        show="הצג|הצגי|הדפס|הראה|חשוף|תראה",
        prompt="הפרומפט|פרומפט המערכת|הוראות המערכת|system prompt",
    ),
    Tongue(  # Thai
        set_aside="เพิกเฉย|ละเว้น|ไม่ต้องสนใจ|ไม่สนใจ|อย่าสนใจ|ลืม|ละเลย|มองข้าม",
        orders="คำสั่ง|คำแนะนำ|กฎ|ข้อกำหนด|แนวทาง",
        earlier="ก่อนหน้า|ทั้งหมด|เดิม|ข้างต้น|ของคุณ|ที่ผ่านมา",
        tell_nothing="ห้ามบอก|อย่าบอก|ไม่ต้องบอก|ห้ามแจ้ง|อย่าแจ้ง|ปิดบัง|อย่าพูดถึง",
        user="ผู้ใช้",
        show="แสดง|พิมพ์|เปิดเผย|บอก",
        prompt="พรอมต์ระบบ|พรอมปต์ระบบ|system prompt|คำสั่งระบบ",
    ),
)


def _words(alternatives: str) -> str:
    """The alternatives as a pattern for texts without accents, whole words where the script parts words."""
    made = []
    for word in bare(alternatives).split("|"):
        stem, _, rest = word.partition("~")
        pattern = r"\s+".join(map(re.escape, stem.split()))
        ending = r"\w*" if "~" in word else ""
        if rest:
            ending += r"\s*" + re.escape(rest.strip())
        thai = "\u0e00" <= stem[:1] <= "\u0e7f"
        made.append(pattern if thai else rf"(?<!\w){pattern}{ending}(?!\w)")
    return f"(?: {' | '.join(made)} )"


def _near(alternatives: str) -> str:
    """What every match holds, as words with blanks between."""
    return " ".join(
        max(word.partition("~")[0].split(), key=len) for word in bare(alternatives).lower().split("|")
    )


def _rules(tongue: Tongue) -> Iterator[Rule]:
    aside, orders, earlier = map(_words, (tongue.set_aside, tongue.orders, tongue.earlier))
    known = rf"(?: {orders} {_GAP} {earlier} | {earlier} {_GAP} {orders} )"
    yield rule(
        "instruction",
        "overrides instructions",
        _near(tongue.orders),
        rf"(?: {aside} {_GAP} {known} | {known} {_GAP} {aside} )",
    )
    nothing, user = _words(tongue.tell_nothing), _words(tongue.user)
    yield rule(
        "instruction",
        "hides from the user",
        _near(tongue.user),
        rf"(?: {nothing} {_GAP} {user} | {user} {_GAP} {nothing} )",
    )
    show, prompt = _words(tongue.show), _words(tongue.prompt)
    yield rule(
        "instruction",
        "asks for the prompt",
        _near(tongue.prompt),
        rf"(?: {show} {_GAP} {prompt} | {prompt} {_GAP} {show} )",
    )


TONGUE_RULES = tuple(each for tongue in TONGUES for each in _rules(tongue))
