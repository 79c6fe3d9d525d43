"""Sentences of two clauses: because, although, if, before, that, whether, and the room that we booked yesterday."""

from collections.abc import Sequence
from dataclasses import replace

from hexapla.phrasebook.adjectives import AILMENTS, CARRIED, FAULTS, FEELINGS, ROOMY, STATES, TASTES
from hexapla.phrasebook.draw import ANYONE, US_OR_ME, Draw, a, is_, the
from hexapla.phrasebook.health import REMEDIES, ailment, feeling
from hexapla.phrasebook.hotel import fault, having, praise, readiness, unfit
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
from hexapla.phrasebook.places import BUILDINGS, OUTDOORS, RECEPTION, SIGHTS, STOPS, TO
from hexapla.phrasebook.restaurant import meal, taste
from hexapla.phrasebook.things import BELONGINGS, DISHES, GOODS, LUGGAGE, PAPERS, RESERVATION, ROOMS, STAFF, SUPPLIES, TAXI
from hexapla.phrasebook.times import AGO, DAYS_TO_COME, FUTURE_DAYS, GONE_DAYS, NOW, ON_DAYS, WHAT_TIME, WHEN
from hexapla.phrasebook.town import VISITED, distance, falling, forecast, liking, nearby, opening, opinion, price, way, whereabouts
from hexapla.phrasebook.travel import HOW_MUCH, WHICH_PLATFORM, delay, journey, leaving_train, outing, timetable
from hexapla.phrasebook.verbs import MUST, PAY_UP, VERBS, WOULD_LIKE
from hexapla.phrasebook.words import Noun, Words

ME, US = (Person.I, Determiner.MY), (Person.WE, Determiner.OUR)


def fact(d: Draw) -> Clause:
    """What one may think or say."""
    return d.one((timetable, opening, delay, praise, opinion, forecast, price, meal, taste))(d)


def wish(d: Draw) -> Clause:
    """What one may hope."""
    return d.one((praise, opinion, readiness, nearby))(d)


def telling(d: Draw) -> Sentence:
    """I think that the train is late."""
    if d.chance(0.25):
        return Statement(Clause(d.one(US_OR_ME), VERBS["hope"], content=wish(d)))
    if d.chance(0.3):
        return Statement(Clause(Person.I, VERBS["think"], content=fact(d)))
    speaker = d.one((Person.HE, Person.SHE, *(the(STAFF[en]) for en in ("driver", "waiter", "guide"))))
    return Statement(Clause(speaker, VERBS["say"], content=fact(d)))


def unknown(d: Draw) -> tuple[Clause, bool]:
    """What one may ask for, and whether it is a yes or no that one does not know."""
    match d.number(1, 9):
        case 1:
            return replace(timetable(d), time=d.one((WHEN, WHAT_TIME))), False
        case 2:
            return replace(opening(d), time=d.one((WHEN, WHAT_TIME))), False
        case 3:
            return whereabouts(d), False
        case 4:
            return d.one((way, distance))(d), False
        case 5:
            return replace(price(d), object=HOW_MUCH), False
        case 6:
            return replace(leaving_train(d), place=WHICH_PLATFORM), False
        case _:
            return d.one((timetable, opening, nearby, delay, opinion, praise, readiness))(d), True


def asking(d: Draw) -> Sentence:
    """Do you know when the bus leaves? I would like to know whether our room is ready."""
    content, whether = unknown(d)
    match d.number(1, 3):
        case 1:
            return Question(Clause(Person.YOU, VERBS["know"], content=content, whether=whether))
        case 2:
            return Statement(Clause(d.one(US_OR_ME), VERBS["know"], modal=WOULD_LIKE, content=content, whether=whether))
        case _:
            told = Clause(Person.YOU, VERBS["tell"], recipient=d.one(US_OR_ME), content=content, whether=whether)
            return Request(told, could=d.chance(0.7))


def inquiring(d: Draw) -> Sentence:
    """I would like to know whether you have a quieter room."""
    return Statement(Clause(d.one(US_OR_ME), VERBS["know"], modal=WOULD_LIKE, content=having(d), whether=True))


