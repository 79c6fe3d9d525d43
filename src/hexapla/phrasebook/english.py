"""English: a and an, do-support, subject before verb, time at the end."""

from hexapla.phrasebook.meaning import (
    At,
    Both,
    Clause,
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
from hexapla.phrasebook.verbs import MUST, WOULD_LIKE

_OBJECTS = {Person.I: "me", Person.WE: "us", Person.HE: "him", Person.SHE: "her"}
_NOT_VOWELS = ("eu", "uni")


def said(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def phrase(p: Phrase, *, none: bool = False) -> str:
    """A noun phrase; `none` says no instead of a."""
    plural = p.number > 1
    noun = p.noun.en_plural if plural else p.noun.en
    adjective = p.adjective and (p.adjective.en_more if p.more else p.adjective.en)
    head = said(adjective or "", noun, f"of {p.helping_of.en}" if p.helping_of else "")
    determiner = p.determiner.value[1] if plural else p.determiner.value[0]
    if none:
        determiner = "no"
    elif determiner == "a" and head[0] in "aeiou" and not head.startswith(_NOT_VOWELS):
        determiner = "an"
    relative = f"that {statement(p.relative)}" if p.relative else ""
    return said(determiner, counted(p.number).en if p.counted else "", head, adverbial(p.attached), relative)


def named(n: Named | None, *, subject: bool = False) -> str:
    match n:
        case None:
            return ""
        case Phrase():
            return phrase(n)
        case Both(first, second):
            return f"{phrase(first)} and {phrase(second)}"
        case Person():
            return n.value if subject else _OBJECTS.get(n, n.value)
        case Words():
            return n.en


def adverbial(a: At | Words | None) -> str:
    match a:
        case None:
            return ""
        case Words():
            return a.en
        case At(preposition, what, onward):
            en = preposition.en
            if preposition.locale == "at" and isinstance(what, Phrase) and what.noun.locale:
                en = what.noun.locale.at
            return said(en, named(what), adverbial(onward))


def quality(q: Quality | Words | None) -> str:
    match q:
        case None:
            return ""
        case Words():
            return q.en
        case Quality(adjective, degree, than):
            return said(degree, f"{adjective.en_more} than {named(than)}" if than else adjective.en)


def is_plural(n: Named | None) -> bool:
    return isinstance(n, Both) or (isinstance(n, Phrase) and n.number > 1)


def _finite(c: Clause, *, helped: bool) -> tuple[str, str]:
    """The auxiliary and the rest of the verb; `helped` asks for an auxiliary in any case (questions, negation)."""
    agrees_with = c.object if c.subject is Person.THERE else c.subject
    plain = agrees_with in (Person.I, Person.WE, Person.YOU) or is_plural(agrees_with)
    copula = c.verb.en == "be"
    does = "do" if plain else "does"
    is_ = "am" if agrees_with is Person.I else "are" if plain else "is"
    if c.modal is MUST and c.negated:
        return does, said("have to", c.verb.en)
    if c.modal is WOULD_LIKE:
        return "would", said("like to", c.verb.en)
    if c.modal:
        return c.modal.en, c.verb.en
    if c.tense is Tense.FUTURE:
        return "will", c.verb.en
    if c.tense is Tense.PAST and not c.time:
        return ("have" if plain else "has"), c.verb.en_participle
    if c.tense is Tense.PAST and copula:
        return ("was" if is_ != "are" else "were"), ""
    if c.tense is Tense.PAST:
        return ("did", c.verb.en) if helped else ("", c.verb.en_past)
    if copula:
        return is_, ""
    if c.verb.progressive:
        return is_, c.verb.progressive
    return (does, c.verb.en) if helped else ("", c.verb.en if plain else c.verb.en_third)


def _rest(c: Clause) -> str:
    """All that follows the verb; the question word has gone to the front."""
    absent = c.negated and c.subject is Person.THERE
    thing = phrase(c.object, none=True) if absent and isinstance(c.object, Phrase) else named(c.object)
    thing = said(c.verb.en_after, thing) if c.verb.en_preposition else said(thing, c.verb.en_after)
    parts = [named(c.recipient), thing, quality(c.quality), adverbial(c.goal), adverbial(c.manner)]
    parts += [adverbial(c.place), adverbial(c.lasting), "" if c.fronted else adverbial(c.time)]
    asked = c.asked.en if c.asked else None
    return said(*("" if part == asked else part for part in parts), _content(c))


def _content(c: Clause) -> str:
    if not c.content:
        return ""
    if c.content.asked:
        return f"{c.content.asked.en} {statement(c.content)}"
    if c.content.asks_subject:
        return statement(c.content)
    return f"{'whether' if c.whether else 'that'} {statement(c.content)}"


def _not(c: Clause) -> bool:
    return c.negated and c.subject is not Person.THERE


def statement(c: Clause) -> str:
    auxiliary, verb = _finite(c, helped=_not(c))
    time = c.time.en if c.time and c.fronted else ""
    denied = "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return said(time, named(c.subject, subject=True), denied if _not(c) else auxiliary, verb, _rest(c))


def question(c: Clause) -> str:
    if c.asks_subject:
        return statement(c)
    auxiliary, verb = _finite(c, helped=True)
    asked = c.asked.en if c.asked else ""
    return said(asked, auxiliary, named(c.subject, subject=True), "not" if _not(c) else "", verb, _rest(c))


def command(r: Request) -> str:
    return said("could you please" if r.could else "please", r.clause.verb.en, _rest(r.clause))


def sentence(s: Sentence) -> str:
    match s:
        case Statement(clause):
            text = statement(clause) + "."
        case Question(clause):
            text = question(clause) + "?"
        case Request(could=could):
            text = command(s) + ("?" if could else ".")
        case Joined(link, main, side):
            first = command(main) if isinstance(main, Request) else statement(main.clause)
            end = "?" if isinstance(main, Request) and main.could else "."
            if link is Link.IF:
                text = f"if {statement(side)}, {first}{end}"
            else:
                comma = "," if link is Link.BUT else ""
                text = f"{first}{comma} {link.value[0]} {statement(side)}{end}"
    return text[0].upper() + text[1:]
