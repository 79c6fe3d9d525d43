import io
import json

import numpy as np
import pytest

from hexapla.config.data import Cleaning
from hexapla.data.clean import RATIO_SLACK, Account, TextFilter, judge_sizes
from hexapla.data.lines import Damaged
from hexapla.errors import DataError

DROP_ALL = Cleaning(duplicates="drop", copies="drop")


@pytest.mark.parametrize("blank", ["", " ", "\t ", "\u00a0", "\u3000\u2003", "\u2028", "\x85"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_blank_side_makes_a_pair_empty(blank, side):
    pair = ["a", "b"]
    pair[side] = blank
    assert TextFilter(Cleaning()).reason(*pair) == "empty"


def test_only_later_equal_pairs_are_duplicates():
    keep = TextFilter(DROP_ALL)
    pairs = [("a", "b"), ("a", "c"), ("a", "b"), ("b", "a"), ("a", "b")]
    assert [keep.reason(*pair) for pair in pairs] == [None, None, "duplicate", None, "duplicate"]


def test_where_one_side_ends_and_the_other_begins_tells_pairs_apart():
    keep = TextFilter(DROP_ALL)
    assert [keep.reason("a b", "c"), keep.reason("a", "b c")] == [None, None]


def test_copies_and_duplicates_are_kept_unless_asked_to_drop():
    keep = TextFilter(Cleaning())
    assert [keep.reason("a", "a"), keep.reason("a", "a")] == [None, None]
    assert TextFilter(Cleaning(copies="drop")).reason("a", "a") == "copy"


def by_hand(sizes, cleaning):
    """The rules one pair at a time: (reason or None, cut)."""
    for one, other in sizes:
        short, long = min(one, other), max(one, other)
        reason = None
        if short == 0:
            reason = "empty"
        elif long > cleaning.max_tokens and cleaning.too_long == "drop":
            reason = "too_long"
        elif cleaning.max_ratio is not None and long > cleaning.max_ratio * short + RATIO_SLACK:
            reason = "ratio"
        yield reason, reason is None and long > cleaning.max_tokens


@pytest.mark.parametrize("too_long", ["drop", "cut"])
@pytest.mark.parametrize("ratio", [None, 1.0, 2.5])
def test_sizes_are_judged_as_the_rules_say_for_every_small_pair(too_long, ratio):
    cleaning = Cleaning(max_tokens=12, max_ratio=ratio, too_long=too_long)
    sizes = np.array([(s, t) for s in range(20) for t in range(20)], dtype=np.int32)
    dropped, cut = judge_sizes(sizes, cleaning)
    reasons = [next((reason for reason, mask in dropped.items() if mask[i]), None) for i in range(len(sizes))]
    assert list(zip(reasons, cut.tolist(), strict=True)) == list(by_hand(sizes.tolist(), cleaning))
    assert sum(mask.sum() for mask in dropped.values()) == sum(reason is not None for reason in reasons)


def test_kept_held_out_and_dropped_are_all_that_was_read():
    log = io.StringIO()
    account = Account("train", log, read=10, held_out=2)
    account.drop(3, "empty", 0, 4)
    account.drop(7, "ratio", 1, 9)
    account.cut_short(8, 300, 2)
    assert account.report() == {
        "read": 10,
        "kept": 6,
        "held_out": 2,
        "cut": 1,
        "dropped": {"bad_bytes": 0, "empty": 1, "duplicate": 0, "copy": 0, "too_long": 0, "ratio": 1},
    }
    assert [json.loads(line) for line in log.getvalue().splitlines()] == [
        {"split": "train", "line": 3, "reason": "empty", "source": 0, "target": 4},
        {"split": "train", "line": 7, "reason": "ratio", "source": 1, "target": 9},
        {"split": "train", "line": 8, "reason": "cut", "source": 300, "target": 2},
    ]


def account(read, **lines):
    made = Account("train", io.StringIO(), read=read)
    for reason, numbers in lines.items():
        for number in numbers:
            made.drop(number, reason, 1, 1)
    return made


def test_losing_more_than_allowed_names_reasons_lines_and_the_setting():
    with pytest.raises(DataError) as error:
        account(10, ratio=[4, 5], empty=[2]).refuse_loss("c.tsv", 0.2)
    assert str(error.value) == (
        "c.tsv: 3 of 10 pairs dropped (30%), more than max_dropped = 0.2 allows: ratio 2 (first at line 4), empty 1 (first at line 2);"
        " set a larger cleaning.max_ratio, or set a larger max_dropped"
    )


def test_losing_exactly_what_is_allowed_is_allowed():
    account(10, ratio=[4, 5]).refuse_loss("c.tsv", 0.2)


def test_nothing_left_is_refused_whatever_is_allowed():
    with pytest.raises(DataError) as error:
        account(3, empty=[1, 2], too_long=[3]).refuse_loss("a b", 1.0)
    assert str(error.value) == (
        "a b: no pair of 3 is left: empty 2 (first at line 1), too_long 1 (first at line 3; subwords: 1-1 1);"
        " give those lines a text on both sides or remove them from both"
    )


def test_what_is_too_long_is_counted_by_how_long_it_is():
    made = Account("train", io.StringIO(), read=5)
    for line, size in enumerate((300, 511, 512, 4000), 2):
        made.drop(line, "too_long", 3, size)
    assert made.why() == "too_long 4 (first at line 2; subwords: 256-511 2, 512-1023 1, 2048-4095 1)"


def test_a_damaged_side_is_a_reason_before_any_other():
    keep = TextFilter(DROP_ALL)
    assert [keep.reason(Damaged(), ""), keep.reason("a", Damaged("a"))] == ["bad_bytes", "bad_bytes"]


def test_an_empty_corpus_is_told_from_one_that_lost_all():
    with pytest.raises(DataError, match=r"^a b: no pairs; at least one line with a text on both sides is needed$"):
        account(0).refuse_loss("a b", 1.0)
