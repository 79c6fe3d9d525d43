"""The words of the tables by their English names."""

from hexapla.phrasebook import adjectives, things
from hexapla.phrasebook.words import Adjective, Noun

_TABLES = [table for module in (things, adjectives) for table in vars(module).values()]
_ENTRIES = [entry for table in _TABLES if isinstance(table, dict) for entry in table.values()]
_ENTRIES += [table for table in _TABLES if isinstance(table, Noun)]

NOUNS = {entry.en: entry for entry in _ENTRIES if isinstance(entry, Noun)}
ADJECTIVES = {entry.en: entry for entry in _ENTRIES if isinstance(entry, Adjective)}
