"""The main phrases of overriding and secrecy in other languages, without accents, as readings have them."""

from __future__ import annotations

from functools import partial

from hermes_jobs.domain.scan.finding import rule

_overrides = partial(rule, "instruction", "overrides instructions")
_hides = partial(rule, "instruction", "hides from the user")
_asks = partial(rule, "instruction", "asks for the prompt")

_GERMAN = r"""
    (?: anweisung(?:en)? | anordnung(?:en)? | instruktion(?:en)? | regeln | vorgaben | befehle? | richtlinien
    | system-?prompt )\b"""
_FRENCH = r"(?: instructions? | consignes? | regles? | directives? | ordres? )"
_ROMANCE = r"""
    (?: instruccion(?:es)? | reglas? | ordenes | directrices | indicaciones | instrucao | instrucoes | regras
    | ordens | istruzion[ei] | regole )"""
_ROMANCE_WORDS = "instruc regl orden directrices indicaciones regr istruzion regole"
_RUSSIAN = r"(?: инструкц | указани | правил | команд | директив | промпт )\w*"
_RUSSIAN_EARLIER = r"""
    (?: предыдущ | прежн | предшеств | вышеприведенн | вышеуказанн | выше | все\b | свои | твои | системн
    )\w*"""
_CHINESE = r"(?: 指令 | 指示 | 说明 | 說明 | 规则 | 規則 | 提示 | 命令 | 设定 | 設定 )"
_CHINESE_USER = r"(?: 用户 | 用戶 | 使用者 )"
_CHINESE_NOT = r"(?: 不要 | 别 | 別 | 不得 | 切勿 | 不能 | 不可 | 勿 | 禁止 )"

GERMAN_RULES = (
    _overrides(
        "anweisung anordnung instruktion regeln vorgaben befehl richtlinien prompt",
        rf"""\b(?: ignorier(?:e|en|t)? | vergiss | vergesst | missachte | verwirf | uberschreibe | umgehe )\s+
        (?:\w+\s+){{0,2}}? (?: (?:vorherig|vorig|bisherig|fruher|obig|vorangegangen|ursprunglich)e[nr]? |
        deine )\s+
        (?:\w+\s+)? {_GERMAN}""",
    ),
    _overrides(
        "ignoriere vergiss",
        r"""\b(?:ignoriere|vergiss)\s+
        (?: alles\s*,?\s*was\s+(?:du|dir|vorher|oben|bisher)\b | alle\s+anweisungen\b )""",
    ),
    _hides(
        "nutzer",
        r"""\b(?: sage? | erzahle? | verrate? | teile | melde )\s+ (?:(?:es|das|dies|davon)\s+)?
        (?:dem|der|den)\s+ (?:be)?nutzer(?:in|n)?\b [^.\n]{0,30}? \b(?:nichts|nicht)\b
        (?! \s+(?:nur|zweimal|doppelt|nochmals)\b )""",
    ),
    _hides(
        "nutzer",
        r"""\b(?:dem|der|den)\s+ (?:be)?nutzer(?:in|n)?\s+ (?:\w+\s+){0,2}? (?:nichts|nicht|niemals|nie)\s+
        (?:\w+\s+){0,3}? (?: sagen | verraten | mitteilen | erzahlen | erwahnen )\b""",
    ),
)

