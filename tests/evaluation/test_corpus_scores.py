"""BLEU, chrF and TER: equal to sacrebleu's own functions and to the paper, with a signature that says all."""

import logging
import sys
from pathlib import Path

import pytest
import sacrebleu

from evaluation.corpora import disturbed, read, sentences
from hexapla.errors import ConfigError, DataError
from hexapla.evaluation.corpus import TOKENIZERS, bleu, chrf, suggest_tokenizer, ter
from reference.bleu import bleu as paper_bleu

REFERENCE = sentences(1, 40)
SECOND = disturbed(REFERENCE, 2, share=0.4)
HYPOTHESES = disturbed(REFERENCE, 3)


@pytest.mark.parametrize("references", [[REFERENCE], [REFERENCE, SECOND]], ids=["one reference", "two references"])
@pytest.mark.parametrize("dropped", [0, 3], ids=["full length", "short, so the brevity penalty acts"])
def test_bleu_is_the_formula_of_the_paper(references, dropped):
    hypotheses = [line[: len(line) - dropped] for line in HYPOTHESES]
    assert bleu(hypotheses, references, tokenize="none").value == pytest.approx(paper_bleu(hypotheses, references), abs=1e-9)


def test_bleu_of_two_human_translations_is_the_formula_of_the_paper(shared: Path):
    a, b = (read(shared / f"data/wmt21/newstest2021.de-en.ref.{name}.en.xz", 200) for name in "AB")
    value = bleu(a, [b], tokenize="none").value
    assert 10 < value < 40
    assert value == pytest.approx(paper_bleu(a, [b]), abs=1e-9)


@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_of_two_human_translations_are_sacrebleus(shared: Path, lowercase: bool):
    a, b = (read(shared / f"data/wmt21/newstest2021.de-en.ref.{name}.en.xz", 60) for name in "AB")
    assert bleu(a, [b], lowercase=lowercase).value == sacrebleu.corpus_bleu(a, [b], lowercase=lowercase).score
    assert chrf(a, [b]).value == sacrebleu.corpus_chrf(a, [b]).score
    assert chrf(a, [b], lowercase=True).value > chrf(a, [b]).value
    assert ter(a, [b]).value == sacrebleu.corpus_ter(a, [b]).score
    assert bleu(a, [b], lowercase=True).value > bleu(a, [b]).value


def test_chinese_is_scored_by_sacrebleus_chinese_tokenizer(shared: Path):
    a, b = (read(shared / f"data/wmt21/newstest2021.en-zh.ref.{name}.zh.xz", 60) for name in "AB")
    assert suggest_tokenizer([a]) == "zh"
    assert bleu(a, [b], tokenize="zh").value == sacrebleu.corpus_bleu(a, [b], tokenize="zh").score
    assert bleu(a, [b], tokenize="zh").value > 2 * bleu(a, [b], tokenize="none").value
    short_a, short_b = a[:3], b[:3]
    ours = ter(short_a, [short_b], tokenize="zh")
    assert ours.value == sacrebleu.corpus_ter(short_a, [short_b], normalized=True, asian_support=True).score
    assert "norm:yes" in ours.signature and "asian:yes" in ours.signature


def test_a_signature_names_what_changes_the_number():
    assert bleu(HYPOTHESES, [REFERENCE]).signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    other = bleu(HYPOTHESES, [REFERENCE, SECOND], tokenize="none", lowercase=True).signature
    assert other == f"nrefs:2|case:lc|eff:no|tok:none|smooth:exp|version:{sacrebleu.__version__}"
    assert chrf(HYPOTHESES, [REFERENCE], lowercase=True).signature.startswith("nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:no|version:")
    assert ter(HYPOTHESES, [REFERENCE]).signature.startswith("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")


def test_a_score_prints_with_its_signature():
    perfect = bleu(REFERENCE, [REFERENCE])
    words = sum(len(line.split()) for line in REFERENCE)
    assert str(perfect) == (
        f"BLEU|{perfect.signature} = 100.00 (100.0/100.0/100.0/100.0, brevity penalty 1.000, {words} tokens for {words})"
    )


def test_empty_hypotheses_score_0_and_empty_references_are_no_error():
    blank = [""] * len(REFERENCE)
    assert (bleu(blank, [REFERENCE]).value, chrf(blank, [REFERENCE]).value, ter(blank, [REFERENCE]).value) == (0, 0, 100)
    assert bleu(REFERENCE, [blank]).value == 0
    assert ter(blank, [blank]).value == 0


def test_bleu_says_why_outputs_of_under_four_words_get_0():
    score = bleu(["a dog barks"], [["a dog barks"]])
    assert score.value == 0
    assert score.detail.endswith("no line has 4 tokens, so BLEU is 0")
    assert "so BLEU is 0" not in bleu(["a dog barks ."], [["a dog barks ."]]).detail


@pytest.mark.parametrize("tokenize", ["none", "13a"])
def test_tokenised_text_makes_no_noise(tokenize, caplog, capfd):
    lines = ["a dog barks ."] * 120
    with caplog.at_level(logging.DEBUG):
        assert bleu(lines, [lines], tokenize=tokenize).value == pytest.approx(100)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("score", [bleu, chrf, ter])
def test_different_numbers_of_lines_are_refused_with_both(score):
    with pytest.raises(DataError) as refusal:
        score(["a", "b"], [["a", "b"], ["a"]])
    assert str(refusal.value) == "reference 2: 1 lines, but hypotheses has 2; line i of one must belong to line i of the other"
    with pytest.raises(DataError, match="hypotheses: no lines; a score needs at least one"):
        score([], [[]])
    with pytest.raises(ConfigError, match=r"references = \[\]: a score needs at least one list of reference lines"):
        score(["a"], [])


def test_a_tokenizer_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConfigError, match=f"tokenize = 14: no such tokenizer; one of {', '.join(TOKENIZERS)}"):
        bleu(["a"], [["a"]], tokenize="14")  # pyright: ignore[reportArgumentType]
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    with pytest.raises(ConfigError, match=r"tokenize = ja-mecab: needs packages that are not installed; pip install 'sacrebleu\[ja\]'"):
        bleu(["a"], [["a"]], tokenize="ja-mecab")


@pytest.mark.parametrize(
    ("lines", "tokenizer"),
    [
        (["Ein Hund bellt.", "Собака лает."], "13a"),
        (["一只狗在叫。", "猫在桌子下面睡觉, OK"], "zh"),
        (["犬が吠えている。", "猫は寝ている。"], "char"),
        (["東京大学医学部附属病院の前"], "char"),
        (["개가 짖는다."], "char"),
        (["สุนัขเห่า"], "char"),
        (["我们在东京看了の字招牌的小店，又看了很多别的东西。"], "zh"),
        (["我们昨天在家 met in Oxford"], "13a"),
        (["这 是一只 dog"], "zh"),
        (["", "1998 ..."], "13a"),
    ],
    ids=[
        "Latin and Cyrillic",
        "Han",
        "Kana",
        "Kana among much Han",
        "Hangul",
        "Thai",
        "a Kana in Han",
        "less Han than English",
        "an English word in Han",
        "no letters",
    ],
)
def test_the_suggested_tokenizer_follows_the_script(lines, tokenizer):
    assert suggest_tokenizer([lines]) == tokenizer
