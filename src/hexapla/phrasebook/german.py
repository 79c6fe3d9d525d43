"""German: case, gender and number; the verb second, first or last; time before manner before place."""

from hexapla.phrasebook.meaning import (
    At,
    Both,
    Clause,
    Determiner,
    Joined,
    Link,
    Named,
    Person,
    Phrase,
    Quality,
    Question,
    Request,
    Sentence,
    Statement,
    Tense,
    Words,
)
from hexapla.phrasebook.times import counted
from hexapla.phrasebook.verbs import COULD
from hexapla.phrasebook.words import Case, Gender, Noun, Verb

# Rows: nominative, accusative, dative, genitive. Columns: masculine, feminine, neuter, plural.
_THE = [row.split() for row in ("der die das die", "den die das die", "dem der dem den", "des der des der")]
_THIS = [row.split() for row in ("er e es e", "en e es e", "em er em en", "es er es er")]
_A = [row.split() for row in ("- e - e", "en e - e", "em er em en", "es er es er")]
# Adjective endings after der-words, after ein-words, and alone.
_WEAK = [row.split() for row in ("e e e en", "en e e en", "en en en en", "en en en en")]
_MIXED = [row.split() for row in ("er e es en", "en e es en", "en en en en", "en en en en")]
_STRONG = [row.split() for row in ("er e es e", "en e es e", "em er em en", "en er en er")]
_COLUMN = {Gender.MASCULINE: 0, Gender.FEMININE: 1, Gender.NEUTER: 2}

_DER_WORDS = (Determiner.THE, Determiner.WHOLE, Determiner.THIS, Determiner.WHICH)
_CONTRACTED = {"in dem": "im", "in das": "ins", "an dem": "am", "an das": "ans", "zu dem": "zum", "zu der": "zur", "von dem": "vom"}

_PERSONS = {
    Person.I: ("ich", "mich", "mir"),
    Person.WE: ("wir", "uns", "uns"),
    Person.YOU: ("Sie", "Sie", "Ihnen"),
    Person.HE: ("er", "ihn", "ihm"),
    Person.SHE: ("sie", "sie", "ihr"),
    Person.IT: ("es", "es", "ihm"),
    Person.THERE: ("es", "es", "ihm"),
    Person.THIS: ("das", "das", "dem"),
}
_PLURAL_PERSONS = (Person.WE, Person.YOU)
_FIRST_PERSON = {"sein": "bin", "haben": "habe", "wissen": "weiß", "werden": "werde"}


