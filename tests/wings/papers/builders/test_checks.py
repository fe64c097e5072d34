"""Checks without a model: phrases, shares of words, languages."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.marks import mostly_long

from trueground.errors import MissingExtraError
from trueground.wings.papers.builders import checks
from trueground.wings.papers.builders.checks import (
    contains_all_words,
    contains_phrase,
    contains_quote,
    count_other_words,
    count_phrase,
    count_words,
    other_language,
    require_languages,
    same_answer,
    same_text,
    share_kept,
)

DATA = Path(__file__).parents[5] / "shared" / "data" / "truly-ground"
# Letters of several scripts, digits, and signs that part or join words.
TEXTS = st.text("aBéßçİ Жя北京กำ한अ1,0.5-–'’$%_\u200b\t\n", max_size=40) | st.text(max_size=30)
WORDS = st.lists(st.text("abcdefé", min_size=1, max_size=6), min_size=1, max_size=8)

ENGLISH = (
    "The ferry to Lume leaves at seven every morning, and the crossing takes about forty minutes "
    "when the sea is calm. In winter the boat stays in the harbour, and letters come by air."
)
OTHERS = {
    "de": "Die Fähre nach Lume legt jeden Morgen um sieben ab, und die Überfahrt dauert bei "
    "ruhiger See ungefähr vierzig Minuten. Im Winter bleibt das Schiff im Hafen, und die Briefe "
    "werden geflogen.",
    "fr": "Le bac pour Lume part chaque matin à sept heures, et la traversée dure environ quarante "
    "minutes quand la mer est calme. En hiver le bateau reste au port et le courrier vient par "
    "avion.",
    "es": "El barco a Lume sale cada mañana a las siete y la travesía dura unos cuarenta minutos "
    "cuando el mar está tranquilo. En invierno se queda en el puerto y las cartas llegan por aire.",
    "it": "Il traghetto per Lume parte ogni mattina alle sette e la traversata dura circa quaranta "
    "minuti quando il mare è calmo. D'inverno la barca resta nel porto e le lettere arrivano in "
    "aereo.",
    "pl": "Prom do Lume odpływa codziennie rano o siódmej, a podróż trwa około czterdziestu minut, "
    "gdy morze jest spokojne. Zimą statek zostaje w porcie, a listy przychodzą drogą lotniczą.",
    "fi": "Lautta lähtee joka aamu seitsemältä, ja matka kestää noin neljäkymmentä minuuttia, kun "
    "meri on tyyni. Talvella vene pysyy satamassa ja kirjeet tulevat lentoteitse.",
    "tr": "Vapur her sabah saat yedide kalkar ve deniz sakin olduğunda yolculuk yaklaşık kırk "
    "dakika sürer. Kışın gemi limanda kalır, mektuplar ise uçakla gelir.",
    "ru": "Паром отходит каждое утро в семь часов, и переправа занимает около сорока минут, когда "
    "море спокойно. Зимой судно остаётся в гавани, а письма доставляют самолётом.",
    "ar": "تغادر العبارة كل صباح في الساعة السابعة، وتستغرق الرحلة نحو أربعين دقيقة عندما يكون "
    "البحر هادئا. وفي الشتاء تبقى السفينة في الميناء وتصل الرسائل بالطائرة.",
    "zh": "渡轮每天早上七点出发,海面平静时航程大约四十分钟。冬天船停在港口,信件由飞机送来。",
    "ja": "フェリーは毎朝七時に出発し、海が穏やかなときは四十分で着く。冬は船が港に残る。",
    "ko": "여객선은 매일 아침 일곱 시에 출발하며 바다가 잔잔하면 약 사십 분이 걸립니다. "
    "겨울에는 배가 항구에 머뭅니다.",
    "th": "เรือข้ามฟากออกทุกเช้าเวลาเจ็ดโมง และใช้เวลาประมาณสี่สิบนาทีเมื่อทะเลสงบ ในฤดูหนาวเรือจะจอดอยู่ในท่า",
}


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("The answer is Paris.", "paris"),
        ("the  Saintly\nMother of Lingnan", "SAINTLY MOTHER"),
        ("Paris's towers", "Paris"),
        ("it was Paris—the capital", "Paris"),
        ("it was “Paris”, they said", "Paris."),
        ("the US army", "U.S."),
        ("the U.S. army", "US"),
        ("a jean-luc story", "Jean Luc"),
        ("some 1,000 men", "1000"),
        ("some 1000 men", "1,000"),
        ("in 1914–1918", "1914"),
        ("it cost $5 million", "5 million"),
        ("heard by Beatles fans", "The Beatles"),
        ("Straße 5", "STRASSE"),
        ("Pa\u200bris is hidden", "Paris"),
        ("Caf\u00e9 Lume", "Cafe\u0301 lume"),
        ("北京是中国的首都。", "中国"),
        ("กรุงเทพเป็นเมืองหลวงของประเทศไทย", "เมืองหลวง"),
        ("built in 2020年", "2020"),
        ("written in C++ only", "C++"),
        ("the type is A", "A"),
    ],
)
def test_says(text: str, phrase: str) -> None:
    assert contains_phrase(text, phrase)
    assert contains_all_words(text, phrase)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("comparison", "par"),
        ("12,500 men", "500"),
        ("3.5 million", "3"),
        ("at -5 degrees", "5"),
        ("Cafe Lume", "Café"),
        ("anything", ""),
        ("anything", " ?! "),
        ("", "word"),
        ("中国", "国中"),
        ("Luc Jean", "Jean Luc"),
    ],
)
def test_does_not_say(text: str, phrase: str) -> None:
    assert not contains_phrase(text, phrase)


def test_all_words_may_stand_apart_but_none_may_lack() -> None:
    assert contains_all_words("Ada, born to Otto Brand", "Brand Ada")
    assert not contains_all_words("Ada Otto", "Ada Brand")
    assert not contains_all_words("Ada", "")


def test_same_text() -> None:
    assert same_text("In 1,000 days: Well-known!", "in 1000 days well known")
    assert same_text("", "  …")
    assert not same_text("3.5", "35")
    assert not same_text("C++", "C")
    assert not same_text("café", "cafe")


def test_share_kept_counts_repeats() -> None:
    assert share_kept("a b b c", "b a x") == 0.5
    assert share_kept("one two", "Two, one!") == 1.0
    assert share_kept("one", "") == 0.0
    assert share_kept("", "anything") == 1.0
    assert share_kept("中国", "国") == 0.5


@pytest.mark.parametrize(
    ("text", "phrase", "times"),
    [
        ("Rowe met Rowe's son; Rowena did not.", "rowe", 2),
        ("of The Hague, to the Hague, a hague", "The Hague", 3),
        ("in 1,500 and 1500, not 11500 or 1.500", "1500", 2),
        ("the U.S. and the US", "US", 2),
        ("go go go", "go go", 1),
        ("北京大学在北京,不在东北。", "北京", 2),
        ("東京都の東京タワー", "東京", 2),
        ("anything", "", 0),
        ("anything", "?!", 0),
    ],
)
def test_count(text: str, phrase: str, times: int) -> None:
    assert count_phrase(text, phrase) == times
    assert contains_phrase(text, phrase) is bool(times)


@given(TEXTS, TEXTS)
def test_what_is_said_counts(text: str, phrase: str) -> None:
    assert bool(count_phrase(text, phrase)) is contains_phrase(text, phrase)
    assert count_other_words(text, [phrase]) <= count_other_words(text, [])


def test_words_without() -> None:
    text = "The Velm tunnel is long. The tunnel of Velm, the Velm tunnel, opened in 1,962."
    left = count_other_words(text, ["Velm", "the Velm tunnel", "1962"])
    assert dict(left) == {"the": 3, "is": 1, "long": 1, "tunnel": 1, "of": 1, "opened": 1, "in": 1}
    assert count_other_words("甲乙丙乙", ["乙"]) == {"甲": 1, "丙": 1}
    assert not count_other_words("one two three", ["two", "one two three"])
    assert count_other_words("k x m", ["x", "k m"]).keys() == {"k", "m"}


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("the harbour master’s “log”", 'In the harbour  master\'s\n"log" it stands.'),
        ("…kept by Mira Tessen ...", "The light was kept by Mira Tessen until 1911."),
        ("light\u00adhouse keeper", "a lighthouse keeper"),
        ("a lighthouse keeper", "a light\u00adhouse keeper"),
        ("MIRA Tessen", "mira tessen"),
        ("渡轮每天早上七点出发", "因此渡轮每天早上七点出发,海面平静。"),
        ("四十分で着く。", "フェリーは四十分で着く"),
        ("В гавани", "Судно остаётся в гавани."),
        ("3", "3 ships"),
    ],
)
def test_quoted(quote: str, text: str) -> None:
    assert contains_quote(quote, text)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("", "anything"),
        (" … ", "anything … else"),
        ("“”", "a “” b"),
        ("$", "5 $"),
        ("the keeper", "a keeper"),
        ("keeper of light", "keeper of lighthouses"),
        ("it leaves at eight", "it leaves at seven"),
        ("早上八点", "早上七点"),
        ("5 degrees", "-5 degrees"),
    ],
)
def test_not_quoted(quote: str, text: str) -> None:
    assert not contains_quote(quote, text)


def test_same_answer() -> None:
    assert same_answer("Edda Rowe", "rowe.")
    assert same_answer("Rowe", "Edda Rowe")
    assert same_answer("北京", "北京市")
    assert not same_answer("Edda Rowe", "Edda Holt")
    assert not same_answer("12", "120")


def test_words() -> None:
    assert count_words("Two well-known words – or 3,000?") == 6
    assert count_words("渡轮每天早上七点出发。") == 10
    assert count_words("เรือ") == 3
    assert count_words("여객선은 매일 아침") == 3
    assert count_words(" … ") == 0


@given(TEXTS)
def test_every_text_says_itself_unless_it_has_no_words(text: str) -> None:
    assert same_text(text, text)
    assert same_text(text, f"\n{text} ")
    has_words = not same_text(text, "")
    assert contains_phrase(text, text) == has_words
    assert contains_all_words(text, text) == has_words
    assert share_kept(text, text) == 1.0


@given(WORDS, st.data())
def test_says_a_run_of_words_whatever_stands_between_them(
    words: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    run = words[start : data.draw(st.integers(start + 1, len(words)))]
    between = data.draw(st.sampled_from([" ", "\n\n", ", ", "-", "—", "\u00a0"]))
    assert contains_phrase(between.join(words).upper(), " ".join(run))


@given(WORDS, st.text("xyz", min_size=1, max_size=4), st.integers(0, 6))
def test_does_not_say_a_part_of_a_word(words: list[str], beside: str, at: int) -> None:
    word = words[0]
    glued = [f"{beside}{word}{beside}" for word in words]
    assert not contains_phrase(" ".join(glued), word)
    assert not contains_all_words(" ".join(glued), word)


@given(TEXTS, TEXTS)
def test_saying_is_saying_all_words(text: str, phrase: str) -> None:
    assert not contains_phrase(text, phrase) or contains_all_words(text, phrase)
    assert 0.0 <= share_kept(phrase, text) <= 1.0


@given(TEXTS, TEXTS)
def test_no_text_breaks_the_identifier(text: str, original: str) -> None:
    assert other_language(text, text) is None
    found = other_language(text, original)
    assert found is None or len(found) in (2, 3)


@pytest.mark.parametrize("lang", OTHERS)
def test_tells_another_language(lang: str) -> None:
    assert other_language(OTHERS[lang], ENGLISH) == lang
    assert other_language(ENGLISH, OTHERS[lang]) == "en"
    assert other_language(OTHERS[lang], OTHERS[lang][::-1]) != lang


def test_another_script_is_told_from_a_short_text() -> None:
    assert other_language("渡轮每天早上七点出发前往岛上", "When?") == "zh"
    russian = "Паром отходит каждое утро в семь часов и берёт не больше сорока человек"
    assert other_language(russian, "When?") == "ru"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1999, 2000, 3.5 %",
        "Wer war das?",
        "東京",
        "Anna Berg, Karl Sundström, Elżbieta Wójcik, Jürgen Müller, François Lefèvre, Zoë Núñez",
        "The order, in the words of Lieutenant Brandt: “Мы остаёмся здесь до утра, и никто не "
        "уходит без приказа” was kept in the archive and shown to the visitors every summer.",
        "The book is by Иванова (Ivanova).",
    ],
)
def test_leaves_open_what_is_short_or_made_of_names(text: str) -> None:
    assert other_language(text, ENGLISH) is None


def test_an_original_without_letters_has_no_language() -> None:
    assert other_language(OTHERS["ru"], "42?") is None
    assert other_language(OTHERS["ru"], "") is None


def test_close_kin_are_not_told_apart() -> None:
    danish = "Færgen sejler hver morgen klokken syv, og turen varer omkring fyrre minutter over."
    norwegian = "Ferja går hver morgen klokka sju, og turen tar omtrent førti minutter når det er."
    assert other_language(norwegian, danish) is None


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    checks._identifier.cache_clear()
    with pytest.raises(MissingExtraError, match=r"trueground\[build\]"):
        other_language(OTHERS["de"], ENGLISH)
    require_languages()
    monkeypatch.setitem(sys.modules, "py3langid", None)
    with pytest.raises(MissingExtraError, match=r"--language check .*trueground\[build\]"):
        require_languages("--language check (or go without: --language any)")


@pytest.mark.skipif(not DATA.exists(), reason="the published Truly-Ground files are not here")
@pytest.mark.parametrize("step", mostly_long(1, [8, 1]))
def test_no_false_alarm_on_real_contexts(step: int) -> None:
    rng = random.Random(0)
    rows = [
        row
        for name in ("original_version.json", "revised_version.json")
        for row in json.loads((DATA / name).read_text()).values()
    ]
    assert len(rows) == 960
    questions = [row["qText"] for row in rows]
    texts = [" ".join(row["context_list"]) for row in rows]
    words = " ".join(texts).split()
    alarms = []
    for text, question in [*zip(texts, questions, strict=True)][::step]:
        # Half of the words replaced by those of other contexts: names, years, foreign terms.
        changed = " ".join(rng.choice(words) if rng.random() < 0.5 else w for w in text.split())
        pairs = ((changed, text), (text, rng.choice(texts)), (question, text))
        alarms += [pair for pair in pairs if other_language(*pair)]
    assert not alarms


SHORT = "Tobias Quill was a poet who was born in Marrow Bay in 1802."


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Wer war Tobias Quill und womit hat er seinen Lebensunterhalt verdient?", "de"),
        ("Das bekannteste Werk dieses Dichters ist die Salzstraße.", "de"),
        ("Qui était Tobias Quill et quelle est son œuvre la plus connue ?", "fr"),
        ("La torre fue terminada en 1931 y está en el puerto.", "es"),
        ("De toren werd in 1931 voltooid en staat in de haven van de stad.", "nl"),
        ("Башня была построена в 1931 году.", "ru"),
    ],
)
def test_one_sentence_tells_beside_a_short_original(text: str, lang: str) -> None:
    assert other_language(text, SHORT) == lang


def test_four_characters_of_another_script_are_enough() -> None:
    assert other_language("塔有多高?", SHORT) in ("zh", "yue")


@pytest.mark.parametrize(
    "text",
    [
        "Who was Tobias Quill?",
        "He moved to Castelnuovo di Garfagnana, where Giovanni Verdi taught him.",
        "His best known work, La Vie en Rose, was printed twice.",
        "Quill, Sartorius, van der Meer.",
    ],
)
def test_names_from_elsewhere_are_no_language(text: str) -> None:
    assert other_language(text, SHORT) is None
