"""The corpus as data: a function of its source, large, deterministic, and fair to those who test on it."""

import hashlib
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from itertools import cycle, islice

import pytest
from lexicon import NOUNS

from hexapla import phrasebook
from hexapla.errors import ConfigError, StorageError
from hexapla.phrasebook import hotel, sentences
from hexapla.phrasebook.draw import Draw
from hexapla.phrasebook.english import statement
from hexapla.phrasebook.places import PLACES
from hexapla.phrasebook.sentences import Triple, drawn

EXAMPLES = [
    (
        "Could you please bring us three clean blankets?",
        "Könnten Sie uns bitte drei saubere Decken bringen?",
        "请您给我们拿三条干净的毯子，好吗？",
    ),
    (
        "We would like to reserve a table for five people tomorrow at half past seven.",
        "Wir möchten morgen um halb acht einen Tisch für fünf Personen reservieren.",
        "我们想明天七点半预订一张五个人的桌子。",
    ),
    (
        "Do you know when the train to Munich leaves?",
        "Wissen Sie, wann der Zug nach München abfährt?",
        "您知道去慕尼黑的火车什么时候出发吗？",
    ),
    (
        "Yesterday I lost my green bag at the station.",
        "Gestern habe ich meine grüne Tasche am Bahnhof verloren.",
        "昨天我在火车站弄丢了我的绿色手提包。",
    ),
    (
        "We need a quieter apartment because room four is too loud.",
        "Wir brauchen eine ruhigere Ferienwohnung, weil Zimmer vier zu laut ist.",
        "因为四号房间太吵了，所以我们需要一套更安静的公寓。",
    ),
    (
        "If it snows tomorrow, we will travel to Vienna by train.",
        "Wenn es morgen schneit, fahren wir mit dem Zug nach Wien.",
        "如果明天下雪，我们就坐火车去维也纳。",
    ),
    ("Is there a café near the museum?", "Gibt es in der Nähe des Museums ein Café?", "博物馆附近有咖啡馆吗？"),
    (
        "The double room that we booked last week is too small.",
        "Das Doppelzimmer, das wir letzte Woche gebucht haben, ist zu klein.",
        "我们上个星期订的双人房太小了。",
    ),
]


@pytest.fixture(scope="module")
def sample() -> list[Triple]:
    return list(islice(drawn(seed=3), 8000))


@pytest.fixture(scope="module")
def default() -> phrasebook.Corpus:
    return phrasebook.corpus("en-de")


def words(text: str) -> set[str]:
    """English and German words in lower case; Chinese characters."""
    return set(re.findall(r"[a-zäöüßé'-]+|[^\x00-\u02ff]", text.lower()))


@pytest.mark.parametrize("pair", phrasebook.PAIRS)
def test_a_source_has_one_translation(sample, pair):
    source, target = pair.split("-")
    translations = defaultdict(set)
    for triple in sample:
        translations[getattr(triple, source)].add(getattr(triple, target))
    ambiguous = sum(len(targets) > 1 for targets in translations.values())
    assert len(translations) > 5000
    assert ambiguous / len(translations) < 0.01


def test_there_are_more_than_100_000_sentences():
    # "X, but Y." joins any praise to any fault
    draw = Draw(random.Random(1))
    praises = {text for text in (statement(hotel.praise(draw)) for _ in range(2500)) if len(text.split()) <= 9}
    faults = {text for text in (statement(hotel.fault(draw)) for _ in range(2500)) if len(text.split()) <= 8}
    assert len(praises) * len(faults) > 100_000


def test_english_has_a_few_hundred_words(default):
    vocabulary = set().union(*(words(source) for source, _ in default.train))
    assert 350 <= len(vocabulary) <= 600


def test_sentences_are_neither_very_short_nor_very_long(sample):
    lengths = sorted(len(triple.en.split()) for triple in sample)
    assert (lengths[0], lengths[-1]) == (4, 18)


@pytest.mark.parametrize("pair", ["en-de", "zh-en"])
def test_held_out_sentences_are_new_in_either_language_but_their_words_are_not(default, pair):
    corpus, train, held_out = default, 12_000, 500
    if pair == "zh-en":
        train, held_out = 2000, 100
        corpus = phrasebook.corpus(pair, train=train, held_out=held_out)
    assert (len(corpus.train), len(corpus.held_out)) == (train, held_out)
    for side in (0, 1):
        trained, tested = ([sentences[side] for sentences in part] for part in (corpus.train, corpus.held_out))
        assert len(set(trained + tested)) == train + held_out
        assert set().union(*map(words, tested)) <= set().union(*map(words, trained))


def test_examples_read_well_and_are_in_no_corpus(default):
    for pair in phrasebook.PAIRS:
        source = ("en", "de", "zh").index(pair.split("-")[0])
        assert phrasebook.examples(pair) == [triple[source] for triple in EXAMPLES]
    seen = {text for pair in default.train + default.held_out for text in pair}
    assert seen.isdisjoint(text for triple in EXAMPLES for text in triple)
    known = set().union(*map(words, seen))
    assert set().union(*(words(text) for en, de, _ in EXAMPLES for text in (en, de))) <= known


