"""On the way: trains and flights, tickets, taxis, delays."""

from dataclasses import replace

from hexapla.phrasebook.adjectives import COLOURS, QUALITIES, ROOMY, STATES
from hexapla.phrasebook.draw import US_OR_ME, Draw, a, inside, is_, several, the
from hexapla.phrasebook.meaning import At, Clause, Determiner, Person, Phrase, Quality, Question, Request, Sentence, Statement, Tense
from hexapla.phrasebook.places import BUILDINGS, CITIES, FROM_CITY, OUTDOORS, PORTS, SIGHTS, STOPS, TICKET_FOR, TO, TO_CITY, TOGETHER_WITH
from hexapla.phrasebook.things import FAMILY, FLIGHT, RENTALS, TAXI, TICKETS, VEHICLES
from hexapla.phrasebook.times import DAYS_TO_COME, FUTURE_DAYS, GONE_DAYS, HABITS, HOURS, ON_DAYS, TENS, WHAT_TIME, WHEN, euros, labelled
from hexapla.phrasebook.verbs import BE_LATE, CAN, MUST, SET_OFF, TAKE_OFF, VERBS, WOULD_LIKE
from hexapla.phrasebook.words import Words

BY = [
    Words("by train", "mit dem Zug", "坐火车"),
    Words("by bus", "mit dem Bus", "坐公共汽车"),
    Words("by car", "mit dem Auto", "开车"),
]
BUS_GOALS = [STOPS[en] for en in ("station", "airport", "harbour")]
TRAVELLERS = (Person.I, Person.WE, Person.WE, Person.HE, Person.SHE)
GOALS = [*STOPS.values(), *BUILDINGS.values(), *OUTDOORS.values()]


def to_city(d: Draw) -> At:
    return At(TO_CITY, d.one(CITIES))


def line(d: Draw, determiner: Determiner = Determiner.THE) -> Phrase:
    """the train to Berlin, the bus to the airport, the flight from Vienna"""
    match d.number(1, 5):
        case 1:
            return Phrase(VEHICLES["bus"], determiner, attached=At(TO, the(d.one(BUS_GOALS))))
        case 2:
            return Phrase(FLIGHT, determiner, attached=At(d.one((TO_CITY, FROM_CITY)), d.one(CITIES)))
        case 3:
            return Phrase(VEHICLES["ferry"], determiner, attached=At(TO_CITY, d.one(PORTS)))
        case _:
            return Phrase(d.one((VEHICLES["train"], VEHICLES["bus"])), determiner, attached=to_city(d))


def which_line(d: Draw) -> Clause:
    """Which bus runs to the airport: to be asked."""
    ridden = line(d, Determiner.WHICH)
    while ridden.noun is FLIGHT:
        ridden = line(d, Determiner.WHICH)
    goal = ridden.attached if isinstance(ridden.attached, At) else None
    return Clause(replace(ridden, attached=None), VERBS["run"], goal=goal)


def platform(n: int) -> Words:
    name = labelled(n)
    return Words(f"from platform {name.en}", f"von Gleis {name.de}", f"从{name.zh}号站台")


LATE = Words("late", "Verspätung", "晚点了")
HOW_MUCH = Words("how much", "wie viel", "多少钱", asked=True)
WHERE = Words("where", "wo", "在哪里", asked=True)
WHICH_PLATFORM = Words("from which platform", "von welchem Gleis", "从几号站台", asked=True)


def timetable(d: Draw) -> Clause:
    """The train to Berlin leaves at half past seven."""
    ridden = line(d)
    verb = d.one((SET_OFF if ridden.noun is not FLIGHT else TAKE_OFF, VERBS["arrive"]))
    days = d.maybe(0.4, [*DAYS_TO_COME, *ON_DAYS, *HABITS[:3]])
    return Clause(ridden, verb, time=d.when([days], 0.7) if days else d.one(HOURS))


def leaving_train(d: Draw) -> Clause:
    return Clause(Phrase(VEHICLES["train"], attached=to_city(d)), SET_OFF)


def departing(d: Draw) -> Sentence:
    match d.number(1, 6):
        case 1:
            return Question(replace(timetable(d), time=d.one((WHEN, WHAT_TIME))))
        case 2:
            return Question(replace(leaving_train(d), place=WHICH_PLATFORM))
        case 3:
            return Statement(replace(leaving_train(d), place=platform(d.number(1, 12)), time=d.maybe(0.6, HOURS)))
        case 4:
            return Question(which_line(d))
        case _:
            return Statement(timetable(d))


def journey(d: Draw) -> Clause:
    """Someone goes to a city by train, with someone; time and tense still open."""
    who = d.one(TRAVELLERS)
    company = At(TOGETHER_WITH, Phrase(d.one(FAMILY), Determiner.MY)) if d.chance(0.2) else None
    if d.chance(0.2):
        return Clause(who, VERBS["fly"], goal=to_city(d), manner=company)
    return Clause(who, VERBS["travel"], goal=to_city(d), manner=company or d.maybe(0.6, BY))


