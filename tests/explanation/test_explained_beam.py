"""A tree small enough to search by hand, through the search that every model goes through."""

import math
from fractions import Fraction
from itertools import product

import pytest
import torch
from computed import measured, rows

from hexapla.config.decoding import Beam
from hexapla.decoding.score import forced_log_probs
from hexapla.decoding.search import search
from hexapla.explanation.beam import END, TREE, TreeModel, sentences

EXACT = {  # by hand
    "the dog": Fraction(40 * 90 * 51, 10**6),
    "the dog barks": Fraction(40 * 90 * 49, 10**6),
    "a dog": Fraction(50 * 34, 10**4),
    "a hound": Fraction(50 * 33, 10**4),
    "a puppy": Fraction(50 * 33, 10**4),
    "dogs bark": Fraction(10, 100),
    "the hound": Fraction(4, 100),
}


def test_each_sentence_has_its_exact_probability_and_they_sum_to_1():
    found = {" ".join(words): probability for words, probability in sentences()}
    assert found == pytest.approx({text: float(exact) for text, exact in EXACT.items()})
    assert sum(EXACT.values()) == 1
    assert all(math.isclose(sum(after.values()), 1) for after in TREE.values())


def test_the_model_gives_every_possible_output_that_probability():
    model, source = TreeModel(), torch.tensor([[3]])
    texts = {}
    for length in (1, 2, 3):
        for ids in product([number for word, number in model.ids.items() if word != END], repeat=length):
            log_prob = float(forced_log_probs(model, source, torch.tensor([[model.specials.bos, *ids, model.specials.eos]])).sum())
            if log_prob > -math.inf:
                texts[" ".join(model.words[number] for number in ids)] = math.exp(log_prob)
    assert texts == pytest.approx({text: float(exact) for text, exact in EXACT.items()}, rel=1e-5)


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        (Beam(width=1, penalty="none"), "a dog"),
        (Beam(width=2, penalty="none"), "the dog"),
        (Beam(width=4, penalty="none"), "the dog"),
        (Beam(width=4, length_penalty=0.6), "the dog barks"),
    ],
    ids=str,
)
def test_each_search_finds_what_is_found_by_hand(strategy, text):
    model = TreeModel()
    best = search(model, torch.tensor([[3]]), strategy)[0][0]
    assert model.text(best) == text
    assert math.exp(best.log_prob) == pytest.approx(float(EXACT[text]), rel=1e-5)


def test_greedy_loses_and_a_beam_finds_the_likeliest():
    assert measured("beam")["greedy"] == pytest.approx(0.17)
    assert measured("beam")["beam"] == pytest.approx(0.1836) == pytest.approx(float(max(EXACT.values())))
    assert [row[1] for row in rows("beam", 1)] == ["a dog", "the dog", "the dog", "the dog barks"]


def test_the_penalty_is_that_of_wu_et_al():
    lp = {words: ((5 + words + 1) / 6) ** 0.6 for words in (2, 3)}
    by_score = max(EXACT, key=lambda text: math.log(EXACT[text]) / lp[len(text.split())])
    assert by_score == "the dog barks"
    assert measured("beam")["penalty"] == pytest.approx(math.log(EXACT[by_score]) / lp[3], rel=1e-5)