def said(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def column(noun: Noun, *, plural: bool) -> int:
    return 3 if plural else _COLUMN[noun.gender]


def determiner(d: Determiner, case: Case, col: int, *, negated: bool = False) -> str:
    """The determiner with its ending; an indefinite one in a negated clause becomes kein."""
    stem = d.value[2]
    if negated and d in (Determiner.ANY, Determiner.NONE):
        stem = "kein"
    if d in (Determiner.THE, Determiner.WHOLE):
        return _THE[case.value][col]
    if d in _DER_WORDS:
        return stem + _THIS[case.value][col]
    return stem + _A[case.value][col].strip("-") if stem else ""


def adjective_ending(d: Determiner, case: Case, col: int, *, negated: bool = False) -> str:
    bare = d is Determiner.NONE and not negated
    table = _WEAK if d in _DER_WORDS else _STRONG if bare else _MIXED
    return table[case.value][col]


def inflected(noun: Noun, case: Case, *, plural: bool) -> str:
    if plural:
        return noun.de_plural + ("n" if case is Case.DATIVE and noun.de_plural[-1] not in "ns" else "")
    if case is Case.GENITIVE and noun.gender is not Gender.FEMININE:
        return noun.de + ("es" if noun.de[-1] in "sßxz" else "s")
    return noun.de


def phrase(p: Phrase, case: Case, *, negated: bool = False) -> str:
    plural = p.number > 1
    col = column(p.noun, plural=plural)
    adjective = ""
    if p.adjective:
        stem = p.adjective.de_more if p.more else p.adjective.de_stem
        adjective = stem + adjective_ending(p.determiner, case, col, negated=negated)
    head = said(adjective, inflected(p.noun, case, plural=plural), p.helping_of.de if p.helping_of else "")
    number = counted(p.number).de if p.counted else ""
    whole = said(determiner(p.determiner, case, col, negated=negated), number, head, adverbial(p.attached))
    if p.relative:
        # the pronoun is the object of its clause
        return f"{whole}, {_THE[Case.ACCUSATIVE.value][col]} {subordinate(p.relative)},"
    return whole


def named(n: Named | None, case: Case, *, negated: bool = False) -> str:
    match n:
        case None:
            return ""
        case Phrase():
            return phrase(n, case, negated=negated)
        case Both(first, second):
            return f"{phrase(first, case)} und {phrase(second, case)}"
        case Person():
            return _PERSONS[n][case.value]
        case Words():
            return n.de


def adverbial(a: At | Words | None) -> str:
    match a:
        case None:
            return ""
        case Words():
            return a.de
        case At(preposition, what, onward):
            de, case = preposition.de, preposition.case
            if preposition.locale and isinstance(what, Phrase) and what.noun.locale:
                here = preposition.locale == "at"
                de = what.noun.locale.de_at if here else what.noun.locale.de_to
                case = Case.DATIVE if here or de == "zu" else Case.ACCUSATIVE
            leading, _, last = de.rpartition(" ")
            return said(leading, contracted(f"{last} {named(what, case)}"), adverbial(onward))


def contracted(text: str) -> str:
    """in dem Hotel: im Hotel. A relative clause after the noun would keep the words apart; no phrase here has one."""
    preposition, article, rest = (*text.split(" ", 2), "", "")[:3]
    together = _CONTRACTED.get(f"{preposition} {article}")
    return f"{together} {rest}" if together else text


def quality(q: Quality | Words | None) -> str:
    match q:
        case None:
            return ""
        case Words():
            return q.de
        case Quality(adjective, degree, than):
            if than:
                return adjective.de_more
            return said({"very": "sehr", "too": "zu", "": ""}[degree], adjective.de)


def present(verb: Verb, subject: Named | None) -> str:
    """The finite form without its prefix."""
    if subject is Person.I:
        return _FIRST_PERSON.get(verb.de) or verb.de.removesuffix("en") + "e"
    if subject in _PLURAL_PERSONS or isinstance(subject, Both) or (isinstance(subject, Phrase) and subject.number > 1):
        return "sind" if verb.de == "sein" else verb.de
    return verb.de_third


def _auxiliary(verb: Verb, subject: Named | None) -> str:
    plural = subject in _PLURAL_PERSONS or (isinstance(subject, Phrase) and subject.number > 1)
    if verb.auxiliary == "hat":
        return "habe" if subject is Person.I else "haben" if plural else "hat"
    return "bin" if subject is Person.I else "sind" if plural else "ist"


def _subject(c: Clause) -> Named | None:
    """The grammatical subject: what pleases, where English has who likes."""
    return c.object if c.verb.experienced else c.subject


def _verb(c: Clause) -> tuple[str, str, str]:
    """The finite verb, and what ends the clause when it stands early and when it stands last."""
    subject = _subject(c)
    infinitive = c.verb.prefix + c.verb.de
    if c.modal:
        plural = subject in _PLURAL_PERSONS or (isinstance(subject, Phrase) and subject.number > 1)
        return (c.modal.de_plural if plural else c.modal.de_singular), infinitive, infinitive
    if c.tense is Tense.PAST and c.verb.de == "sein":
        return ("waren" if present(c.verb, subject) == "sind" else "war"), "", ""
    if c.tense is Tense.PAST:
        return _auxiliary(c.verb, subject), c.verb.de_participle, c.verb.de_participle
    return present(c.verb, subject), c.verb.prefix, ""


def _objects(c: Clause) -> tuple[list[str], list[str], list[str]]:
    """Objects that are pronouns, that are definite, that are indefinite: they stand early, in the middle, late."""
    early, middle, late = [], [], []
    receiver = c.subject if c.verb.experienced else c.recipient
    for what, case in ((receiver, Case.DATIVE), (None if c.verb.experienced else c.object, c.verb.object)):
        if what is None or what is c.asked:
            continue
        text = named(what, case, negated=c.negated)
        if c.verb.de_preposition and case is c.verb.object:
            late.append(f"{c.verb.de_preposition} {text}")
        elif isinstance(what, Person):
            early.append(text)
        elif what is receiver or (isinstance(what, Phrase) and what.determiner.definite and case is not Case.NOMINATIVE):
            middle.append(text)
        else:
            late.append(text)
    return early, middle, late


def _not(c: Clause) -> str:
    """nicht, unless an object says kein."""
    says_kein = isinstance(c.object, Phrase) and c.object.determiner in (Determiner.ANY, Determiner.NONE)
    return "nicht" if c.negated and not says_kein else ""


def _middle(c: Clause, *, subject: bool, time: bool, place: bool = True, please: str = "") -> str:
    """Between the finite verb and the end."""
    early, middle, late = _objects(c)
    grammatical = _subject(c)
    doer = named(grammatical, Case.NOMINATIVE) if subject else ""
    first = [doer, *early] if isinstance(grammatical, Person) or not early else [*early, doer]
    when = c.time.de if c.time and time and not c.time.asked else ""
    adverbs = [adverbial(a) if a is not c.asked else "" for a in (c.manner, c.place if place else None)]
    goal = adverbial(c.goal)
    lasting = c.lasting.de if c.lasting and c.lasting is not c.asked else ""
    described = quality(c.quality) if c.quality is not c.asked else ""
    brought_forward = c.negated or (isinstance(c.object, Phrase) and c.object.determiner is Determiner.THIS)
    timed = [*middle, when] if brought_forward else [when, *middle]
    return said(*first, please, *timed, _not(c), *adverbs, *late, lasting, goal, described)


def _after(c: Clause) -> str:
    """What follows even a verb that stands last: than something, and the clauses that ask or tell."""
    if isinstance(c.quality, Quality) and c.quality.than:
        return f" als {named(c.quality.than, Case.NOMINATIVE)}"
    if not c.content:
        return ""
    if c.content.asked:
        return f", {c.content.asked.de} {subordinate(c.content)}"
    if c.content.asks_subject:
        return f", {subordinate(c.content)}"
    return f", {'ob' if c.whether else 'dass'} {subordinate(c.content)}"


def main(c: Clause) -> str:
    """The verb second."""
    finite, end, _ = _verb(c)
    place = adverbial(c.place) if c.subject is Person.THERE else ""
    front = c.time.de if c.time and c.fronted else place
    subject = "" if front else named(_subject(c), Case.NOMINATIVE)
    middle = _middle(c, subject=bool(front), time=not c.fronted, place=front != place or not place)
    return said(front or subject, finite, middle, end) + _after(c)


def verb_first(c: Clause) -> str:
    if c.asks_subject:
        return main(c)
    finite, end, _ = _verb(c)
    asked = c.asked.de if c.asked else ""
    return said(asked, finite, _middle(c, subject=True, time=True), end) + _after(c)


def subordinate(c: Clause) -> str:
    """The verb last, with its separable prefix before it."""
    finite, _, end = _verb(c)
    joined = finite if c.modal or c.tense is Tense.PAST else c.verb.prefix + finite
    return said(_middle(c, subject=True, time=True), end, joined) + _after(c)


def command(r: Request) -> str:
    c = r.clause
    if r.could:
        infinitive = c.verb.prefix + c.verb.de
        return said(COULD.de_plural, _middle(c, subject=True, time=True, please="bitte"), infinitive) + _after(c)
    return said("bitte", present(c.verb, Person.YOU), _middle(c, subject=True, time=True), c.verb.prefix) + _after(c)


def sentence(s: Sentence) -> str:
    match s:
        case Statement(clause):
            text = main(clause) + "."
        case Question(clause):
            text = verb_first(clause) + "?"
        case Request(could=could):
            text = command(s) + ("?" if could else ".")
        case Joined(link, first, side):
            end = "?" if isinstance(first, Request) and first.could else "."
            if link is Link.IF:
                text = f"wenn {subordinate(side)}, {verb_first(first.clause)}{end}"
            else:
                told = command(first) if isinstance(first, Request) else main(first.clause)
                text = f"{told}, {link.value[1]} {main(side) if link is Link.BUT else subordinate(side)}{end}"
    text = text.replace(",,", ",").replace(",.", ".").replace(",?", "?")
    return text[0].upper() + text[1:]
