"""At table: reserving, ordering, tasting, paying."""

from dataclasses import replace

from hexapla.phrasebook.adjectives import ALLERGIES, TASTES
from hexapla.phrasebook.draw import ANYONE, US_OR_ME, Draw, a, is_, several, some_of, the
from hexapla.phrasebook.meaning import (
    Both,
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
from hexapla.phrasebook.things import DISHES, DRINKS, FAMILY, FOODS, FURNITURE, HELPINGS, MEALS, PAPERS, SERVED_IN, STAFF, TABLEWARE
from hexapla.phrasebook.times import DAYS_TO_COME, HABITS, MEAL_HOURS, NEXT_DAYS, WHAT_TIME, WHEN, people
from hexapla.phrasebook.verbs import BE, CAN, MUST, PAY_UP, VERBS, WOULD_LIKE
from hexapla.phrasebook.words import Adjective, Noun, Words

PAYING = [Words("by card", "mit Karte", "用信用卡"), Words("in cash", "bar", "用现金")]
DRUNK = list(DRINKS.values())
TASTED = [
    *((DISHES[en], ("hot", "cold", "spicy", "salty")) for en in ("soup", "pizza", "steak", "sausage")),
    *((FOODS[en], ("fresh", "cold", "spicy", "salty")) for en in ("meat", "fish", "rice")),
    *((DRINKS[en], ("hot", "cold", "sweet")) for en in ("coffee", "tea", "milk")),
    *((DRINKS[en], ("cold", "sweet")) for en in ("orange juice", "red wine", "white wine")),
    *((food, ("fresh", "salty")) for food in (DISHES["salad"], DISHES["sandwich"], FOODS["bread"], FOODS["cheese"])),
    (FOODS["cake"], ("fresh", "sweet")),
]


def helping(d: Draw, noun: Noun) -> Phrase:
    """a cup of coffee, two bottles of water, a steak"""
    if noun.en not in SERVED_IN:
        return some_of(d, noun)
    return replace(some_of(d, HELPINGS[SERVED_IN[noun.en]]), helping_of=noun)


def wanted(d: Draw) -> Phrase | Both:
    first = helping(d, d.one((*DISHES.values(), *DRINKS.values(), FOODS["cake"], FOODS["cheese"], FOODS["bread"])))
    if first.determiner is Determiner.ANOTHER or d.chance(0.6):
        return first
    second = helping(d, d.one(DRUNK))
    return first if second.determiner is Determiner.ANOTHER else Both(first, second)


def ordering(d: Draw) -> Sentence:
    person = d.one(US_OR_ME)
    match d.number(1, 4):
        case 1 | 2:
            return Statement(Clause(person, VERBS["order"], wanted(d), modal=WOULD_LIKE))
        case 3:
            clause = Clause(Person.YOU, VERBS["bring"], d.one((wanted(d), some_of(d, d.one(TABLEWARE)))), person)
            return Request(clause, could=d.chance(0.6))
        case _:
            clause = Clause(Person.YOU, VERBS[d.one(("give", "bring", "show"))], the(d.one(PAPERS)), person)
            return Request(clause, could=d.chance(0.6))


def mistaken(d: Draw) -> Sentence:
    """We have ordered a soup, but the waiter has brought us a salad."""
    person = d.one(US_OR_ME)
    ordered, brought = a(d.one(DISHES)), d.one((a(d.one(DISHES)), several(d.number(2, 4), d.one(DISHES))))
    served = Clause(the(STAFF["waiter"]), VERBS["bring"], brought, person, tense=Tense.PAST)
    return Joined(Link.BUT, Statement(Clause(person, VERBS["order"], ordered, tense=Tense.PAST)), served)


def consuming(d: Draw) -> Clause:
    """Someone eats or drinks something, as a habit or as a wish."""
    food = d.one({**FOODS, **DRINKS})
    verb = VERBS["drink" if food.en in DRINKS else "eat"]
    return Clause(d.one((*ANYONE, Phrase(d.one(FAMILY), Determiner.MY))), verb, Phrase(food, Determiner.NONE))


def diet(d: Draw) -> Sentence:
    clause = consuming(d)
    match d.number(1, 5):
        case 1:
            who = d.one((Person.I, Person.WE, Person.HE, Person.SHE, Phrase(d.one(FAMILY), Determiner.MY)))
            return Statement(Clause(who, BE, quality=d.one(ALLERGIES)))
        case 2:
            return Statement(replace(clause, time=d.one(HABITS[:3]), fronted=d.chance(0.4)))
        case 3:
            return Statement(replace(clause, negated=True))
        case 4:
            return Question(replace(clause, subject=Person.YOU, modal=WOULD_LIKE))
        case _:
            return Statement(replace(clause, modal=WOULD_LIKE))


def tasting(d: Draw) -> tuple[Phrase, Adjective]:
    """The soup, salty."""
    food, tastes = d.one(TASTED)
    return Phrase(food, d.one((Determiner.THE, Determiner.THIS))), TASTES[d.one(tastes)]


def taste(d: Draw) -> Clause:
    food, adjective = tasting(d)
    degree = "very" if adjective.en == "fresh" else d.one(("", "very", "too"))
    return is_(food, Quality(adjective, degree))


def tasted(d: Draw) -> Sentence:
    if d.chance(0.3):
        food, adjective = tasting(d)
        return Question(is_(food, Quality(adjective)))
    return Statement(taste(d))


def table(d: Draw) -> Sentence:
    """A table for four people, tomorrow evening at half past seven."""
    what = Phrase(FURNITURE["table"], Determiner.A, attached=people(d.number(2, 8)) if d.chance(0.8) else None)
    clause = Clause(d.one(US_OR_ME), VERBS["reserve"], what)
    time = d.when([*DAYS_TO_COME, *NEXT_DAYS], 0.6)
    if d.chance(0.6):
        return Statement(replace(clause, modal=WOULD_LIKE, time=d.one((time, None))))
    return Question(replace(clause, modal=CAN, time=d.one((time, None))))


def paying(d: Draw) -> Sentence:
    person = d.one(US_OR_ME)
    manner = d.one(PAYING)
    match d.number(1, 3):
        case 1:
            return Question(Clause(person, PAY_UP, manner=manner, modal=CAN))
        case 2:
            return Statement(Clause(person, VERBS["pay"], Phrase(PAPERS["bill"], Determiner.THE), manner=manner, modal=WOULD_LIKE))
        case _:
            return Statement(Clause(person, PAY_UP, manner=manner, modal=MUST))


def meal(d: Draw) -> Clause:
    """Breakfast begins at seven."""
    eaten = d.one(MEALS)
    return Clause(Phrase(eaten, Determiner.WHOLE), VERBS["begin"], time=d.one(MEAL_HOURS[eaten.en]))


def serving(d: Draw) -> Sentence:
    return Statement(meal(d)) if d.chance(0.7) else Question(replace(meal(d), time=d.one((WHEN, WHAT_TIME))))


SCENES = {ordering: 9, mistaken: 2, diet: 5, tasted: 3, table: 6, paying: 0.5, serving: 1}
