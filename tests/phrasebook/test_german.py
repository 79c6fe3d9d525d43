"""German against paradigms typed from a grammar book: articles, adjectives, verbs, the place of the verb."""

from dataclasses import replace

import pytest
from lexicon import ADJECTIVES, NOUNS

from hexapla.phrasebook import german
from hexapla.phrasebook.adjectives import ROOMY, TASTES, WEATHER
from hexapla.phrasebook.draw import inside, is_, several, the
from hexapla.phrasebook.meaning import At, Clause, Determiner, Joined, Link, Person, Phrase, Quality, Question, Request, Statement, Tense
from hexapla.phrasebook.places import BUILDINGS, CITIES, FROM, NEAR, NEXT_TO, OUTDOORS, PLACES, STOPS, TO, TO_CITY
from hexapla.phrasebook.times import DAYS_TO_COME, PAST_DAYS, WHEN, clock
from hexapla.phrasebook.travel import BY
from hexapla.phrasebook.verbs import CAN, EXIST, LIKE, MUST, SET_OFF, VERBS, WOULD_LIKE
from hexapla.phrasebook.words import Case

CASES = (Case.NOMINATIVE, Case.ACCUSATIVE, Case.DATIVE, Case.GENITIVE)
TOMORROW, YESTERDAY = DAYS_TO_COME[0], PAST_DAYS[0]
WE, YOU = Person.WE, Person.YOU

PARADIGMS = {
    Determiner.THE: """
        der alte Koffer   | die alte Tasche  | das alte Handy   | die alten Koffer
        den alten Koffer  | die alte Tasche  | das alte Handy   | die alten Koffer
        dem alten Koffer  | der alten Tasche | dem alten Handy  | den alten Koffern
        des alten Koffers | der alten Tasche | des alten Handys | der alten Koffer
    """,
    Determiner.THIS: """
        dieser alte Koffer   | diese alte Tasche   | dieses alte Handy   | diese alten Koffer
        diesen alten Koffer  | diese alte Tasche   | dieses alte Handy   | diese alten Koffer
        diesem alten Koffer  | dieser alten Tasche | diesem alten Handy  | diesen alten Koffern
        dieses alten Koffers | dieser alten Tasche | dieses alten Handys | dieser alten Koffer
    """,
    Determiner.MY: """
        mein alter Koffer    | meine alte Tasche   | mein altes Handy    | meine alten Koffer
        meinen alten Koffer  | meine alte Tasche   | mein altes Handy    | meine alten Koffer
        meinem alten Koffer  | meiner alten Tasche | meinem alten Handy  | meinen alten Koffern
        meines alten Koffers | meiner alten Tasche | meines alten Handys | meiner alten Koffer
    """,
    Determiner.OUR: """
        unser alter Koffer    | unsere alte Tasche   | unser altes Handy    | unsere alten Koffer
        unseren alten Koffer  | unsere alte Tasche   | unser altes Handy    | unsere alten Koffer
        unserem alten Koffer  | unserer alten Tasche | unserem alten Handy  | unseren alten Koffern
        unseres alten Koffers | unserer alten Tasche | unseres alten Handys | unserer alten Koffer
    """,
    Determiner.YOUR: """
        Ihr alter Koffer    | Ihre alte Tasche   | Ihr altes Handy    | Ihre alten Koffer
        Ihren alten Koffer  | Ihre alte Tasche   | Ihr altes Handy    | Ihre alten Koffer
        Ihrem alten Koffer  | Ihrer alten Tasche | Ihrem alten Handy  | Ihren alten Koffern
        Ihres alten Koffers | Ihrer alten Tasche | Ihres alten Handys | Ihrer alten Koffer
    """,
    Determiner.A: """
        ein alter Koffer    | eine alte Tasche   | ein altes Handy
        einen alten Koffer  | eine alte Tasche   | ein altes Handy
        einem alten Koffer  | einer alten Tasche | einem alten Handy
        eines alten Koffers | einer alten Tasche | eines alten Handys
    """,
    Determiner.ANOTHER: """
        noch ein alter Koffer    | noch eine alte Tasche   | noch ein altes Handy
        noch einen alten Koffer  | noch eine alte Tasche   | noch ein altes Handy
        noch einem alten Koffer  | noch einer alten Tasche | noch einem alten Handy
        noch eines alten Koffers | noch einer alten Tasche | noch eines alten Handys
    """,
    Determiner.WHICH: """
        welcher alte Koffer   | welche alte Tasche   | welches alte Handy   | welche alten Koffer
        welchen alten Koffer  | welche alte Tasche   | welches alte Handy   | welche alten Koffer
        welchem alten Koffer  | welcher alten Tasche | welchem alten Handy  | welchen alten Koffern
        welches alten Koffers | welcher alten Tasche | welches alten Handys | welcher alten Koffer
    """,
}
COLUMNS = (("suitcase", 1), ("bag", 1), ("mobile phone", 1), ("suitcase", 2))


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


