"""At the doctor's and at the pharmacy."""

from dataclasses import replace

from hexapla.phrasebook.adjectives import AILMENTS, FEELINGS, STATES
from hexapla.phrasebook.draw import US_OR_ME, Draw, a, is_, relative, the
from hexapla.phrasebook.meaning import At, Clause, Determiner, Named, Person, Phrase, Quality, Question, Request, Sentence, Statement, Tense
from hexapla.phrasebook.places import BUILDINGS, TO
from hexapla.phrasebook.things import FAMILY, MEDICINE, STAFF
from hexapla.phrasebook.times import BEFORE_MEALS, GONE_DAYS, HABITS, NOW, at
from hexapla.phrasebook.verbs import MUST, SUFFER, SWALLOW, VERBS
from hexapla.phrasebook.words import Words

WHO_FALL_ILL = (Person.I, Person.HE, Person.SHE)
REMEDIES = [Words(f"something for {ailment.en}", f"etwas gegen {ailment.de}", f"治{ailment.zh}的药") for ailment in AILMENTS.values()]


def patient(d: Draw) -> Named:
    return d.one((*WHO_FALL_ILL, relative(d)))


def ailment(d: Draw) -> Clause:
    """My son has a headache; she is ill."""
    who = patient(d)
    if d.chance(0.2):
        return is_(who, STATES["ill"])
    return Clause(who, SUFFER, d.one(AILMENTS))


def feeling(d: Draw) -> Clause:
    """We are very tired."""
    return is_(d.one((Person.WE, patient(d))), Quality(d.one(FEELINGS), d.one(("", "very"))))


def doctor(d: Draw) -> Sentence:
    """Needing a doctor, going to hospital, taking medicine."""
    person = d.one(US_OR_ME)
    match d.number(1, 6):
        case 1:
            return Statement(
                Clause(person, VERBS["need"], d.one((a(STAFF["doctor"]), d.one(REMEDIES), d.one(REMEDIES))), time=d.maybe(0.3, NOW))
            )
        case 2:
            clause = Clause(Person.YOU, VERBS[d.one(("give", "recommend"))], d.one(REMEDIES), person)
            return Request(clause, could=d.chance(0.7))
        case 3:
            goal = At(TO, the(d.one((BUILDINGS["hospital"], BUILDINGS["pharmacy"]))))
            return Statement(Clause(patient(d), VERBS["go"], goal=goal, modal=MUST, time=d.maybe(0.6, NOW)))
        case 4:
            time = at(d.one(HABITS[:1]), d.one(BEFORE_MEALS))
            return Request(Clause(Person.YOU, SWALLOW, Phrase(MEDICINE, Determiner.THIS), time=time))
        case 5:
            clause = Clause(patient(d), SWALLOW, Phrase(MEDICINE, Determiner.THIS), time=d.one((*BEFORE_MEALS, *HABITS[:3])))
            return Statement(replace(clause, modal=MUST))
        case _:
            bought = Clause(person, VERBS["buy"], d.one(REMEDIES), tense=Tense.PAST, time=d.one(GONE_DAYS), fronted=d.chance(0.4))
            return Statement(bought)


def being_ill(d: Draw) -> Sentence:
    clause = d.one((ailment, ailment, feeling))(d)
    if d.chance(0.3):
        return Statement(replace(clause, time=d.one(NOW), fronted=d.chance(0.4)))
    return Statement(clause)


def asking(d: Draw) -> Sentence:
    """Do you have a fever?"""
    if d.chance(0.5):
        return Question(Clause(d.one((Person.YOU, Phrase(d.one(FAMILY), Determiner.YOUR))), SUFFER, d.one(AILMENTS)))
    return Question(Clause(Person.YOU, VERBS["have"], d.one(REMEDIES)))


SCENES = {doctor: 5, being_ill: 4, asking: 0.5}
