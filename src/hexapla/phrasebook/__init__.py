"""Sentences for the hotel desk and the road in English, German and Chinese, from a grammar of our own."""

from hexapla.phrasebook.sentences import PAIRS, Corpus, Pair, corpus, examples, write

__all__ = ["PAIRS", "Corpus", "Pair", "corpus", "examples", "write"]