@pytest.mark.parametrize("determiner", PARADIGMS, ids=lambda determiner: determiner.name)
def test_determiners_and_adjectives_agree_in_case_gender_and_number(determiner):
    for case, row in zip(CASES, rows(PARADIGMS[determiner]), strict=True):
        for (noun, number), expected in zip(COLUMNS, row, strict=False):
            assert german.phrase(Phrase(NOUNS[noun], determiner, number, adjective=ADJECTIVES["old"]), case) == expected


def test_without_a_determiner_the_adjective_shows_the_case():
    expected = """
        kalter Kaffee  | kalte Milch  | kaltes Wasser   | zwei kalte Eier
        kalten Kaffee  | kalte Milch  | kaltes Wasser   | zwei kalte Eier
        kaltem Kaffee  | kalter Milch | kaltem Wasser   | zwei kalten Eiern
        kalten Kaffees | kalter Milch | kalten Wassers  | zwei kalter Eier
    """
    cold = TASTES["cold"]
    phrases = [Phrase(NOUNS[en], Determiner.NONE, adjective=cold) for en in ("coffee", "milk", "water")]
    phrases.append(several(2, NOUNS["egg"], cold))
    for case, row in zip(CASES, rows(expected), strict=True):
        assert [german.phrase(phrase, case) for phrase in phrases] == row


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("suitcase", "kein großer Koffer|keinen großen Koffer|keinem großen Koffer"),
        ("bag", "keine große Tasche|keine große Tasche|keiner großen Tasche"),
        ("towel", "kein großes Handtuch|kein großes Handtuch|keinem großen Handtuch"),
    ],
)
def test_an_indefinite_noun_is_denied_by_kein(noun, expected):
    phrase = Phrase(NOUNS[noun], Determiner.ANY, adjective=ROOMY["big"])
    assert [german.phrase(phrase, case, negated=True) for case in CASES[:3]] == expected.split("|")


@pytest.mark.parametrize(
    ("adjective", "more", "expected"),
    [
        (ROOMY["expensive"], False, "ein teures Zimmer"),
        (ROOMY["expensive"], True, "ein teureres Zimmer"),
        (ADJECTIVES["dark"], False, "ein dunkles Zimmer"),
        (ROOMY["big"], True, "ein größeres Zimmer"),
        (WEATHER["warm"], True, "ein wärmeres Zimmer"),
    ],
)
def test_adjectives_keep_their_stems(adjective, more, expected):
    assert german.phrase(Phrase(NOUNS["room"], Determiner.A, adjective=adjective, more=more), Case.NOMINATIVE) == expected