BETTER = {
    **{"dirty": ROOMY["clean"], "loud": ROOMY["quiet"], "dark": ROOMY["bright"], "old": ROOMY["modern"]},
    **{"small": ROOMY["big"], "expensive": ROOMY["cheap"]},
}


def better_room(d: Draw) -> tuple[Clause, Clause]:
    room, adjective = unfit(d)
    wished = Phrase(d.one(ROOMS), Determiner.A, adjective=BETTER[adjective.en], more=True)
    wanting = Clause(d.one(US_OR_ME), VERBS[d.one(("need", "book"))], wished)
    wanting = replace(wanting, modal=WOULD_LIKE) if wanting.verb is VERBS["book"] else wanting
    return wanting, is_(room, Quality(adjective, d.one(("very", "too"))))


def treatment(d: Draw) -> tuple[Clause, Clause]:
    person, suffering = d.one(US_OR_ME), ailment(d)
    hospital = At(TO, the(d.one((BUILDINGS["hospital"], BUILDINGS["pharmacy"]))))
    wanted = d.one(
        (a(STAFF["doctor"]), *(remedy for pain, remedy in zip(AILMENTS.values(), REMEDIES, strict=True) if pain is suffering.object))
    )
    return d.one((Clause(person, VERBS["need"], wanted), Clause(person, VERBS["go"], goal=hospital, modal=MUST))), suffering


def taxi(d: Draw) -> tuple[Clause, Clause]:
    person, owner = d.one((ME, US))
    heavy = is_(Phrase(d.one((LUGGAGE["luggage"], BELONGINGS["suitcase"])), owner), Quality(CARRIED["heavy"], d.one(("very", "too"))))
    ride = Clause(person, VERBS["take"], a(TAXI), modal=d.one((MUST, WOULD_LIKE)))
    return ride, d.one((heavy, delay(d), feeling(d)))


def withdrawal(d: Draw) -> tuple[Clause, Clause]:
    person, owner = d.one((ME, US))
    cancelled = Clause(person, VERBS["cancel"], Phrase(RESERVATION, owner), modal=d.one((MUST, WOULD_LIKE)))
    left = Clause(person, VERBS["leave"], time=d.one(FUTURE_DAYS), modal=d.one((MUST, WOULD_LIKE)))
    return d.one((cancelled, left)), d.one((ailment, fault))(d)


def search(d: Draw) -> tuple[Clause, Clause]:
    person, owner = d.one((ME, US))
    lost = Clause(person, VERBS["lose"], Phrase(d.one({**BELONGINGS, "key": SUPPLIES["key"]}), owner), tense=Tense.PAST)
    goal = At(TO, the(d.one((RECEPTION, BUILDINGS["hotel"], *STOPS.values()))))
    return Clause(person, VERBS["go"], goal=goal, modal=MUST), lost


def staying_in(d: Draw) -> tuple[Clause, Clause]:
    person = d.one(ANYONE)
    tired = is_(person, d.one((STATES["ill"], Quality(FEELINGS["tired"], d.one(("", "very"))))))
    raining = replace(falling(d), tense=Tense.FUTURE)
    return replace(outing(d), subject=person, modal=WOULD_LIKE, negated=True, time=d.one(DAYS_TO_COME)), d.one((tired, raining))


def because(d: Draw) -> Sentence:
    deed, reason = d.one((better_room, treatment, taxi, withdrawal, search, staying_in))(d)
    return Joined(Link.BECAUSE, Statement(deed), reason)


def although(d: Draw) -> Sentence:
    """We like this hotel although the shower does not work."""
    like = replace(liking(d), object=Phrase(BUILDINGS["hotel"], Determiner.THIS), negated=False)
    return Joined(Link.ALTHOUGH, Statement(like), fault(d))


def however(d: Draw) -> Sentence:
    """The hotel is beautiful, but room two is too loud."""
    return Joined(Link.BUT, Statement(praise(d)), fault(d))


