"""At the hotel desk: rooms, keys, luggage, what is missing and what is broken."""

from dataclasses import replace

from hexapla.phrasebook.adjectives import COLOURS, FAULTS, QUALITIES, ROOMY, STATES
from hexapla.phrasebook.draw import OWNED, US_OR_ME, Draw, a, inside, is_, several, some_of, the
from hexapla.phrasebook.meaning import At, Clause, Determiner, Person, Phrase, Quality, Question, Request, Sentence, Statement, Tense
from hexapla.phrasebook.places import BESIDE, BUILDINGS, INDOORS, ON, RECEPTION, RIDES, STOPS, UNDER
from hexapla.phrasebook.things import (
    BELONGINGS,
    COMFORTS,
    EQUIPMENT,
    FIXTURES,
    FURNITURE,
    LUGGAGE,
    OPENINGS,
    PAPERS,
    RESERVATION,
    ROOMS,
    SUPPLIES,
    TAXI,
)
from hexapla.phrasebook.times import DAYS_TO_COME, FUTURE_DAYS, GONE_DAYS, HABITS, HOURS, NEXT_DAYS, SOON, labelled, nights
from hexapla.phrasebook.verbs import BE, CAN, CHECK_IN, CHECK_OUT, EXIST, MUST, VERBS, WOULD_LIKE
from hexapla.phrasebook.words import Adjective, Noun, Words

PRAISED = [ROOMY[en] for en in ("big", "quiet", "clean", "cheap", "bright", "comfortable", "modern", "beautiful")]
ROOM_WISHES = [ROOMY[en] for en in ("big", "small", "quiet", "cheap", "bright", "comfortable", "modern", "beautiful")]


BEDDING = {en: SUPPLIES[en] for en in ("towel", "blanket", "pillow", "chair")}
IN_BATHROOMS = ("lamp", "hairdryer", "towel", "hot water")


def numbered(n: int) -> Words:
    name = labelled(n)
    return Words(f"room {name.en}", f"Zimmer {name.de}", f"{name.zh}号房间")


def to_book(d: Draw) -> Clause:
    """A booking, the subject, time and modal still open."""
    count = d.number(1, 5)
    room = d.one(ROOMS)
    adjective = d.maybe(0.4, ROOM_WISHES)
    what = a(room, adjective) if count < 3 else several(count - 1, room, adjective)
    length = nights(d.number(1, 7)) if d.chance(0.5) else None
    return Clause(d.one(US_OR_ME), VERBS[d.one(("book", "reserve"))], what, lasting=length)


def booking(d: Draw) -> Sentence:
    clause = to_book(d)
    match d.number(1, 3):
        case 1:
            return Statement(replace(clause, modal=WOULD_LIKE, time=d.maybe(0.3, FUTURE_DAYS) if not clause.lasting else None))
        case 2:
            return Question(replace(clause, modal=CAN))
        case _:
            time = d.maybe(0.75, GONE_DAYS)
            return Statement(replace(clause, tense=Tense.PAST, time=time, fronted=time is not None and d.chance(0.5)))


def cancelling(d: Draw) -> Sentence:
    person, owner = d.one(((Person.I, Determiner.MY), (Person.WE, Determiner.OUR)))
    clause = Clause(person, VERBS["cancel"], Phrase(RESERVATION, owner))
    match d.number(1, 3):
        case 1:
            return Statement(replace(clause, modal=d.one((WOULD_LIKE, MUST))))
        case 2:
            return Question(replace(clause, modal=CAN))
        case _:
            return Statement(replace(clause, tense=Tense.PAST, time=d.one(GONE_DAYS), fronted=d.chance(0.5)))


def having(d: Draw) -> Clause:
    """You have a bigger room: asked with do you, or whether."""
    if d.chance(0.6):
        adjective, more = d.one(((QUALITIES["free"], False), *((wish, more) for wish in ROOM_WISHES for more in (True, False))))
        what = Phrase(d.one(ROOMS), Determiner.ANY, adjective=adjective, more=more)
        return Clause(Person.YOU, VERBS["have"], what, time=d.maybe(0.3, [*DAYS_TO_COME, *NEXT_DAYS]))
    return Clause(Person.YOU, VERBS["have"], Phrase(d.one(SUPPLIES), Determiner.ANY))


