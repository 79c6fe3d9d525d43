"""In town: where things are, how to get there, when they open, what they cost, what the weather does."""

from dataclasses import replace

from hexapla.phrasebook.adjectives import QUALITIES, ROOMY, STATES, WEATHER
from hexapla.phrasebook.draw import US_OR_ME, Draw, a, inside, is_, some_of, the
from hexapla.phrasebook.meaning import At, Clause, Determiner, Person, Phrase, Quality, Question, Request, Sentence, Statement, Tense
from hexapla.phrasebook.places import (
    AS_FAR_AS,
    BESIDE,
    BUILDINGS,
    FROM,
    NEAR,
    OUTDOORS,
    RECEPTION,
    ROADS,
    SIGHTS,
    STOPS,
    TO_REACH,
    TOWARDS,
    TOWN,
)
from hexapla.phrasebook.things import BELONGINGS, GOODS, ROOMS, STAFF
from hexapla.phrasebook.times import DAYS_TO_COME, HABITS, HOURS, NOW, ON_DAYS, TENS, WHAT_TIME, WHEN, euros
from hexapla.phrasebook.travel import HOW_MUCH, WHERE
from hexapla.phrasebook.verbs import BE, BE_FAR, BECOME, CAN, CLOSE_UP, EXIST, LIKE, OPEN_UP, TURN_LEFT, TURN_RIGHT, VERBS, WOULD_LIKE
from hexapla.phrasebook.words import Words

SEEN = [*(BUILDINGS[en] for en in ("castle", "church", "museum", "theatre")), OUTDOORS["beach"], OUTDOORS["park"]]
VISITED = [*(BUILDINGS[en] for en in ("restaurant", "café", "hotel", "cinema", "supermarket")), OUTDOORS["market"]]
HOW = Words("how", "wie", "怎么", asked=True)
HOW_FAR = Words("how far", "wie weit", "多远", asked=True)
PER_NIGHT = Words("per night", "pro Nacht", "每晚")


def location(d: Draw) -> Clause:
    """The bank is opposite the station."""
    here, there = d.one(TOWN), d.one(TOWN)
    while there is here:
        there = d.one(TOWN)
    return Clause(the(here), BE, place=At(d.one(BESIDE), the(there)))


def whereabouts(d: Draw) -> Clause:
    """Where is the nearest pharmacy: to be asked."""
    place = d.one((*TOWN, *TOWN, RECEPTION))
    return Clause(the(place, QUALITIES["nearest"] if place is not RECEPTION and d.chance(0.5) else None), BE, place=WHERE)


def nearby(d: Draw) -> Clause:
    """There is a pharmacy near the hotel."""
    place, adjective = d.one((*TOWN, *BUILDINGS.values())), d.maybe(0.35, (QUALITIES["good"], ROOMY["cheap"], ROOMY["big"]))
    near = At(d.one((NEAR, NEAR, *BESIDE)), the(d.one((BUILDINGS["hotel"], *STOPS.values(), *SIGHTS))))
    return Clause(Person.THERE, EXIST, Phrase(place, Determiner.ANY, adjective=adjective), place=near)


def way(d: Draw) -> Clause:
    """How we get to the station: to be asked."""
    return Clause(d.one(US_OR_ME), VERBS["get"], goal=At(TO_REACH, the(d.one(TOWN))), manner=HOW)


def distance(d: Draw) -> Clause:
    start, end = d.one(TOWN), d.one((*TOWN, *STOPS.values()))
    span = At(FROM, the(start), At(TOWARDS, the(end)))
    return Clause(Person.IT, BE_FAR, HOW_FAR, place=span)


def directions(d: Draw) -> Sentence:
    match d.number(1, 7):
        case 1:
            return Question(whereabouts(d))
        case 2:
            return Statement(location(d))
        case 3:
            return Question(nearby(d))
        case 4:
            return Question(way(d))
        case 5:
            return Question(distance(d))
        case 6:
            corner = At(d.one(BESIDE[:4]), the(d.one(TOWN))) if d.chance(0.6) else inside(d.one(ROADS))
            return Request(Clause(Person.YOU, d.one((TURN_LEFT, TURN_RIGHT)), place=corner))
        case _:
            end = At(AS_FAR_AS, the(d.one((*ROADS.values(), *TOWN))))
            return Request(Clause(Person.YOU, VERBS["walk"], goal=end))