ROMANCE_RULES = (
    _overrides(
        "instruction consigne regle directive ordre",
        rf"""\b(?: ignore[rz]? | oublie[rz]?
        | ne\s+(?:tiens|tenez|suis|suivez)\s+(?:pas|plus)(?:\s+compte\s+(?:de|des))? )\s+
        (?:toutes?\s+)? (?:(?:les|des|tes|vos|ces)\s+)? {_FRENCH}\s+ (?:\w+\s+)?
        (?: precedentes? | anterieures? | ci-dessus | initiales? | recues | d['’]avant | du\s+systeme )\b""",
    ),
    _overrides(
        "instruction consigne regle directive ordre",
        rf"\b(?:ignore[rz]?|oublie[rz]?)\s+ (?:toutes\s+)? (?:tes|vos)\s+ {_FRENCH}\b",
    ),
    _hides(
        "utilisa",
        r"""\bn(?: e\s+ | ['’]en\s+ ) (?:(?:le|lui|rien|jamais|pas)\s+)*
        (?: dis | dites | dire | revele[rz]? | mentionne[rz]? | parle[rz]? | montre[rz]? | informe[rz]? |
        previens )\s+
        (?:(?:rien|pas|jamais|cela|ceci|en)\s+)* (?:a\s+|de\s+cela\s+a\s+)? l['’]utilisa(?:teur|trice)\b
        (?!\s+en\s)""",
    ),
    _overrides(
        _ROMANCE_WORDS,
        rf"""\b(?: ignor[aei] | ignorar | olvid[ae] | olvidar | descart[ae] | esqueca | desconsidere |
        dimentica
        | haz\s+caso\s+omiso\s+de )\s+ (?:(?:tod[ao]s|tutte)\s+)? (?:(?:l[ao]s|as|le|tus|sus|suas)\s+)?
        {_ROMANCE}\s+ (?:\w+\s+)?
        (?: anteriores | previas | precedent[ei] | de\s+arriba | del\s+sistema | original(?:es|i) | recibidas
        | iniciales | acima )\b""",
    ),
    _overrides(
        "dicho detto dit",
        r"""\b(?: olvid[ae] | ignor[ae] | dimentica | ignore[rz]? | oublie[rz]? )\s+ (?:todo|tutto|tout)\s+
        (?: lo\s+que\s+te\s+han | (?:quello|cio)\s+che\s+ti\s+(?:e\s+stato|hanno)
        | ce\s+qu(?:e\s+l['’])?['’]?on\s+t['’]a ) \s+ (?:dicho|detto|dit)\b""",
    ),
    _overrides(
        _ROMANCE_WORDS,
        rf"""\b(?:ignor[ae]|olvida|descarta|dimentica)\s+ (?:todas\s+)? (?:tus|sus|suas|le\s+tue)\s+
        {_ROMANCE}\b""",
    ),
    _hides(
        "usuari utente",
        r"""\b(?:no|nao|non)\s+ (?:(?:se\s+lo|le|lo|o)\s+)?
        (?: digas? | cuentes? | reveles? | menciones? | informes? | muestres? | dire | conte )\s+
        (?:(?:nada|esto|eso|isso|nulla|niente)\s+)* (?: al | a\s+la | ao | a | all['’]
        )\s*(?:usuari[oa]|utente)\b
        (?! \s+ (?: en\s | em\s | in\s | de\s+cada | dos\s+veces ) )""",
    ),
)

# й and ё stand without their marks.
RUSSIAN_RULES = (
    _overrides(
        "инструкц указани правил команд директив промпт",
        rf"""\b(?:про)?игнорир(?:уи|уите|овать|уя)\b [^.\n]{{0,30}}? {_RUSSIAN_EARLIER}
        [^.\n]{{0,20}}? {_RUSSIAN}""",
    ),
    _overrides(
        "инструкц указани правил команд директив промпт",
        rf"""\b(?: забудь(?:те)? | не\s+(?:следуи|выполняи|соблюдаи)(?:те)?
        | не\s+обращаи(?:те)?\s+внимания\s+на )\b [^.\n]{{0,30}}? {_RUSSIAN_EARLIER} [^.\n]{{0,20}}?
        {_RUSSIAN}""",
    ),
    _hides(
        "пользовател юзер",
        r"""\bне\s+ (?: говори | сообщаи | рассказываи | раскрываи | упоминаи | показываи )(?:те)?\b
        [^.\n]{0,30}? \b(?:пользовател|юзер)\w*""",
    ),
    _hides(
        "пользовател",
        r"\bпользовател\w+\s+ (?:\w+\s+){0,3}? не\s+ долж(?:ен|на|ны)\s+ (?:знать|узнать|видеть)\b",
    ),
)