@pytest.mark.parametrize(
    ("noun", "number", "case", "expected"),
    [
        ("towel", 3, Case.DATIVE, "Handtüchern"),
        ("suitcase", 3, Case.DATIVE, "Koffern"),
        ("mobile phone", 3, Case.DATIVE, "Handys"),
        ("bag", 3, Case.DATIVE, "Taschen"),
        ("castle", 1, Case.GENITIVE, "Schlosses"),
        ("station", 1, Case.GENITIVE, "Bahnhofs"),
        ("church", 1, Case.GENITIVE, "Kirche"),
    ],
)
def test_nouns_end_as_their_case_asks(noun, number, case, expected):
    assert german.inflected({**NOUNS, **PLACES}[noun], case, plural=number > 1) == expected


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (inside(BUILDINGS["hotel"]), "im Hotel"),
        (inside(BUILDINGS["pharmacy"]), "in der Apotheke"),
        (inside(STOPS["station"]), "am Bahnhof"),
        (inside(OUTDOORS["market"]), "auf dem Markt"),
        (inside(PLACES["bus"]), "im Bus"),
        (inside(PLACES["room"], Determiner.OUR), "in unserem Zimmer"),
        (At(TO, the(BUILDINGS["museum"])), "ins Museum"),
        (At(TO, the(OUTDOORS["park"])), "in den Park"),
        (At(TO, the(OUTDOORS["beach"])), "an den Strand"),
        (At(TO, the(STOPS["bus stop"])), "zur Bushaltestelle"),
        (At(TO, the(STOPS["airport"])), "zum Flughafen"),
        (At(FROM, the(STOPS["airport"])), "vom Flughafen"),
        (At(FROM, the(BUILDINGS["church"])), "von der Kirche"),
        (At(NEXT_TO, the(BUILDINGS["bank"])), "neben der Bank"),
        (At(NEAR, the(BUILDINGS["castle"])), "in der Nähe des Schlosses"),
        (At(TO_CITY, CITIES["Vienna"]), "nach Wien"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_prepositions_govern_their_case_and_contract(place, expected):
    assert german.adverbial(place) == expected


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("take", "nehme nimmt nehmen"),
        ("know", "weiß weiß wissen"),
        ("travel", "fahre fährt fahren"),
        ("give", "gebe gibt geben"),
        ("have", "habe hat haben"),
        ("wait", "warte wartet warten"),
        ("open", "öffne öffnet öffnen"),
        ("help", "helfe hilft helfen"),
    ],
)
def test_verbs_agree_with_their_subject(verb, forms):
    assert [german.present(VERBS[verb], who) for who in (Person.I, Person.HE, Person.WE)] == forms.split()
    assert german.present(VERBS[verb], YOU) == forms.split()[2]


LEAVING = Clause(WE, VERBS["leave"], time=TOMORROW, tense=Tense.FUTURE)
TRAIN = Phrase(NOUNS["train"], attached=At(TO_CITY, CITIES["Munich"]))
BOOKED = Clause(WE, VERBS["book"], Phrase(NOUNS["double room"], Determiner.A), tense=Tense.PAST, time=YESTERDAY)
BOOKED_ROOM = Phrase(NOUNS["room"], relative=Clause(WE, VERBS["book"], tense=Tense.PAST, time=YESTERDAY))
BOUGHT_SUITCASE = Phrase(NOUNS["suitcase"], relative=Clause(Person.I, VERBS["buy"], tense=Tense.PAST))
TABLE = Statement(Clause(Person.I, VERBS["reserve"], Phrase(NOUNS["table"], Determiner.A), modal=WOULD_LIKE))
TAXI = Statement(Clause(WE, VERBS["take"], Phrase(NOUNS["taxi"], Determiner.A), tense=Tense.FUTURE))
RAIN = Clause(Person.IT, VERBS["rain"], time=TOMORROW)
NOT_VISITING = Clause(WE, VERBS["visit"], the(BUILDINGS["museum"]), time=TOMORROW, tense=Tense.FUTURE, negated=True)
NO_TOWEL = Clause(Person.THERE, EXIST, Phrase(NOUNS["towel"], Determiner.ANY), place=inside(PLACES["bathroom"]), negated=True)
CHEAPER = is_(the(NOUNS["train"]), Quality(ROOMY["cheap"], "", the(NOUNS["ferry"])))
TO_BERLIN = Clause(WE, VERBS["travel"], goal=At(TO_CITY, CITIES["Berlin"]), manner=BY[0], time=TOMORROW, tense=Tense.FUTURE)
WHEN_IT_LEAVES = Clause(TRAIN, SET_OFF, time=WHEN)
LEAVES_AT_HALF_PAST = Clause(TRAIN, SET_OFF, time=clock(7, "half"))