def test_every_pair_says_the_same_meanings():
    corpora = {pair: phrasebook.corpus(pair, train=200, held_out=10) for pair in phrasebook.PAIRS}
    assert [(target, source) for source, target in corpora["en-de"].train] == corpora["de-en"].train
    assert [(target, source) for source, target in corpora["en-zh"].held_out] == corpora["zh-en"].held_out
    assert [source for source, _ in corpora["en-de"].train] == [source for source, _ in corpora["en-zh"].train]


def test_the_seed_alone_decides_whatever_the_hash_seed():
    script = "from hexapla import phrasebook; print(phrasebook.corpus('en-zh', train=400, held_out=20, seed=5))"
    outputs = [
        subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2")
    ]
    assert len({hashlib.sha256(output).hexdigest() for output in outputs}) == 1
    here = phrasebook.corpus("en-zh", train=400, held_out=20, seed=5)
    assert f"{here}\n".encode() == outputs[0]
    assert phrasebook.corpus("en-zh", train=400, held_out=20, seed=6) != here


def test_punctuation_and_capitals_are_in_order(sample):
    for en, de, zh in sample:
        for text in (en, de):
            assert re.fullmatch(r"[A-ZÄÖÜ][^.?]*[^\s,.?][.?]", text), text
            assert not re.search(r"  | [,.?]|,[^ ]|,,", text), text
        assert re.fullmatch(r"[\u4e00-\u9fff，]+[\u4e00-\u9fff][。？]", zh), zh
        assert en[-1] == de[-1] == {"。": ".", "？": "?"}[zh[-1]]


def test_german_nouns_begin_with_a_capital(sample):
    nouns = {noun.de for noun in (*NOUNS.values(), *PLACES.values())}
    assert all(noun[0].isupper() for noun in nouns)
    lowered = {noun.lower() for noun in nouns}
    for triple in sample:
        assert lowered.isdisjoint(triple.de.rstrip(".?").split()), triple.de


def test_planes_fly_and_trains_drive(sample):
    flights = [triple for triple in sample if re.match(r"The flight .* leaves", triple.en)]
    trains = [triple for triple in sample if re.match(r"The (train|bus|ferry) .* leaves", triple.en)]
    assert flights and all(" fliegt " in triple.de and "起飞" in triple.zh for triple in flights)
    assert trains and all(" fährt " in triple.de and "出发" in triple.zh for triple in trains)


def test_write_makes_files_of_lines_for_the_other_verbs(tmp_path):
    corpus = phrasebook.corpus("de-en", train=30, held_out=5)
    paths = phrasebook.write(corpus, tmp_path / "new", "de-en")
    assert sorted(paths) == ["dev.de", "dev.en", "test.de", "test.en", "train.de", "train.en"]
    lines = {name: path.read_bytes().decode().split("\n") for name, path in paths.items()}
    assert all(path == tmp_path / "new" / name for name, path in paths.items())
    assert lines["train.de"] == [source for source, _ in corpus.train] + [""]
    assert lines["train.en"] == [target for _, target in corpus.train] + [""]
    assert lines["dev.de"][:-1] + lines["test.de"][:-1] == [source for source, _ in corpus.held_out]
    assert len(lines["dev.en"]) == 3


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file/in: cannot write the corpus \(Not a directory\); name a folder that can be written"):
        phrasebook.write(phrasebook.Corpus([], []), tmp_path / "file" / "in", "en-de")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pair": "en-fr"}, "phrasebook.pair = en-fr: must be one of en-de, de-en, en-zh, zh-en"),
        ({"train": 0}, "phrasebook.train = 0: must be 1 or more"),
        ({"held_out": -1}, "phrasebook.held_out = -1: must be 0 or more"),
    ],
)
def test_what_cannot_be_made_is_refused(options, words):
    with pytest.raises(ConfigError, match=f"^{re.escape(words)}$"):
        phrasebook.corpus(**{"pair": "en-de", **options})


@pytest.mark.parametrize(
    ("train", "held_out", "told"),
    [(4, 0, "phrasebook.train = 4: the grammar has no more than 3"), (2, 1, "phrasebook.held_out = 1: the grammar has no more than 0")],
)
def test_a_corpus_larger_than_the_grammar_is_refused(monkeypatch, train, held_out, told):
    triples = [Triple(f"{word}.", f"{word}!", f"{word}。") for word in ("One", "Two", "Three")]
    monkeypatch.setattr(sentences, "drawn", lambda seed: cycle(triples))
    with pytest.raises(ConfigError, match=f"^{re.escape(told)} such sentences; ask for fewer, or for more to train on$"):
        phrasebook.corpus("en-de", train=train, held_out=held_out)