def staying(d: Draw) -> Sentence:
    """Stays, arrivals, departures."""
    person = d.one((Person.I, Person.WE, Person.WE))
    time = d.when(FUTURE_DAYS)
    match d.number(1, 4):
        case 1:
            clause = Clause(person, VERBS["stay"], lasting=nights(d.number(2, 7), spent=True), modal=d.one((WOULD_LIKE, CAN)))
            return Statement(clause) if clause.modal is WOULD_LIKE else Question(clause)
        case 2:
            clause = Clause(person, d.one((CHECK_IN, CHECK_OUT)), modal=d.one((CAN, MUST)), time=time)
            return Question(clause) if clause.modal is CAN else Statement(clause)
        case _:
            return Statement(replace(moving(d, person), time=time, tense=Tense.FUTURE, fronted=d.chance(0.4)))


def moving(d: Draw, person: Person) -> Clause:
    """Arriving somewhere, or leaving."""
    if d.chance(0.5):
        return Clause(person, VERBS["leave"])
    return Clause(person, VERBS["arrive"], goal=inside(d.one((BUILDINGS["hotel"], *STOPS.values()))))


def furnishing(d: Draw, things: dict[str, Noun] = EQUIPMENT) -> tuple[Noun, At]:
    """Something found in a room or, if it is small enough, in a bathroom."""
    thing = d.one(things)
    room = d.one((INDOORS["room"], INDOORS["bathroom"])) if thing.en in IN_BATHROOMS else INDOORS["room"]
    return thing, inside(room, d.one((Determiner.THE, Determiner.MY, Determiner.OUR)))


def unfit(d: Draw) -> tuple[Phrase | Words, Adjective]:
    """A room and what is wrong with it."""
    room = Phrase(d.one(ROOMS), d.one((Determiner.THE, Determiner.MY, Determiner.OUR)))
    beside = At(d.one(BESIDE), the(d.one((FIXTURES["lift"], RECEPTION, INDOORS["lobby"]))))
    subject = d.one((room, replace(room, determiner=Determiner.THE, attached=beside), numbered(d.number(1, 12))))
    return subject, d.one((*FAULTS.values(), ROOMY["small"], ROOMY["expensive"]))


def fault(d: Draw) -> Clause:
    """Something is broken, missing, too loud."""
    match d.number(1, 5):
        case 1:
            thing, where = furnishing(d)
            return is_(Phrase(thing, attached=where if d.chance(0.7) else None), STATES["broken"])
        case 2:
            return Clause(the(d.one({**FIXTURES, **EQUIPMENT})), VERBS["work"], negated=True)
        case 3:
            thing, where = furnishing(d, {**COMFORTS, **BEDDING, **EQUIPMENT})
            what = Phrase(thing, Determiner.NONE if thing.mass else Determiner.ANY)
            return Clause(Person.THERE, EXIST, what, place=where, negated=True)
        case _:
            room, adjective = unfit(d)
            return is_(room, Quality(adjective, d.one(("too", "very"))))


def praise(d: Draw) -> Clause:
    """Something about the room or the house is as it should be."""
    if d.chance(0.3):
        return is_(numbered(d.number(1, 6)), Quality(d.one(ROOMY), "", numbered(d.number(7, 12))))
    if d.chance(0.2):
        quality = Quality(ROOMY[d.one(("big", "small", "quiet", "beautiful"))], d.one(("", "very")))
        return is_(the(d.one((INDOORS["garden"], INDOORS["lobby"]))), quality)
    subject = Phrase(d.one((*ROOMS.values(), BUILDINGS["hotel"])), d.one((Determiner.THE, Determiner.THIS)))
    return is_(subject, Quality(d.one(PRAISED), d.one(("", "very"))))


