"""METEOR equals NLTK's own function over NLTK's own reader."""

import gc
import random
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueground.errors import MissingExtraError, UsageError
from trueground.text import meteor as module
from trueground.text.meteor import DEBIAN_WORDNET, WORDNET_VARIABLE, meteor

nltk = pytest.importorskip("nltk", reason="the extra `meteor` is not installed")
has_debian = Path(DEBIAN_WORDNET, "data.noun").is_file()
needs_wordnet = pytest.mark.skipif(not has_debian, reason="wordnet-base is not installed")

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
def stock(tmp_path_factory):
    """NLTK's own loader over its own data layout, completed from Debian's files."""
    home = tmp_path_factory.mktemp("nltk_data")
    folder = home / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for source in Path(DEBIAN_WORDNET).iterdir():
        if source.is_file():
            (folder / source.name).write_bytes(source.read_bytes())
    (folder / "lexnames").write_text("".join(f"{n:02d}\tname.{n}\t1\n" for n in range(45)))
    (folder / "index.sense").write_text("")
    nltk.data.path.insert(0, str(home))
    yield home
    nltk.data.path.remove(str(home))
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


@needs_wordnet
def test_equals_nltk_on_many_pairs(stock):
    from nltk.translate.meteor_score import meteor_score

    rng = random.Random(0)
    words = sorted({word for text in TEXTS for word in text.split()})
    texts = TEXTS + [" ".join(rng.choices(words, k=rng.randint(1, 14))) for _ in range(60)]
    differences = []
    for _ in range(500):
        response = rng.choice(texts)
        references = rng.choices(texts, k=rng.randint(1, 3))
        own = meteor(response, references, wordnet=DEBIAN_WORDNET)
        theirs = meteor_score([tokens(r) for r in references], tokens(response))
        differences.append(abs(own - theirs))
    assert max(differences) < 1e-12


@needs_wordnet
def test_synonyms_and_stems_count():
    # NLTK looks for synonyms among the stems, so "automobile" is none of "car".
    assert meteor("car", ["automobile"], DEBIAN_WORDNET) == 0.0
    assert meteor("ill", ["sick"], DEBIAN_WORDNET) == pytest.approx(0.5)
    assert meteor("running", ["runs"], DEBIAN_WORDNET) == pytest.approx(0.5)
    assert meteor("car", ["banana"], DEBIAN_WORDNET) == 0.0
    assert meteor("", ["banana"], DEBIAN_WORDNET) == 0.0


@needs_wordnet
def test_the_best_reference_counts():
    alone = meteor("the sick car", ["an ill person"], DEBIAN_WORDNET)
    assert meteor("the sick car", ["xyz", "an ill person"], DEBIAN_WORDNET) == alone > 0


@needs_wordnet
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_has_a_score(response, reference):
    assert 0.0 <= meteor(response, [reference], DEBIAN_WORDNET) <= 1.0


@needs_wordnet
def test_where_wordnet_is_found(stock, monkeypatch, tmp_path):
    # Short indexes of nouns and verbs, which are read in no time.
    small, zipped = tmp_path / "small/corpora/wordnet", tmp_path / "zipped/corpora"
    small.mkdir(parents=True)
    zipped.mkdir(parents=True)
    for file in (stock / "corpora" / "wordnet").iterdir():
        lines = file.read_bytes().splitlines(keepends=True)
        if file.name in ("index.noun", "index.verb"):
            ours = {b for a in lines if a.startswith((b"ill ", b"sick ")) for b in a.split()[4:]}
            lines = [line for line in lines if {b for b in line.split() if len(b) == 8} & ours]
        (small / file.name).write_bytes(b"".join(lines))
    with zipfile.ZipFile(zipped / "wordnet.zip", "w") as archive:
        for file in small.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    expected = pytest.approx(0.5)
    for place in (small.parents[1], zipped.parent):  # NLTK's data, unpacked and as downloaded
        forget()
        monkeypatch.setattr(nltk.data, "path", [str(place)])
        assert meteor("ill", ["sick"]) == expected

    forget()
    monkeypatch.setattr(nltk.data, "path", [])
    assert meteor("ill", ["sick"]) == expected  # Debian's folder

    forget()
    monkeypatch.setattr(module, "DEBIAN_WORDNET", str(tmp_path))
    with pytest.raises(UsageError, match=r"nltk\.downloader wordnet"):
        meteor("ill", ["sick"])
    monkeypatch.setenv(WORDNET_VARIABLE, str(small))
    assert meteor("ill", ["sick"]) == expected  # the variable
    with pytest.raises(UsageError, match="apt-get install wordnet-base"):
        meteor("ill", ["sick"], wordnet=str(tmp_path))  # a named folder comes first
    forget()


def test_no_reference_is_an_error():
    with pytest.raises(ValueError, match="at least one reference"):
        meteor("car", [])


def test_without_nltk_the_extra_is_named(monkeypatch):
    module._nltk.cache_clear()
    monkeypatch.setitem(sys.modules, "nltk.translate.meteor_score", None)
    with pytest.raises(MissingExtraError, match=r"trueground\[meteor\]"):
        meteor("ill", ["sick"])
    module._nltk.cache_clear()
