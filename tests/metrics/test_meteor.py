"""METEOR equals NLTK's own function over NLTK's own reader."""

import gc
import random
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.wordnet import write_small_wordnet

from trueground.errors import MissingExtraError, UsageError
from trueground.metrics import meteor_matching as module
from trueground.metrics.meteor_matching import DEBIAN_WORDNET, WORDNET_VARIABLE, meteor

nltk = pytest.importorskip("nltk", reason="the extra `meteor` is not installed")

TEXTS = [
    "",
    "The cat sat on the mat.",
    "A feline was sitting upon the rug, near the automobile.",
    "The car's driver didn't see the dogs; he couldn't stop!",
    'She said: "I cannot believe it" (twice).\nThen she left.',
    "The physician treated ill people quickly.\nThe doctor rapidly cured sick folks",
    "Prices rose 3.5% to $1,200 in 2021-22…",
    "Ein Satz, der nicht englisch ist – naïve café 東京",
    "dog dog dog dogs dogged",
    "purchase a large house; buy a big home",
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A database of a few synonyms, in the folder where NLTK looks below its data."""
    return write_small_wordnet(tmp_path_factory.mktemp("nltk_data") / "corpora" / "wordnet")


@pytest.fixture(scope="module", params=["small", "debian"])
def wordnet(request, small):
    """The small database, then WordNet itself where Debian's package is installed."""
    if request.param == "small":
        return small
    if not Path(DEBIAN_WORDNET, "data.noun").is_file():
        pytest.skip("WordNet isn't installed (Debian's package wordnet-base)")
    return Path(DEBIAN_WORDNET)


@pytest.fixture
def nltk_data(wordnet, tmp_path, monkeypatch):
    """NLTK's own data folder with the database and the two files that only NLTK asks for."""
    folder = tmp_path / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for source in wordnet.iterdir():
        if source.is_file():
            (folder / source.name).write_bytes(source.read_bytes())
    (folder / "lexnames").write_text("".join(f"{n:02d}\tname.{n}\t1\n" for n in range(45)))
    (folder / "index.sense").write_text("")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    yield tmp_path
    forget()


def forget():
    """Forget the loaded data; NLTK's reader lies in a cycle and never closes its files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        module._synonyms.cache_clear()
        gc.collect()


def tokens(text):
    tokenizer = nltk.tokenize.NLTKWordTokenizer()
    return [token for line in text.splitlines() for token in tokenizer.tokenize(line)]


def test_meteor_of_many_pairs_equals_nltk(wordnet, nltk_data):
    from nltk.corpus.reader import CorpusReader, WordNetCorpusReader
    from nltk.translate.meteor_score import meteor_score

    rng = random.Random(0)
    words = sorted({word for text in TEXTS for word in text.split()})
    texts = TEXTS + [" ".join(rng.choices(words, k=rng.randint(1, 14))) for _ in range(60)]
    root = nltk.data.find("corpora/wordnet")
    lexicon = WordNetCorpusReader(root, CorpusReader(root, []))
    for _ in range(500):
        response = rng.choice(texts)
        references = rng.choices(texts, k=rng.randint(1, 3))
        actual = meteor(response, references, wordnet=str(wordnet))
        expected = meteor_score(
            [tokens(reference) for reference in references], tokens(response), wordnet=lexicon
        )
        assert actual == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("response", "reference", "expected"),
    [
        # NLTK looks for synonyms among the stems, so "automobile" doesn't match "car".
        pytest.param("car", "automobile", 0.0, id="stem-hides-synonym"),
        pytest.param("ill", "sick", 0.5, id="synonym"),
        pytest.param("running", "runs", 0.5, id="stem"),
        pytest.param("car", "banana", 0.0, id="unrelated"),
        pytest.param("", "banana", 0.0, id="empty-response"),
    ],
)
def test_meteor_of_one_word_counts_stems_and_synonyms(wordnet, response, reference, expected):
    assert meteor(response, [reference], str(wordnet)) == pytest.approx(expected)


def test_meteor_with_two_references_takes_the_best(wordnet):
    alone = meteor("the sick car", ["an ill person"], str(wordnet))
    best = meteor("the sick car", ["xyz", "an ill person"], str(wordnet))
    assert alone > 0
    assert best == alone


@given(st.text(max_size=40), st.text(max_size=40))
def test_meteor_of_any_text_is_between_0_and_1(small, response, reference):
    assert 0.0 <= meteor(response, [reference], str(small)) <= 1.0


@pytest.mark.parametrize("packed", [False, True], ids=["unpacked", "zip"])
def test_meteor_without_a_folder_uses_nltk_data(small, tmp_path, monkeypatch, packed):
    corpora = tmp_path / "corpora"
    if packed:
        corpora.mkdir()
        with zipfile.ZipFile(corpora / "wordnet.zip", "w") as archive:
            for file in small.iterdir():
                archive.write(file, f"wordnet/{file.name}")
    else:
        write_small_wordnet(corpora / "wordnet")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    forget()
    assert meteor("ill", ["sick"]) == pytest.approx(0.5)
    forget()


def test_meteor_without_nltk_data_uses_debians_folder(small, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(module, "DEBIAN_WORDNET", str(small))
    forget()
    assert meteor("ill", ["sick"]) == pytest.approx(0.5)
    forget()


def test_meteor_with_the_variable_uses_its_folder(small, tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(module, "DEBIAN_WORDNET", str(tmp_path))
    monkeypatch.setenv(WORDNET_VARIABLE, str(small))
    forget()
    assert meteor("ill", ["sick"]) == pytest.approx(0.5)
    forget()


def test_meteor_without_wordnet_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(module, "DEBIAN_WORDNET", str(tmp_path))
    forget()
    with pytest.raises(UsageError) as caught:
        meteor("ill", ["sick"])
    message = str(caught.value)
    assert "WordNet database, which isn't installed" in message
    assert "python -m nltk.downloader wordnet" in message
    assert "apt-get install wordnet-base" in message
    assert f"{WORDNET_VARIABLE}=" in message


def test_meteor_with_an_incomplete_folder_names_the_missing_files(small, tmp_path):
    folder = write_small_wordnet(tmp_path / "part")
    (folder / "data.verb").unlink()
    (folder / "noun.exc").unlink()
    with pytest.raises(UsageError, match=r"data\.verb, noun\.exc"):
        meteor("ill", ["sick"], wordnet=str(folder))


def test_no_reference_is_an_error():
    with pytest.raises(ValueError, match="at least one reference"):
        meteor("car", [])


def test_without_nltk_the_extra_is_named(monkeypatch):
    module._load_nltk.cache_clear()
    monkeypatch.setitem(sys.modules, "nltk.translate.meteor_score", None)
    with pytest.raises(MissingExtraError, match=r"trueground\[meteor\]"):
        meteor("ill", ["sick"])
    module._load_nltk.cache_clear()