EAST_ASIAN_RULES = (
    _overrides(
        "指令 指示 说明 說明 规则 規則 提示 命令 设定 設定",
        rf"""(?: 忽略 | 无视 | 無視 | 忘记 | 忘記 | 忘掉 | 不要理会 | 不要遵守 | 不要遵循 | 绕过 | 覆盖 )
        [^。\n]{{0,6}}?
        (?: 之前 | 以前 | 以上 | 先前 | 此前 | 前面 | 上述 | 上面 | 所有 | 全部 | 一切 | 系统 | 系統 | 你的 )
        [^。\n]{{0,8}}? {_CHINESE}""",
    ),
    _hides(
        "用户 用戶 使用者",
        rf"""{_CHINESE_NOT} [^。\n忘]{{0,10}}? (?: 告诉 | 告訴 | 告知 | 透露 | 通知 | 提及 | 泄露 | 提到 )
        [^。\n]{{0,4}}? {_CHINESE_USER}""",
    ),
    _hides(
        "用户 用戶 使用者",
        rf"""{_CHINESE_NOT} (?:让|讓) {_CHINESE_USER} [^。\n]{{0,4}}? (?: 知道 | 发现 | 發現 | 察觉 | 看到 )
        | (?:对|對|向) {_CHINESE_USER} [^。\n]{{0,4}}? (?: 保密 | 隐瞒 | 隱瞞 )""",
    ),
    _overrides(
        "無視 忘れ 従わな 破棄 上書き",
        r"""(?: 以前 | これまで | 今まで | 上記 | 前述 | 前 | 先 | すべて | 全て | 全部 | システム | あなた )
        [^。\n]{0,12}? (?: 指示 | 命令 | 指令 | プロンプト | ルール | 規則 | 設定 | 制約 )
        [^。\n]{0,6}? (?: 無視 | 忘れ | 従わな | 破棄 | 上書き )""",
    ),
    _hides(
        "ユーザ 利用者 使用者",
        r"""(?: ユーザー? | 利用者 | 使用者 ) に [^。\n]{0,14}?
        (?: 言わな | 伝えな | 教えな | 知らせな | 話さな | 報告しな | 言うな | 伝えるな | 教えるな | 秘密 |
        内緒 | 隠[しす] )""",
    ),
    _overrides(
        "무시 잊어 따르지",
        r"""(?: 이전 | 위의 | 앞의 | 모든 | 기존 | 시스템 ) [^.\n]{0,10}?
        (?: 지시 | 지침 | 명령 | 규칙 | 프롬프트 | 설정 ) [^.\n]{0,6}? (?: 무시 | 잊어 | 따르지\s*마 )""",
    ),
    _hides(
        "사용자 유저",
        r"""(?:사용자|유저) (?:에게|한테|께) [^.\n]{0,14}?
        (?: 말하지 | 알리지 | 알려주지 | 숨기 | 숨겨 | 비밀 | 언급하지 )""",
    ),
)

# Alef stands without its marks, and vowels are not written.
ARABIC_RULES = (
    _overrides(
        "تعليمات اوامر توجيهات ارشادات قواعد",
        r"""(?: تجاهل | اهمل | انس\s | انسى | تخط | لا\s+تتبع ) [^.\n]{0,20}?
        (?: تعليمات | اوامر | توجيهات | ارشادات | قواعد ) [^.\n]{0,12}?
        (?: السابق | اعلاه | الاصلي | النظام )""",
    ),
    _hides(
        "مستخدم",
        r"""\b(?:و|ف)?لا\s+
        (?: (?: تخبر | تبلغ | تعلم )\s+ المستخدم | (?: تقل | تذكر | تكشف | تظهر ) [^.\n]{0,14}? للمستخدم )
        (?!\w) (?!\s+(?:مرتين|بال))""",
    ),
)

# Signs of vowels are no letters to patterns: there are no borders of words.
HINDI_RULES = (
    _overrides(
        "निर्देश आदेश नियम प्रॉम्प्ट",
        r"""(?: पिछल | पहले | पूर्व | उपरोक्त | ऊपर ) [^।.\n]{0,20}?
        (?: निर्देश | आदेश | नियम | प्रॉम्प्ट )(?:ों|ो|ओं)?\s* (?:को\s+)?
        (?: अनदेख | न.{0,2}र.{0,2}अंदा | भूल\s+जा(?:ओ|एं|इए) | (?:न|मत)\s+मान )""",
    ),
    _hides(
        "उपयोगकर्ता यूजर",
        r"""(?: उपयोगकर्ता | यूजर )\s*को\s+ (?: (?: यह | ये | कुछ(?:\s+भी)? | इस(?:के)?\s+बारे\s+में )\s+ )?
        (?:मत|न|नहीं)\s+ (?: बता | कह | दिखा )""",
    ),
)

TURKISH_RULES = (
    _overrides(
        "talimat komut kural yonerge",
        r"""\b(?:onceki|yukaridaki)\s+ (?:\w+\s+){0,2}? (?:talimat|komut|kural|yonerge)\w*\s+ (?:\w+\s+)?
        (?: yok\s*say | gormezden\s+gel | unut(?:un)?\b | dikkate\s+alma )""",
    ),
    _hides(
        "kullanici",
        r"""(?: \b(?:bunu|bundan)\s+kullanici\w*\s+ | \bkullanici\w*\s+ (?:bunu|bundan|hicbir\s*sey)\s+ )
        (?: soyleme | anlatma | bildirme | bahsetme )\b""",
    ),
)