def if_(d: Draw) -> Sentence:
    """If it rains tomorrow, we will visit the museum."""
    person = d.one(US_OR_ME)
    if d.chance(0.25):
        shut = is_(the(d.one(SIGHTS)), STATES["closed"], time=d.one((*ON_DAYS, *NOW)))
        instead = Clause(person, VERBS["go"], goal=At(TO, the(d.one(VISITED + list(OUTDOORS.values())))), tense=Tense.FUTURE)
        while instead.goal and instead.goal.what == shut.subject:
            shut = replace(shut, subject=the(d.one(SIGHTS)))
        return Joined(Link.IF, Statement(instead), shut)
    deeds = (
        Clause(person, VERBS["take"], a(TAXI)),
        replace(outing(d), subject=person),
        replace(journey(d), subject=person),
        Clause(person, VERBS["cancel"], Phrase(RESERVATION, Determiner.OUR)),
        Clause(person, VERBS["phone"], Person.YOU),
        Clause(person, VERBS["leave"], time=d.maybe(0.5, DAYS_TO_COME)),
    )
    rain = replace(falling(d), time=d.one(DAYS_TO_COME))
    return Joined(Link.IF, Statement(replace(d.one(deeds), tense=Tense.FUTURE)), d.one((rain, rain, delay(d))))


def before(d: Draw) -> Sentence:
    """Please give us the bill before we leave."""
    person = d.one(US_OR_ME)
    leaving = d.one((Clause(person, VERBS["leave"]), replace(journey(d), subject=person), replace(outing(d), subject=person)))
    if d.chance(0.5):
        request = Clause(Person.YOU, VERBS[d.one(("give", "show", "bring"))], the(d.one(PAPERS)), person)
        woken = Clause(Person.YOU, VERBS[d.one(("wake", "phone"))], person)
        return Joined(Link.BEFORE, Request(d.one((request, woken)), could=d.chance(0.5)), leaving)
    wishes = (
        Clause(person, PAY_UP),
        Clause(person, VERBS["buy"], a(d.one(GOODS))),
        Clause(person, VERBS["visit"], the(BUILDINGS["museum"])),
        Clause(person, VERBS["order"], a(d.one(DISHES))),
    )
    return Joined(Link.BEFORE, Statement(replace(d.one(wishes), modal=d.one((MUST, WOULD_LIKE)))), leaving)


def chosen(d: Draw, verb: str, thing: Noun, times: Sequence[Words] = GONE_DAYS) -> Phrase:
    """the room that we booked yesterday"""
    return Phrase(thing, relative=Clause(d.one(US_OR_ME), VERBS[verb], tense=Tense.PAST, time=d.maybe(0.8, times)))


def relative(d: Draw) -> Sentence:
    degree = d.one(("very", "too"))
    match d.number(1, 7):
        case 1 | 2 | 3:
            room = chosen(d, d.one(("book", "reserve")), d.one(ROOMS))
            return Statement(is_(room, Quality(d.one((*FAULTS.values(), ROOMY["small"], ROOMY["expensive"])), degree)))
        case 4 | 5:
            if d.chance(0.5):
                heavy = chosen(d, "buy", BELONGINGS[d.one(("suitcase", "bag", "backpack", "coat"))])
                return Statement(is_(heavy, Quality(CARRIED["heavy"], degree)))
            broken = chosen(d, "buy", GOODS[d.one(("suitcase", "bag", "camera", "mobile phone", "umbrella"))])
            return Statement(is_(broken, STATES["broken"]))
        case 6:
            dish = chosen(d, "order", DISHES[d.one(("soup", "pizza", "steak", "sausage"))], AGO[:3])
            return Statement(is_(dish, Quality(TASTES[d.one(("cold", "salty", "spicy"))], degree)))
        case _:
            return Statement(Clause(d.one(US_OR_ME), VERBS["look"], chosen(d, "buy", d.one(GOODS))))


SCENES = {telling: 9, asking: 12, inquiring: 5, because: 16, although: 5, however: 4, if_: 9, before: 8, relative: 11}
