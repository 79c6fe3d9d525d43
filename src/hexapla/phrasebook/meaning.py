"""What is meant, apart from any language: phrases, clauses, sentences. english.py, german.py and chinese.py say it.

One meaning has one wording in each language, and nearly every wording has one meaning: "you" is always polite, a Chinese noun
without a determiner is always "the", an English past tense has a time beside it and the present perfect has none.
"""

from dataclasses import dataclass
from enum import Enum

from hexapla.phrasebook.places import Preposition
from hexapla.phrasebook.verbs import Modal
from hexapla.phrasebook.words import Adjective, Noun, Verb, Words


class Determiner(Enum):
    """English singular, plural; German stem; Chinese, where + stands for the measure word and … for plurals."""

    A = ("a", "", "ein", "一+")
    ANY = ("a", "", "ein", "")  # what is asked for or absent: 有房间吗, 没有房间
    ANOTHER = ("another", "", "noch ein", "一+")
    THE = ("the", "the", "der", "")
    THIS = ("this", "these", "dies", "这+")
    WHICH = ("which", "which", "welch", "哪+")
    MY = ("my", "my", "mein", "我的")
    OUR = ("our", "our", "unser", "我们的")
    YOUR = ("your", "your", "Ihr", "您的")
    NONE = ("", "", "", "")  # water, two keys
    WHOLE = ("", "", "der", "")  # breakfast, das Frühstück: a meal as subject

    @property
    def definite(self) -> bool:
        return self not in (Determiner.A, Determiner.ANY, Determiner.ANOTHER, Determiner.NONE)


class Person(Enum):
    I = "I"  # noqa: E741
    WE = "we"
    YOU = "you"
    HE = "he"
    SHE = "she"
    IT = "it"  # the weather, distances: nothing in Chinese
    THERE = "there"  # there is, es gibt, 有
    THIS = "this"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun and all that goes with it. `number` above 1 is a plural; it is spoken when `counted`."""

    noun: Noun
    determiner: Determiner = Determiner.THE
    number: int = 1
    counted: bool = False
    adjective: Adjective | None = None
    more: bool = False  # the comparative: a bigger room
    helping_of: Noun | None = None  # a bottle of water
    attached: "At | Words | None" = None
    relative: "Clause | None" = None


@dataclass(frozen=True, slots=True)
class Both:
    """Two things ordered together."""

    first: Phrase
    second: Phrase


Named = Phrase | Both | Person | Words


@dataclass(frozen=True, slots=True)
class At:
    """A preposition and what it governs; `onward`: from the hotel to the station."""

    preposition: Preposition
    what: Named
    onward: "At | None" = None


@dataclass(frozen=True, slots=True)
class Quality:
    """very, too: how much of an adjective; `than`: more of it than something else has."""

    adjective: Adjective
    degree: str = ""
    than: Named | None = None


class Tense(Enum):
    PRESENT = "present"
    PAST = "past"  # with a time: we booked; without: we have booked; German perfect; Chinese 了
    FUTURE = "future"  # we will leave, wir reisen ab


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what, to whom, how, where, whereto, when. Any of the adverbials may be the question word."""

    subject: Named
    verb: Verb
    object: Named | None = None
    recipient: Named | None = None
    quality: Quality | Words | None = None
    manner: At | Words | None = None
    place: At | Words | None = None
    goal: At | None = None
    lasting: Words | None = None
    time: Words | None = None
    fronted: bool = False  # the time comes first
    modal: Modal | None = None
    tense: Tense = Tense.PRESENT
    negated: bool = False
    content: "Clause | None" = None  # that …, whether …, when …
    whether: bool = False

    @property
    def asked(self) -> Words | None:
        """The question word, wherever it stands."""
        places = (self.object, self.quality, self.manner, self.place, self.lasting, self.time)
        return next((place for place in places if isinstance(place, Words) and place.asked), None)

    @property
    def asks_subject(self) -> bool:
        return isinstance(self.subject, Phrase) and self.subject.determiner is Determiner.WHICH


@dataclass(frozen=True, slots=True)
class Statement:
    clause: Clause


@dataclass(frozen=True, slots=True)
class Question:
    clause: Clause


@dataclass(frozen=True, slots=True)
class Request:
    """Please do; could you please do. The clause's subject is you."""

    clause: Clause
    could: bool = False


class Link(Enum):
    """English, German, Chinese around {side} and {main}."""

    BECAUSE = ("because", "weil", "因为{side}，所以{main}")
    ALTHOUGH = ("although", "obwohl", "虽然{side}，但是{main}")
    BEFORE = ("before", "bevor", "{side}以前，{main}")
    IF = ("if", "wenn", "如果{side}，{main}")
    BUT = ("but", "aber", "{main}，但是{side}")


@dataclass(frozen=True, slots=True)
class Joined:
    """Two clauses; what follows `if` comes first."""

    link: Link
    main: Statement | Request
    side: Clause


Sentence = Statement | Question | Request | Joined