POLISH_RULES = (
    _overrides(
        "instrukcj polece regul zasad",
        r"""\b(?:z?ignoruj|zapomnij|pomin)(?:cie)?\s+ (?:\w+\s+){0,2}? (?:poprzedni|wczesniejsz|powyzsz)\w*\s+
        (?:\w+\s+)? (?: instrukcj | polece | regul | zasad )""",
    ),
    _hides(
        "uzytkownikowi",
        r"\bnie\s+ (?: mow | zdradzaj | wspominaj )\w*\s+ (?:(?:o\s+tym|tego|nic)\s+)? uzytkownikowi\b",
    ),
)

DUTCH_RULES = (
    _overrides(
        "instructies opdrachten regels aanwijzingen richtlijnen",
        r"""\b(?: negeer | vergeet | omzeil )\s+ (?:\w+\s+){0,2}?
        (?: vorige | eerdere | voorgaande | bovenstaande )\s+ (?:\w+\s+)?
        (?: instructies | opdrachten | regels | aanwijzingen | richtlijnen )\b""",
    ),
    _hides(
        "gebruiker",
        r"""\b(?: vertel | zeg )\s+ (?:(?:het|dit|dat)\s+)? (?:aan\s+)? de\s+gebruiker\s+ (?:hier\s+)?
        (?:niets|niet)\b (?! \s+(?:alleen|twee)\b )""",
    ),
)

VIETNAMESE_RULES = (
    _overrides(
        "huong chi lenh quy",
        r"""\b(?: bo\s+qua | phot\s+lo | quen )\s+ (?:\w+\s+){0,3}?
        (?: huong\s+dan | chi\s+(?:dan|thi) | lenh | quy\s+tac )\s+ (?:\w+\s+)?
        (?: truoc | o\s+tren | phia\s+tren )\b""",
    ),
    _hides(
        "dung",
        r"""\b(?:dung|khong)\s+ (?: noi | bao | tiet\s+lo )\s+ (?:\w+\s+){0,2}? nguoi\s+dung\b
        (?!\s+bang\s)""",
    ),
)

PROMPT_RULES = (
    _asks(
        "系统提示 系統提示",
        r"""(?: 输出 | 輸出 | 显示 | 顯示 | 打印 | 复述 | 複述 | 告诉我 | 告訴我 | 泄露 ) [^。\n]{0,6}?
        (?:系统|系統)提示 (?: [词詞语語] | (?=\s*(?:[。.,，!！]|$)) )
        | 把 [^。\n]{0,6}? (?:系统|系統)提示 [词詞语語]? [^。\n]{0,4}?
          (?: 发给 | 發給 | 给我 | 給我 | 告诉 | 告訴 )""",
    ),
    _asks(
        "システムプロンプト",
        r"""システムプロンプト (?:の(?:内容|全文|全て|すべて))? を [^。\n]{0,6}?
        (?: 出力し | 表示し | 見せ | 教え )""",
    ),
    _asks("프롬프트", r"시스템\s*프롬프트 (?:를 | \s*전체를 | 의\s*내용을) \s* (?: 출력 | 보여 | 알려 )"),
    _asks(
        "prompt",
        r"""\b(?: muestra(?:me)? | revela(?:me)? | imprime | mostre | mostra(?:mi)? | affiche | montre
        | revele | zeige? | verrate? | nenne )\s+ (?:(?:mir|moi|me)\s+)?
        (?: tu | su | seu | teu | il\s+tuo | ton | votre | deinen | el | le | o | il )\s+
        (?: prompt\s+ (?:del?|do|di|du)\s+ (?:sistema|systeme) | prompt\s+systeme | system-?\s?prompt )\b""",
    ),
    _asks(
        "промпт",
        r"""\b(?: покажи | выведи | повтори | напечатаи | раскрои )(?:те)?\s+
        (?:\w+\s+){0,2}? системн\w+\s+промпт""",
    ),
)

LANGUAGE_RULES = (
    *GERMAN_RULES,
    *ROMANCE_RULES,
    *RUSSIAN_RULES,
    *EAST_ASIAN_RULES,
    *ARABIC_RULES,
    *HINDI_RULES,
    *TURKISH_RULES,
    *POLISH_RULES,
    *DUTCH_RULES,
    *VIETNAMESE_RULES,
    *PROMPT_RULES,
)
