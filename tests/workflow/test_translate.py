"""translate: n lines in, n lines out, whatever stands in them."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from untrained import made

from hexapla.config.data import Bytes, Characters, Words
from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.config.model import Learned
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.runs import Run
from hexapla.workflow.translate import Translation, is_blank, translate, translate_stream

BLANK = ["", " ", "\t \t", "\u00a0", "\u3000\u3000", "\u200b", "\ufeff\u200d \u2060", "\u2028", "\x1b\x07", "\u00ad"]
SEEN = ["a", " b ", "\u200bc", "。", "⁇", "\u0301", "\U0001f600", "\u2800"]
SHORT = Rules(max_extra=4)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("characters"), Characters())


@pytest.fixture(scope="module")
def byte_run(tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("bytes"), Bytes())


def texts(translations):
    return [each.text for each in translations]


LINES = ["abc def", "", "a", "\u3000", "fed", "cab fed abc", "\u200b", "ee", "a b c d e f", "f"]


@pytest.mark.parametrize("blank", BLANK, ids=ascii)
def test_a_line_on_which_nothing_is_seen_is_blank(blank, byte_run):
    assert is_blank(blank)
    assert translate(byte_run, ["a", blank], rules=SHORT)[1] == Translation("", blank=True)


@pytest.mark.parametrize("line", SEEN, ids=ascii)
def test_a_line_on_which_something_is_seen_is_translated(line, byte_run):
    (translation,) = translate(byte_run, [line], rules=SHORT)
    assert not translation.blank
    assert translation.length > 0


def test_blank_lines_never_reach_the_model_and_stay_at_their_places(run, monkeypatch):
    seen = []
    begin = run.model.begin
    monkeypatch.setattr(run.model, "begin", lambda source: seen.extend(source.tolist()) or begin(source))
    translations = translate(run, LINES, rules=SHORT)
    assert [each.blank for each in translations] == [is_blank(line) for line in LINES]
    assert sorted(run.source.decode([i for i in row if i > 3]) for row in seen) == sorted(line for line in LINES if not is_blank(line))
    seen.clear()
    assert translate(run, ["", "\u00a0"]) == [Translation("", blank=True)] * 2
    assert translate(run, []) == []
    assert seen == []


def test_a_line_of_which_the_tokenizer_leaves_nothing_is_blank(run, monkeypatch):
    encode = run.source.encode_batch
    monkeypatch.setattr(
        run.source, "encode_batch", lambda lines: [[] if line == "ee" else ids for line, ids in zip(lines, encode(lines), strict=True)]
    )
    assert [each.blank for each in translate(run, ["a", "ee", "f"], rules=SHORT)] == [False, True, False]


@pytest.mark.parametrize("strategy", [Beam(width=1), Beam(width=3), Sample(temperature=2.0)], ids=["greedy", "beam", "sample"])
def test_batches_and_chunks_change_nothing(strategy, run):
    whole = texts(translate(run, LINES, strategy, rules=SHORT))
    assert len(set(whole)) > 4
    for size in (1, 7, 64):
        assert texts(translate(run, LINES, strategy, rules=SHORT, batch_size=size)) == whole
    for chunk in (1, 3, 10, 11):
        assert texts(translate_stream(run, iter(LINES), strategy, rules=SHORT, chunk=chunk)) == whole


def test_of_a_long_line_the_beginning_is_translated_and_the_rest_is_counted(run):
    long = "abcdef" * 5
    (cut, whole) = translate(run, [long, long[:7]], rules=replace(SHORT, max_source=7))
    assert (cut.text, cut.left_out, cut.cut) == (whole.text, 23, True)
    assert (whole.left_out, whole.cut) == (0, False)
    many = translate(run, [long], rules=replace(SHORT, max_source=7), n_best=3)
    assert [each.left_out for each in many[0].alternatives] == [23] * 3
    (raised,) = translate(run, [long], rules=replace(SHORT, max_source=30))
    assert (raised.left_out, raised.text == cut.text) == (0, False)


@pytest.mark.parametrize(("strategy", "n_best", "rows"), [(Beam(width=3), 1, 3), (Sample(), 2, 2)], ids=["beam", "sample"])
def test_a_batch_has_no_more_positions_than_a_machine_can_remember(strategy, n_best, rows, run, monkeypatch):
    whole = texts(translate(run, LINES, strategy, rules=SHORT, n_best=n_best))
    sizes, begin = [], run.model.begin
    monkeypatch.setattr(run.model, "begin", lambda source: sizes.append(source.shape) or begin(source))
    monkeypatch.setattr("hexapla.workflow.own_engine.MOST_POSITIONS", 50)
    assert texts(translate(run, LINES, strategy, rules=SHORT, n_best=n_best)) == whole
    assert len(sizes) > 2
    assert all(count * width * rows <= 50 or count == 1 for count, width in sizes)


def test_each_translation_is_its_own_line_s(run):
    assert texts(translate(run, LINES, rules=SHORT)) == [texts(translate(run, [line], rules=SHORT))[0] for line in LINES]


def test_the_settings_of_the_run_hold_unless_others_are_given(run):
    configured = Run(run.path, replace(run.config, decoding=Beam(width=1), rules=Rules(max_length=2)), run.about)
    configured.model = run.model
    assert texts(translate(configured, LINES)) == texts(translate(run, LINES, Beam(width=1), rules=Rules(max_length=2)))
    assert texts(translate(configured, LINES, Beam(width=3), rules=SHORT)) == texts(translate(run, LINES, Beam(width=3), rules=SHORT))


def test_a_stream_reads_no_more_than_a_chunk_ahead(run):
    read = []

    def lines():
        for number in range(10**9):
            read.append(number)
            yield "abc"[number % 3]

    stream = translate_stream(run, lines(), Beam(width=1), rules=Rules(max_length=1), chunk=5)
    assert read == []
    for taken in range(1, 13):
        next(stream)
        assert len(read) == -(-taken // 5) * 5


def test_a_stream_of_a_folder_s_name_opens_it_once(run, monkeypatch):
    opened = []
    monkeypatch.setattr(Run, "open", lambda path: opened.append(path) or run)
    assert len(list(translate_stream("somewhere", LINES, rules=SHORT, chunk=2))) == len(LINES)
    assert len(translate("somewhere", LINES[:1], rules=SHORT)) == 1
    assert opened == ["somewhere"] * 2


def test_whatever_bytes_a_model_writes_its_output_is_one_line(byte_run):
    for prefix in ("a\nb\r\nc\0d\u2028e\u0085f", "\n"):
        (translation,) = translate(byte_run, ["a"], rules=SHORT, prefix=prefix)
        assert translation.text.startswith(prefix.translate({10: " ", 13: " ", 0: " "}))
        assert not set("\n\r\0") & set(translation.text)
    many = translate(byte_run, ["a", "b"], Sample(temperature=10.0), rules=Rules(max_extra=300, min_length=300), n_best=4)
    written = "".join(other.text for each in many for other in each.alternatives)
    assert len(written) > 1000
    assert not set("\n\r\0") & set(written)


def test_the_best_of_n_is_the_best_of_one(run):
    many, one = (translate(run, LINES, Beam(width=4), rules=SHORT, n_best=n) for n in (4, 1))
    for best, single in zip(many, one, strict=True):
        assert best.text == single.text
        assert single.alternatives == ()
        if best.blank:
            assert best == single
            continue
        assert len(best.alternatives) == 4
        first, *_ = scores = [each.score for each in best.alternatives if each.score is not None]
        assert (first, best.alternatives[0].text) == (best.score, best.text)
        assert scores == sorted(scores, reverse=True)
        assert best.score == pytest.approx(single.score, abs=1e-5)


def test_every_output_begins_with_the_prefix(run):
    for strategy in (Beam(width=3), Sample(temperature=3.0)):
        translations = translate(run, LINES, strategy, rules=Rules(max_extra=4, no_repeat=1), prefix="ff")
        assert all(each.text.startswith("ff") for each in translations if not each.blank)
        assert len({each.text for each in translations if not each.blank}) > 1
    assert texts(translate(run, LINES, rules=SHORT, prefix="")) == texts(translate(run, LINES, rules=SHORT))


def test_length_and_truncated_tell_what_became_of_a_line(run):
    (cut,) = translate(run, ["abc"], Beam(width=1), rules=Rules(max_length=2, suppress=(3,)))
    assert (cut.length, cut.truncated, len(cut.text)) == (3, True, 2)
    eos_alone = translate(run, ["abc"], Beam(width=1), rules=Rules(max_extra=4, suppress=tuple(range(4, 11))))[0]
    assert (eos_alone.text, eos_alone.length, eos_alone.truncated, eos_alone.blank) == ("", 1, False, False)


odd = st.text(
    st.one_of(st.sampled_from("ab \t\r\n\0\x85\u2028\u200b\u3000\ufeff\u0301\u202e<>|\\▁⁇"), st.characters(exclude_categories=["Cs"])),
    max_size=12,
)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(lines=st.lists(odd, max_size=6))
def test_any_lines_give_as_many_and_blanks_for_blanks(byte_run, run, lines):
    for each in (byte_run, run):
        translations = translate(each, lines, Beam(width=2), rules=Rules(max_length=3))
        assert len(translations) == len(lines)
        for line, translation in zip(lines, translations, strict=True):
            assert translation.blank == is_blank(line)
            assert "\n" not in translation.text
            assert translation.length <= 4


def refused(kind, run, lines, **settings):
    with pytest.raises(kind) as caught:
        translate(run, lines, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("learned"), Characters(), positions=Learned(length=9))


def test_of_a_line_longer_than_learned_positions_the_beginning_is_translated(learned):
    lines = ["abcdefa", "", "abcdefab"]
    assert [each.left_out for each in translate(learned, lines, rules=SHORT)] == [0, 0, 1]
    assert texts(translate(learned, lines[2:], rules=SHORT)) == texts(translate(learned, lines[:1], rules=SHORT))
    assert refused(ConfigError, learned, ["a"], prefix="abcdefab") == "prefix: 8 tokens, but at most 7 may be given; shorten it"


def test_an_output_ends_where_learned_positions_do(learned):
    for lines in (["abcdefa"], ["a", "abcdefa", "ab"]):
        for translation in translate(learned, lines, rules=Rules(suppress=(3,))):
            assert (translation.length, translation.truncated) == (8 + 1, True)  # the decoder has read the start token and eight


def test_a_line_that_is_no_text_is_named(run):
    said = "U+D800 is half of a surrogate pair and no character; repair the text"
    assert refused(DataError, run, ["", "", "a\ud800"]) == f"line 3, character 2: {said}"
    with pytest.raises(DataError, match=r"^line 3, character 1"):
        list(translate_stream(run, ["a", "b", "\ud800", "c"], chunk=2))
    assert refused(DataError, run, ["a", None]) == "line 2: is a NoneType; give a str for each line"
    with pytest.raises(DataError, match=r"^line 3: is a bytes"):
        list(translate_stream(run, ["a", "b", b"a"], chunk=2))  # type: ignore[list-item]  # what a caller without types may give


def test_a_prefix_that_the_vocabulary_cannot_write_is_refused(run, tmp_path):
    assert (
        refused(ConfigError, run, ["a"], prefix="az")
        == "prefix 'az': the target vocabulary cannot write it; choose other words or characters"
    )
    assert refused(ConfigError, run, ["a"], prefix="a\udc80").startswith("prefix 'a\\udc80': the target vocabulary cannot write it")
    words = made(tmp_path, Words())
    assert translate(words, ["abc"], rules=SHORT, prefix="fed cba")[0].text.startswith("fed cba")
    assert refused(ConfigError, words, [""], prefix="fed up").startswith("prefix 'fed up': ")


def test_rules_that_leave_nothing_to_write_name_the_line(run):
    message = refused(ConfigError, run, ["", "a"], rules=Rules(no_repeat=1, min_length=12), first_line=5)
    assert message == "line 6: the rules leave nothing to write; loosen min_length, no_repeat or suppress"


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("abc", {}, "lines is one string; give a list of lines, as in translate(run, [line])"),
        ([""], {"batch_size": 0}, "batch_size = 0: must be at least 1"),
        ([""], {"batch_size": 2.5}, "batch_size = 2.5: must be an integer"),
        ([], {"rules": Rules(max_source=0)}, "max_source = 0: must be at least 1"),
        ([""], {"n_best": 9}, "n-best = 9: must not exceed the beam width 4; widen the beam"),
        ([], {"strategy": Beam(width=0)}, "width = 0: must be at least 1"),
        ([], {"rules": Rules(min_length=2, max_length=1)}, "min_length = 2: must not exceed max_length = 1"),
    ],
    ids=str,
)
def test_settings_are_refused_before_anything_is_read(lines, options, message, run):
    assert refused(ConfigError, run, lines, **options) == message


def test_a_chunk_has_a_line_at_least(run):
    with pytest.raises(ConfigError, match="chunk = 0: must be at least 1"):
        next(translate_stream(run, ["a"], chunk=0))


def test_weights_that_are_no_numbers_are_an_error_of_the_run(tmp_path):
    broken = made(tmp_path, Characters())
    with torch.no_grad():
        broken.model.output.weight.fill_(float("nan"))
    assert refused(CheckpointError, broken, ["a"]).startswith(f"{broken.path}: the model's output at token 1 is not a number")