def opening(d: Draw) -> Clause:
    """The museum opens at nine o'clock on Monday."""
    place = d.one((*SIGHTS, *(BUILDINGS[en] for en in ("bank", "pharmacy", "supermarket", "restaurant", "café")), OUTDOORS["market"]))
    days = d.maybe(0.75, [*ON_DAYS, *HABITS, *DAYS_TO_COME[:1]])
    return Clause(the(place), d.one((OPEN_UP, CLOSE_UP)), time=d.when([days], 0.8) if days else d.one(HOURS))


def closed(d: Draw) -> Clause:
    return is_(opening(d).subject, STATES["closed"], time=d.one((*ON_DAYS, *NOW)))


def hours(d: Draw) -> Sentence:
    match d.number(1, 3):
        case 1:
            return Question(replace(opening(d), time=d.one((WHEN, WHAT_TIME))))
        case 2:
            return Statement(closed(d))
        case _:
            return Statement(replace(opening(d), fronted=d.chance(0.3)))


def price(d: Draw) -> Clause:
    """The double room costs ninety euros per night."""
    if d.chance(0.5):
        room = Phrase(d.one(ROOMS), d.one((Determiner.THE, Determiner.THIS, Determiner.A)))
        return Clause(room, VERBS["cost"], euros(d.one(TENS)), manner=PER_NIGHT)
    return Clause(Phrase(d.one(GOODS), Determiner.THIS), VERBS["cost"], euros(d.one(TENS)))


def prices(d: Draw) -> Sentence:
    clause = price(d)
    return Question(replace(clause, object=HOW_MUCH)) if d.chance(0.5) else Statement(clause)


def shopping(d: Draw) -> Sentence:
    """Buying, asking where to buy, liking."""
    person = d.one(US_OR_ME)
    thing = d.one(GOODS)
    adjective = d.maybe(0.4, (ROOMY["big"], ROOMY["small"], ROOMY["cheap"], ROOMY["beautiful"], QUALITIES["good"]))
    match d.number(1, 4):
        case 1:
            return Question(Clause(person, VERBS["buy"], a(thing, adjective), place=WHERE, modal=CAN))
        case 2:
            return Statement(Clause(person, VERBS["buy"], some_of(d, thing, adjective), modal=WOULD_LIKE))
        case 3:
            return Statement(Clause(person, VERBS["need"], some_of(d, thing, adjective)))
        case _:
            what = Phrase(d.one({**BELONGINGS, **ROOMS, **BUILDINGS}), Determiner.THIS)
            return Question(Clause(Person.YOU, LIKE, what)) if d.chance(0.4) else Statement(liking(d))


def liking(d: Draw) -> Clause:
    """I like this hotel: mir gefällt es."""
    what = Phrase(d.one({**BELONGINGS, **ROOMS, **BUILDINGS, **OUTDOORS}), Determiner.THIS)
    return Clause(d.one((*US_OR_ME, Person.HE)), LIKE, what, negated=d.chance(0.3))


def opinion(d: Draw) -> Clause:
    """The guide is friendly, this museum is famous, the castle is bigger than the church."""
    if d.chance(0.2):
        return is_(the(d.one(STAFF)), Quality(QUALITIES["friendly"], d.one(("", "very"))))
    places, adjectives = d.one(((SEEN, ("famous", "big", "beautiful")), (VISITED, ("expensive", "cheap", "good", "quiet"))))
    adjective = {**ROOMY, **QUALITIES}[d.one(adjectives)]
    first, second = d.one(places), d.one(places)
    if d.chance(0.5) and first is not second:
        return is_(the(first), Quality(adjective, "", the(second)))
    return is_(Phrase(first, d.one((Determiner.THE, Determiner.THIS))), Quality(adjective, d.one(("", "very"))))


def opinions(d: Draw) -> Sentence:
    clause = opinion(d)
    return Statement(clause)


def falling(d: Draw) -> Clause:
    """It rains, it snows; the day still open."""
    return Clause(Person.IT, VERBS[d.one(("rain", "snow"))])


def forecast(d: Draw) -> Clause:
    """It will rain tomorrow; it will be very cold."""
    time = d.one([*DAYS_TO_COME, *ON_DAYS])
    if d.chance(0.4):
        return replace(falling(d), time=time, tense=Tense.FUTURE)
    quality = Quality(d.one(WEATHER), d.one(("", "very")))
    return Clause(Person.IT, BECOME, quality=quality, time=time, tense=Tense.FUTURE)


def weather(d: Draw) -> Sentence:
    if d.chance(0.3):
        return Statement(is_(Person.IT, Quality(d.one(WEATHER), d.one(("", "very", "too"))), time=d.one(NOW)))
    return Statement(forecast(d))


SCENES = {directions: 11, hours: 6, prices: 2, shopping: 7, opinions: 3, weather: 1}