def request(d: Draw) -> Sentence:
    """Bring, wake, clean, repair, open, call, pick up."""
    whom = d.one(US_OR_ME)
    match d.number(1, 7):
        case 1 | 2 | 3:
            adjective = d.maybe(0.25, (ROOMY["big"], ROOMY["clean"], ROOMY["small"]))
            clause = Clause(Person.YOU, VERBS["bring"], some_of(d, d.one(SUPPLIES), adjective), whom)
        case 4:
            clause = Clause(Person.YOU, VERBS[d.one(("give", "show"))], the(d.one({**PAPERS, "key": SUPPLIES["key"]})), whom)
        case 5:
            clause = Clause(Person.YOU, VERBS[d.one(("wake", "phone"))], whom, time=d.when([*DAYS_TO_COME, *HABITS], 0.7))
        case 6:
            clause = d.one((fixing, fixing, opening, helping))(d)
        case _:
            clause = Clause(Person.YOU, VERBS["call"], a(TAXI), whom, time=d.maybe(0.3, HOURS))
    return Request(clause, could=d.chance(0.55))


def fixing(d: Draw) -> Clause:
    if d.chance(0.4):
        room = Phrase(d.one(INDOORS), d.one((Determiner.THE, Determiner.OUR)))
        return Clause(Person.YOU, VERBS["clean"], room, time=d.maybe(0.3, SOON[:1]))
    return Clause(Person.YOU, VERBS["repair"], the(d.one({**EQUIPMENT, **FIXTURES})), time=d.maybe(0.3, SOON[:1]))


def opening(d: Draw) -> Clause:
    return Clause(Person.YOU, VERBS[d.one(("open", "close"))], the(d.one(OPENINGS)))


def helping(d: Draw) -> Clause:
    return Clause(Person.YOU, VERBS["help"], d.one(US_OR_ME))


def losing(d: Draw) -> Sentence:
    """Lost, found, looked for, left lying."""
    thing = d.one({**BELONGINGS, "key": SUPPLIES["key"], "umbrella": SUPPLIES["umbrella"]})
    colour = d.maybe(0.4, COLOURS) if thing.en != "key" else None
    where = inside(d.one({**BUILDINGS, **STOPS, **RIDES}))
    match d.number(1, 4):
        case 1:
            time = d.maybe(0.6, GONE_DAYS)
            mine = Phrase(thing, Determiner.MY, adjective=colour)
            lost = Clause(Person.I, VERBS["lose"], mine, place=where, tense=Tense.PAST, time=time)
            return Statement(replace(lost, fronted=time is not None and d.chance(0.5)))
        case 2:
            yours = Phrase(thing, Determiner.YOUR, adjective=colour)
            return Statement(Clause(Person.WE, VERBS["find"], yours, place=where, tense=Tense.PAST, time=d.maybe(0.6, GONE_DAYS)))
        case 3:
            return Statement(Clause(Person.I, VERBS["look"], Phrase(thing, Determiner.MY, adjective=colour)))
        case _:
            spot = At(d.one((ON, UNDER)), the(d.one(FURNITURE)))
            return Statement(Clause(Phrase(thing, d.one(OWNED), adjective=colour), BE, place=spot))


def owning(d: Draw) -> Sentence:
    """This is my suitcase."""
    thing = Phrase(d.one({**BELONGINGS, **LUGGAGE}), d.one(OWNED), adjective=d.maybe(0.5, COLOURS))
    clause = Clause(Person.THIS, BE, thing)
    return Question(clause) if d.chance(0.5) else Statement(clause)


def inventory(d: Draw) -> Sentence:
    """What is in the room."""
    thing, where = furnishing(d, {**EQUIPMENT, **FURNITURE, **BEDDING})
    if d.chance(0.5):
        return Question(Clause(Person.THERE, EXIST, Phrase(thing, Determiner.ANY), place=where))
    what = several(d.number(2, 4), thing) if d.chance(0.6) else a(thing)
    return Statement(Clause(Person.THERE, EXIST, what, place=where))


def readiness(d: Draw) -> Clause:
    return is_(Phrase(d.one(ROOMS), d.one((Determiner.OUR, Determiner.MY))), STATES["ready"])


def complaint(d: Draw) -> Sentence:
    return Statement(d.one((fault, fault, praise))(d))


def asking(d: Draw) -> Sentence:
    return Question(having(d))


SCENES = {booking: 10, cancelling: 1, asking: 5, staying: 7, complaint: 6, request: 9, losing: 9, owning: 2, inventory: 2}
