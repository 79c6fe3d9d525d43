"""Chinese: measure words, time before place before verb, no spaces and no inflection."""

from dataclasses import replace

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
from hexapla.phrasebook.verbs import BE, WOULD_LIKE

_PERSONS = {
    **{Person.I: "我", Person.WE: "我们", Person.YOU: "您", Person.HE: "他", Person.SHE: "她"},
    **{Person.IT: "", Person.THERE: "", Person.THIS: "这"},
}


def phrase(p: Phrase) -> str:
    """Determiner or number with measure word, then what others put after the noun, then the adjective, then the noun."""
    measured = p.determiner.value[3]
    if p.counted:
        measured = measured.rstrip("一+") + counted(p.number).zh + "+"
    elif p.number > 1 and measured == "这+":
        measured = "这些"
    if p.helping_of:
        return measured.replace("+", p.noun.measure) + p.helping_of.zh
    adjective = p.adjective.zh_before_noun if p.adjective else ""
    if p.more and p.adjective:
        adjective = f"更{p.adjective.zh}的"
    attached = attribute(p.attached)
    relative = f"{statement(p.relative, attributive=True)}的" if p.relative else ""
    return measured.replace("+", p.noun.measure) + relative + attached + adjective + p.noun.zh


def named(n: Named | None) -> str:
    match n:
        case None:
            return ""
        case Phrase():
            return phrase(n)
        case Both(first, second):
            return f"{phrase(first)}和{phrase(second)}"
        case Person():
            return _PERSONS[n]
        case Words():
            return n.zh


def _inside(a: At) -> str:
    """A place with its 里 or 上: 酒店里."""
    suffix = a.what.noun.locale.zh_in if a.preposition.locale == "at" and isinstance(a.what, Phrase) and a.what.noun.locale else ""
    return named(a.what) + suffix


def attribute(a: At | Words | None) -> str:
    match a:
        case None:
            return ""
        case Words():
            return a.zh
        case At(preposition):
            return preposition.zh_of.format(_inside(a))


def adverbial(a: At | Words | None) -> str:
    match a:
        case None:
            return ""
        case Words():
            return a.zh
        case At(preposition, _, onward):
            return preposition.zh.format(_inside(a)) + adverbial(onward)


def quality(q: Quality | Words | None, *, bare: bool) -> str:
    """An adjective as predicate wants 很, unless it is denied or asked about."""
    match q:
        case None:
            return ""
        case Words():
            return q.zh
        case Quality(adjective, degree, than):
            if than:
                return f"比{named(than)}{adjective.zh}"
            match degree:
                case "too":
                    return f"太{adjective.zh}了"
                case "very":
                    return f"非常{adjective.zh}"
                case _:
                    return adjective.zh if bare else f"很{adjective.zh}"


def _adverbs(c: Clause, *, whether: bool, then: bool, again: str) -> tuple[str, str]:
    """Before the verb: 就, 还, 是否, then the denial and the modal; and the mark of the past after the verb."""
    another = again if isinstance(c.object, Phrase) and c.object.determiner is Determiner.ANOTHER else ""
    before = ("就" if then else "") + another + ("是否" if whether else "")
    if c.modal:
        return before + (c.modal.zh_not if c.negated else c.modal.zh), ""
    past = c.tense is Tense.PAST and c.quality is None
    if c.negated:
        return before + ("没" if past or c.verb.zh == "有" else "不"), ""
    to_come = c.tense is Tense.FUTURE and c.subject is Person.IT
    return before + ("会" if to_come else ""), "了" if past else ""


def _predicate(c: Clause, past: str) -> str:
    """The verb and what follows it."""
    goal = named(c.goal.what) if c.goal else ""
    verb, thing = c.verb.zh, named(c.object)
    if "{}" in verb:
        receiver = named(c.recipient)
        verb, thing = (verb.format(receiver), thing) if receiver else (verb.format(thing), "")
    elif c.verb is BE and isinstance(c.object, Phrase):
        verb = "是"
    if past and verb.endswith(("钱", "入住", "房")):
        return verb + past + goal
    return verb + past + thing + goal


def statement(c: Clause, *, attributive: bool = False, bare: bool = False, whether: bool = False, then: bool = False) -> str:
    """Subject, time, adverbs, place, manner, verb. `attributive`: before 的, where the past needs no 了."""
    before, past = _adverbs(c, whether=whether, then=then, again="还")
    if attributive:
        past = ""
    time = c.time.zh if c.time else ""
    if c.modal is WOULD_LIKE and not c.negated and not c.fronted:
        before, time = before + time, ""  # 我想明天离开, but 我明天必须离开
    subject = named(c.subject)
    place = adverbial(c.place)
    if c.subject is Person.THERE:
        subject, place = place.removeprefix("在"), ""
    started = time + subject if c.fronted else subject + time
    described = quality(c.quality, bare=bare or whether or c.negated)
    return started + before + place + adverbial(c.manner) + _predicate(c, past) + described + _after(c)


def _after(c: Clause) -> str:
    lasting = c.lasting.zh if c.lasting else ""
    if lasting and c.object is not None:
        lasting = f"，住{lasting}"
    return lasting + (statement(c.content, whether=c.whether) if c.content else "")


def question(c: Clause) -> str:
    """The word order of a statement, with 吗 unless a question word asks."""
    asks = bool(c.asked) or c.asks_subject
    return statement(c, bare=not asks) + ("" if asks else "吗")


def command(r: Request) -> str:
    c = r.clause
    time = c.time.zh if c.time else ""
    again = _adverbs(c, whether=False, then=False, again="再")[0]
    told = time + again + adverbial(c.place) + adverbial(c.manner) + _predicate(c, "") + _after(c)
    return f"请您{told}，好吗" if r.could else f"请{told}"


def sentence(s: Sentence) -> str:
    match s:
        case Statement(clause):
            return statement(clause) + "。"
        case Question(clause):
            return question(clause) + "？"
        case Request(could=could):
            return command(s) + ("？" if could else "。")
        case Joined(link, main, side):
            told = command(main) if isinstance(main, Request) else statement(main.clause, then=link is Link.IF)
            if link is Link.BEFORE and isinstance(main, Statement) and side.subject == main.clause.subject:
                side = replace(side, subject=Person.IT)  # 离开以前，我们…: who leaves is said once
            end = "？" if isinstance(main, Request) and main.could else "。"
            return link.value[2].format(side=statement(side), main=told) + end
