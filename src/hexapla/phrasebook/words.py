"""What a word is: the entries of the three-language lexicon, and the reader of its tables.

A lexicon table is plain text, one word a line, cells between bars. It is read once, at import.
"""

from dataclasses import dataclass
from enum import Enum


class Case(Enum):
    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2
    GENITIVE = 3


class Gender(Enum):
    MASCULINE = "der"
    FEMININE = "die"
    NEUTER = "das"


@dataclass(frozen=True, slots=True)
class Locale:
    """How a place is said to be somewhere or a goal: at the station, am Bahnhof, zum Bahnhof, 在火车站."""

    at: str
    de_at: str
    de_to: str
    zh_in: str = ""


@dataclass(frozen=True, slots=True)
class Noun:
    en: str
    en_plural: str
    gender: Gender
    de: str
    de_plural: str
    zh: str
    measure: str
    locale: Locale | None = None

    @property
    def mass(self) -> bool:
        """Things nobody counts: water, breakfast, heating."""
        return not self.en_plural


@dataclass(frozen=True, slots=True)
class Adjective:
    en: str
    en_more: str
    de: str
    de_stem: str  # what takes the endings: teuer, but ein teur-es Zimmer
    de_more: str
    zh: str
    zh_before_noun: str  # 大, but 安静的


@dataclass(frozen=True, slots=True)
class Verb:
    """English forms, German forms, Chinese.

    `de_third` lacks the separable prefix. `object` is the German case, or preposition and case, of what English has as the
    object. In `zh`, {} marks where the recipient goes: 给{}拿. `progressive` verbs say "is looking for" in the present.
    """

    en: str
    en_third: str
    en_past: str
    en_participle: str
    de: str
    prefix: str
    de_third: str
    auxiliary: str
    de_participle: str
    zh: str
    en_after: str = ""  # up, in pick us up; for, in look for
    en_preposition: bool = False  # en_after stands before the object
    object: Case = Case.ACCUSATIVE
    de_preposition: str = ""
    progressive: str = ""
    experienced: bool = False  # who likes is the dative in German: das gefällt mir


@dataclass(frozen=True, slots=True)
class Words:
    """Something said in fixed words in each language. `asked` marks a question word, which English and German move to the front."""

    en: str
    de: str
    zh: str
    asked: bool = False


def cells(table: str) -> list[list[str]]:
    """The rows of a lexicon table."""
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().split("\n") if line.strip()]


def plural_of(en: str) -> str:
    """The regular English plural: keys, buses, batteries."""
    if en.endswith(("s", "ch", "sh", "x")):
        return en + "es"
    if en.endswith("y") and en[-2] not in "aeiou":
        return en[:-1] + "ies"
    return en + "s"


def noun(row: list[str]) -> Noun:
    """From: key | der Schlüssel, Schlüssel | 钥匙 把. Irregular English plurals follow a comma; a mass noun has no German plural."""
    english, german, chinese, *place = row
    en, _, en_plural = english.partition(", ")
    singular, _, de_plural = german.partition(", ")
    article, de = singular.split()
    zh, _, measure = chinese.partition(" ")
    if de_plural:
        en_plural = en_plural or plural_of(en)
    locale = None
    if place:
        locale = Locale(*place[0].split())
    return Noun(en, en_plural, Gender(article), de, de_plural, zh, measure, locale)


def nouns(table: str) -> dict[str, Noun]:
    return {entry.en: entry for entry in map(noun, cells(table))}


def adjectives(table: str) -> dict[str, Adjective]:
    """From: expensive, more expensive | teuer teur- teurer | 贵 贵的."""
    entries = {}
    for english, german, chinese in cells(table):
        en, _, en_more = english.partition(", ")
        de, *stem, de_more = german.split()
        zh, before_noun = chinese.split()
        entries[en] = Adjective(en, en_more, de, stem[0].rstrip("-") if stem else de, de_more, zh, before_noun)
    return entries


def words(table: str, *, asked: bool = False) -> dict[str, Words]:
    return {en: Words(en, de, zh, asked) for en, de, zh in cells(table)}
