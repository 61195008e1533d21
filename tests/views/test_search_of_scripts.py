"""Whatever is said, in any script and spelling, is found by the words that stand in it."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.views.test_search import Archive

SAID = (
    "The quick brown fox jumps over the lazy dog.",
    "Die Größe der Übergrößenträger: naïveté, café crème.",
    "我们明天上午在图书馆见面，然后去吃饭。",
    "東京タワーの近くでﾃﾞｰﾀベースを見た。",
    "내일 아침에 회의가 있습니다.",
    "สวัสดีครับ วันนี้อากาศดี",
    "नमस्ते दुनिया, दिन और दान अलग हैं।",
    "বাংলা ভাষা সুন্দর।",
    "தமிழ் மொழி இனிமை",
    "مَرْحَبًا بِالعَالَم وأحمد إلى المدرسة",
    "שָׁלוֹם עולם",
    "İstanbul ılık DIŞ güneş",
    "the ﬁle was ﬂagged by the oﬃce",
    "def f_x(a: int) -> list[str]: return a.b_c // 2 # C++ C# i++",
    "src/app/main.py:12 --flag=x_y@host.org https://ex.org/a?b=c#d v1.2.3-rc4",
    "it's o’clock d'accord l’été",
    "👩‍💻 with 👍🏽 ❤️ 1️⃣",
    "Ελληνικά ΣΊΣΥΦΟΣ σίσυφος",
    "Привет, мир! Ёлка ещё",
    "ｆｕｌｌ　ｗｉｄｔｈ　１２３",
    "GPT模型v2的API接口",
    "tiếng Việt, e\u0301te\u0301",
)
MARKS = ".,!?:;()[]。，।"


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(3))
def test_a_text_is_found_by_any_word_phrase_and_beginning_of_it(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        said = {}
        for number in range(40):
            text = " ".join(random.choices(SAID, k=random.randint(2, 3)))
            text = unicodedata.normalize(random.choice(["NFC", "NFD"]), text)
            said[archive.say(text, f"s{number}")] = text
        for turn, text in said.items():
            for query in queries(text, random):
                assert turn in archive.found(query), query
        archive.close()


def queries(text: str, random: Random) -> list[str]:
    """A word, a phrase of two and the beginning of a word, composed or not."""
    words = text.split()
    at = random.randrange(len(words) - 1)
    word = random.choice([each for each in words if each.strip(MARKS)[:1].isalpha()] or words)
    found = (words[at], f'"{words[at]} {words[at + 1]}"', f"{unicodedata.normalize('NFC', word)[:3]}*")
    spelled = [unicodedata.normalize(random.choice(["NFC", "NFD"]), each) for each in found]
    return [each for each in spelled if any(map(str.isalnum, each))]


@pytest.mark.parametrize(
    ("query", "text", "other"),
    [
        ("दिन", "आज का दिन", "दान और दीन"),
        ("दि*", "आज का दिन", "दान"),
        ("ভাষা", "বাংলা ভাষা", "ভীষণ ভেষ"),
        ("مرحبا", "مَرْحَبًا بكم", "مرح"),
        ("مَرْحَبًا", "مرحـــبا بكم", "مرح"),
        ("احمد", "قال أحمد", "حمد"),
        ("שלום", "שָׁלוֹם עולם", "שלו"),
        ("file", "the ﬁle", "the pile"),
        ("ﬁle", "the file", "the pile"),
        ("データ", "ﾃﾞｰﾀです", "タです"),
        ("DIŞ", "dış kapı", "diz kapı"),
    ],
)
def test_vowel_signs_count_and_optional_points_do_not(
    query: str, text: str, other: str, tmp_path: Path
) -> None:
    archive = Archive(tmp_path)
    wanted = archive.say(text, "s1")
    archive.say(other, "s2")
    assert archive.found(query) == [wanted]
    archive.close()
