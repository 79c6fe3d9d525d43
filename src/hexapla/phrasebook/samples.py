"""Eight sentences to try, one of each kind. They are kept out of every corpus."""

from hexapla.phrasebook.adjectives import COLOURS, FAULTS, ROOMY
from hexapla.phrasebook.draw import inside, is_, several, the
from hexapla.phrasebook.hotel import numbered
from hexapla.phrasebook.meaning import (
    At,
    Clause,
    Determiner,
    Joined,
    Link,
    Person,
    Phrase,
    Quality,
    Question,
    Request,
    Sentence,
    Statement,
    Tense,
)
from hexapla.phrasebook.places import BUILDINGS, CITIES, NEAR, STOPS, TO_CITY
from hexapla.phrasebook.things import BELONGINGS, FURNITURE, ROOMS, SUPPLIES, VEHICLES
from hexapla.phrasebook.times import DAYS_TO_COME, PAST_DAYS, WHEN, at, clock, people
from hexapla.phrasebook.travel import BY
from hexapla.phrasebook.verbs import EXIST, SET_OFF, VERBS, WOULD_LIKE

_TOMORROW, _YESTERDAY, _LAST_WEEK = DAYS_TO_COME[0], PAST_DAYS[0], PAST_DAYS[-1]

SAMPLES: tuple[Sentence, ...] = (
    Request(Clause(Person.YOU, VERBS["bring"], several(3, SUPPLIES["blanket"], ROOMY["clean"]), Person.WE), could=True),
    Statement(
        Clause(
            Person.WE,
            VERBS["reserve"],
            Phrase(FURNITURE["table"], Determiner.A, attached=people(5)),
            modal=WOULD_LIKE,
            time=at(_TOMORROW, clock(7, "half")),
        )
    ),
    Question(
        Clause(
            Person.YOU,
            VERBS["know"],
            content=Clause(Phrase(VEHICLES["train"], attached=At(TO_CITY, CITIES["Munich"])), SET_OFF, time=WHEN),
        )
    ),
    Statement(
        Clause(
            Person.I,
            VERBS["lose"],
            Phrase(BELONGINGS["bag"], Determiner.MY, adjective=COLOURS["green"]),
            place=inside(STOPS["station"]),
            time=_YESTERDAY,
            tense=Tense.PAST,
            fronted=True,
        )
    ),
    Joined(
        Link.BECAUSE,
        Statement(Clause(Person.WE, VERBS["need"], Phrase(ROOMS["apartment"], Determiner.A, adjective=ROOMY["quiet"], more=True))),
        is_(numbered(4), Quality(FAULTS["loud"], "too")),
    ),
    Joined(
        Link.IF,
        Statement(Clause(Person.WE, VERBS["travel"], goal=At(TO_CITY, CITIES["Vienna"]), manner=BY[0], tense=Tense.FUTURE)),
        Clause(Person.IT, VERBS["snow"], time=_TOMORROW),
    ),
    Question(Clause(Person.THERE, EXIST, Phrase(BUILDINGS["café"], Determiner.ANY), place=At(NEAR, the(BUILDINGS["museum"])))),
    Statement(
        is_(
            Phrase(ROOMS["double room"], relative=Clause(Person.WE, VERBS["book"], tense=Tense.PAST, time=_LAST_WEEK)),
            Quality(ROOMY["small"], "too"),
        )
    ),
)