def travelling(d: Draw) -> Sentence:
    clause = journey(d)
    match d.number(1, 4):
        case 1:
            return Statement(replace(clause, modal=d.one((WOULD_LIKE, MUST)), time=d.when(FUTURE_DAYS, 0.2)))
        case 2:
            time = d.one(GONE_DAYS)
            return Statement(replace(clause, tense=Tense.PAST, time=time, fronted=d.chance(0.5)))
        case _:
            return Statement(replace(clause, tense=Tense.FUTURE, time=d.when(FUTURE_DAYS, 0.2), fronted=d.chance(0.4)))


def outing(d: Draw) -> Clause:
    """Someone goes to a place in town; time and tense still open."""
    who = d.one((*TRAVELLERS, Phrase(d.one(FAMILY), Determiner.MY)))
    if d.chance(0.3):
        return Clause(who, VERBS["visit"], the(d.one(SIGHTS[:2])))
    return Clause(who, VERBS["go"], goal=At(TO, the(d.one(GOALS))))


def going(d: Draw) -> Sentence:
    clause = outing(d)
    match d.number(1, 3):
        case 1:
            return Statement(replace(clause, modal=d.one((WOULD_LIKE, MUST)), time=d.one((*FUTURE_DAYS, None))))
        case 2:
            return Statement(replace(clause, tense=Tense.PAST, time=d.one(GONE_DAYS), fronted=d.chance(0.5)))
        case _:
            time = d.one(FUTURE_DAYS)
            return Statement(replace(clause, tense=Tense.FUTURE, time=time, negated=d.chance(0.2), fronted=d.chance(0.4)))


def tickets(d: Draw, n: int) -> Phrase:
    """a train ticket to Vienna, three tickets for the museum"""
    noun, goal = TICKETS["train ticket"], to_city(d)
    if d.chance(0.4):
        noun, goal = TICKETS["ticket"], At(TICKET_FOR, the(d.one(SIGHTS)))
    return replace(several(n, noun) if n > 1 else a(noun), attached=goal)


def buying(d: Draw) -> Sentence:
    person = d.one(US_OR_ME)
    clause = Clause(person, VERBS["buy"], tickets(d, d.number(1, 6)))
    match d.number(1, 6):
        case 1:
            return Question(Clause(tickets(d, d.number(1, 4)), VERBS["cost"], HOW_MUCH))
        case 2:
            return Statement(Clause(tickets(d, d.number(1, 4)), VERBS["cost"], euros(d.one(TENS))))
        case 3:
            return Statement(replace(clause, verb=VERBS["need"], time=d.maybe(0.5, DAYS_TO_COME)))
        case 4:
            time = d.maybe(0.7, GONE_DAYS)
            return Statement(replace(clause, tense=Tense.PAST, time=time, fronted=time is not None and d.chance(0.5)))
        case 5:
            return Question(replace(clause, modal=CAN, place=WHERE))
        case _:
            return Statement(replace(clause, modal=WOULD_LIKE, time=d.maybe(0.2, FUTURE_DAYS[:1])))


def delay(d: Draw) -> Clause:
    return Clause(line(d), BE_LATE, LATE) if d.chance(0.7) else is_(line(d), STATES["fully booked"])


def delayed(d: Draw) -> Sentence:
    return Statement(delay(d))


def renting(d: Draw) -> Sentence:
    vehicle = d.one(RENTALS)
    adjective = d.maybe(0.7, (*COLOURS.values(), ROOMY["small"], ROOMY["big"], QUALITIES["fast"]))
    what = a(vehicle, adjective) if d.chance(0.6) else several(d.number(2, 5), vehicle, adjective)
    clause = Clause(d.one(US_OR_ME), VERBS["rent"], what)
    match d.number(1, 3):
        case 1:
            return Question(replace(clause, modal=CAN, time=d.maybe(0.5, FUTURE_DAYS)))
        case 2:
            return Statement(replace(clause, tense=Tense.PAST, time=d.one(GONE_DAYS), fronted=d.chance(0.5)))
        case _:
            return Statement(replace(clause, modal=WOULD_LIKE, time=d.maybe(0.6, FUTURE_DAYS)))


def collecting(d: Draw) -> Sentence:
    """Picking people up, waiting, needing a taxi."""
    person = d.one(US_OR_ME)
    match d.number(1, 4):
        case 1 | 2:
            clause = Clause(Person.YOU, VERBS["pick"], person, place=inside(d.one(STOPS)), time=d.when(DAYS_TO_COME))
            return Request(clause, could=d.chance(0.7))
        case 3:
            return Statement(Clause(person, VERBS["wait"], d.one((line(d), Phrase(d.one(FAMILY), Determiner.MY)))))
        case _:
            return Statement(Clause(person, VERBS["need"], a(TAXI), time=d.when(DAYS_TO_COME, 0.7)))


def speed(d: Draw) -> Sentence:
    """The train is faster than the car."""
    adjective = d.one((QUALITIES["fast"], QUALITIES["slow"], ROOMY["cheap"], ROOMY["expensive"], ROOMY["comfortable"]))
    return Statement(is_(the(d.one(VEHICLES)), Quality(adjective, "", the(d.one(RENTALS)))))


SCENES = {departing: 9, travelling: 9, going: 8, buying: 8, delayed: 1, renting: 5, collecting: 6, speed: 0.5}