@pytest.mark.parametrize(
    ("meaning", "expected"),
    [
        (Statement(LEAVING), "Wir reisen morgen ab."),
        (Statement(replace(LEAVING, fronted=True)), "Morgen reisen wir ab."),
        (Statement(Clause(WE, VERBS["leave"], modal=MUST, time=TOMORROW)), "Wir müssen morgen abreisen."),
        (Question(Clause(Person.I, VERBS["leave"], modal=CAN, time=TOMORROW)), "Kann ich morgen abreisen?"),
        (Statement(Clause(WE, VERBS["leave"], tense=Tense.PAST, time=YESTERDAY)), "Wir sind gestern abgereist."),
        (Joined(Link.BECAUSE, TABLE, LEAVING), "Ich möchte einen Tisch reservieren, weil wir morgen abreisen."),
        (Statement(BOOKED), "Wir haben gestern ein Doppelzimmer gebucht."),
        (
            Joined(Link.ALTHOUGH, TABLE, BOOKED),
            "Ich möchte einen Tisch reservieren, obwohl wir gestern ein Doppelzimmer gebucht haben.",
        ),
        (Joined(Link.IF, TAXI, RAIN), "Wenn es morgen regnet, nehmen wir ein Taxi."),
        (Joined(Link.BUT, TABLE, NO_TOWEL), "Ich möchte einen Tisch reservieren, aber im Bad gibt es kein Handtuch."),
        (Question(WHEN_IT_LEAVES), "Wann fährt der Zug nach München ab?"),
        (Question(Clause(YOU, VERBS["know"], content=WHEN_IT_LEAVES)), "Wissen Sie, wann der Zug nach München abfährt?"),
        (
            Question(Clause(YOU, VERBS["know"], content=LEAVES_AT_HALF_PAST, whether=True)),
            "Wissen Sie, ob der Zug nach München um halb acht abfährt?",
        ),
        (Statement(Clause(Person.HE, VERBS["say"], content=CHEAPER)), "Er sagt, dass der Zug billiger ist als die Fähre."),
        (Statement(TO_BERLIN), "Wir fahren morgen mit dem Zug nach Berlin."),
        (Statement(NOT_VISITING), "Wir besuchen das Museum morgen nicht."),
        (Statement(NO_TOWEL), "Im Bad gibt es kein Handtuch."),
        (Joined(Link.BECAUSE, TABLE, NO_TOWEL), "Ich möchte einen Tisch reservieren, weil es im Bad kein Handtuch gibt."),
        (Request(Clause(YOU, VERBS["pick"], WE, place=inside(STOPS["station"]))), "Bitte holen Sie uns am Bahnhof ab."),
        (Request(Clause(YOU, VERBS["help"], Person.I), could=True), "Könnten Sie mir bitte helfen?"),
        (Statement(Clause(Person.I, LIKE, Phrase(BUILDINGS["hotel"], Determiner.THIS))), "Dieses Hotel gefällt mir."),
        (Question(Clause(YOU, LIKE, Phrase(BUILDINGS["hotel"], Determiner.THIS))), "Gefällt Ihnen dieses Hotel?"),
        (Statement(is_(BOOKED_ROOM, Quality(ROOMY["small"], "too"))), "Das Zimmer, das wir gestern gebucht haben, ist zu klein."),
        (Statement(Clause(WE, VERBS["look"], BOUGHT_SUITCASE)), "Wir suchen den Koffer, den ich gekauft habe."),
        (Statement(Clause(WE, VERBS["wait"], the(NOUNS["bus"]))), "Wir warten auf den Bus."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_verb_stands_where_german_wants_it(meaning, expected):
    assert german.sentence(meaning) == expected
