"""English and Chinese against sentences typed by hand."""

import pytest
from lexicon import NOUNS

from hexapla.phrasebook import chinese, english
from hexapla.phrasebook.adjectives import AILMENTS, COLOURS, FAULTS, ROOMY
from hexapla.phrasebook.draw import inside, is_, several, the
from hexapla.phrasebook.hotel import numbered
from hexapla.phrasebook.meaning import At, Clause, Determiner, Joined, Link, Person, Phrase, Quality, Question, Request, Statement, Tense
from hexapla.phrasebook.places import BUILDINGS, CITIES, NEXT_TO, PLACES, STOPS, TO_CITY
from hexapla.phrasebook.things import HELPINGS
from hexapla.phrasebook.times import DAYS_TO_COME, PAST_DAYS, WHEN, at, clock, nights
from hexapla.phrasebook.travel import BY, platform
from hexapla.phrasebook.verbs import BE, CAN, EXIST, MUST, SET_OFF, SUFFER, VERBS, WOULD_LIKE

TOMORROW, YESTERDAY = DAYS_TO_COME[0], PAST_DAYS[0]
WE, YOU, HE = Person.WE, Person.YOU, Person.HE

MEASURED = """
    room 两间房间        | ticket 两张门票         | key 两把钥匙       | taxi 两辆出租车     | passport 两本护照
    towel 两条毛巾       | suitcase 两个行李箱     | coat 两件大衣      | lamp 两盏灯         | television 两台电视
    doctor 两位医生      | soup 两碗汤             | window 两扇窗户    | newspaper 两份报纸  | mobile phone 两部手机
    apartment 两套公寓   | sausage 两根香肠        | bicycle 两辆自行车 | umbrella 两把雨伞   | table 两张桌子
"""


@pytest.mark.parametrize("entry", [cell.strip() for line in MEASURED.strip().splitlines() for cell in line.split("|")])
def test_each_noun_is_counted_by_its_measure_word(entry):
    noun, expected = entry.rsplit(" ", 1)
    assert chinese.phrase(several(2, NOUNS[noun])) == expected


@pytest.mark.parametrize(
    ("phrase", "en", "zh"),
    [
        (Phrase(NOUNS["room"], Determiner.A, adjective=ROOMY["quiet"]), "a quiet room", "一间安静的房间"),
        (Phrase(NOUNS["room"], Determiner.A, adjective=ROOMY["big"]), "a big room", "一间大房间"),
        (Phrase(NOUNS["room"], Determiner.A, adjective=ROOMY["big"], more=True), "a bigger room", "一间更大的房间"),
        (Phrase(NOUNS["umbrella"], Determiner.A), "an umbrella", "一把雨伞"),
        (Phrase(NOUNS["umbrella"], Determiner.A, adjective=COLOURS["red"]), "a red umbrella", "一把红色雨伞"),
        (Phrase(NOUNS["room"], Determiner.A, adjective=ROOMY["expensive"]), "an expensive room", "一间贵的房间"),
        (Phrase(NOUNS["coat"], Determiner.MY, adjective=COLOURS["black"]), "my black coat", "我的黑色大衣"),
        (Phrase(NOUNS["key"], Determiner.THIS), "this key", "这把钥匙"),
        (Phrase(NOUNS["key"], Determiner.THIS, 2), "these keys", "这些钥匙"),
        (several(12, NOUNS["key"]), "twelve keys", "十二把钥匙"),
        (several(3, NOUNS["knife"]), "three knives", "三把刀"),
        (Phrase(HELPINGS["bottle"], Determiner.NONE, 3, counted=True, helping_of=NOUNS["water"]), "three bottles of water", "三瓶水"),
        (Phrase(HELPINGS["cup"], Determiner.A, helping_of=NOUNS["tea"]), "a cup of tea", "一杯茶"),
        (Phrase(NOUNS["bus"], Determiner.WHICH), "which bus", "哪路公共汽车"),
        (Phrase(NOUNS["train"], attached=At(TO_CITY, CITIES["Beijing"])), "the train to Beijing", "去北京的火车"),
        (Phrase(NOUNS["lamp"], attached=inside(PLACES["bathroom"])), "the lamp in the bathroom", "浴室里的灯"),
        (
            Phrase(NOUNS["room"], relative=Clause(WE, VERBS["book"], tense=Tense.PAST, time=YESTERDAY)),
            "the room that we booked yesterday",
            "我们昨天订的房间",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_noun_phrases(phrase, en, zh):
    assert (english.phrase(phrase), chinese.phrase(phrase)) == (en, zh)


@pytest.mark.parametrize(
    ("time", "en", "de", "zh"),
    [
        (clock(2), "at two o'clock", "um zwei Uhr", "两点"),
        (clock(1), "at one o'clock", "um ein Uhr", "一点"),
        (clock(7, "half"), "at half past seven", "um halb acht", "七点半"),
        (clock(12, "half"), "at half past twelve", "um halb eins", "十二点半"),
        (clock(1, "quarter past"), "at a quarter past one", "um Viertel nach eins", "一点一刻"),
        (at(TOMORROW, clock(6)), "tomorrow at six o'clock", "morgen um sechs Uhr", "明天六点"),
        (nights(1), "for one night", "für eine Nacht", "一个晚上"),
        (nights(2), "for two nights", "für zwei Nächte", "两个晚上"),
        (nights(2, spent=True), "for two nights", "zwei Nächte", "两个晚上"),
        (platform(2), "from platform two", "von Gleis zwei", "从二号站台"),
        (numbered(1), "room one", "Zimmer eins", "一号房间"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numbers_and_times(time, en, de, zh):
    assert (time.en, time.de, time.zh) == (en, de, zh)


BATH = inside(PLACES["bathroom"])
CAR = Phrase(NOUNS["car"], Determiner.A)
NO_TOWEL = Clause(Person.THERE, EXIST, Phrase(NOUNS["towel"], Determiner.ANY), place=BATH, negated=True)
BEDS = Clause(Person.THERE, EXIST, several(2, NOUNS["bed"]), place=inside(PLACES["room"]))
BANK = Clause(the(BUILDINGS["bank"]), BE, place=At(NEXT_TO, the(STOPS["station"])))
DOCTOR = Clause(WE, VERBS["need"], Phrase(NOUNS["doctor"], Determiner.A))
TRAIN = Phrase(NOUNS["train"], attached=At(TO_CITY, CITIES["Munich"]))


@pytest.mark.parametrize(
    ("meaning", "en", "zh"),
    [
        (Statement(Clause(WE, VERBS["leave"], time=TOMORROW, tense=Tense.FUTURE)), "We will leave tomorrow.", "我们明天离开。"),
        (
            Statement(Clause(WE, VERBS["rent"], CAR, tense=Tense.PAST, time=YESTERDAY)),
            "We rented a car yesterday.",
            "我们昨天租了一辆汽车。",
        ),
        (Statement(Clause(WE, VERBS["rent"], CAR, tense=Tense.PAST)), "We have rented a car.", "我们租了一辆汽车。"),
        (Statement(Clause(HE, VERBS["rent"], CAR, tense=Tense.PAST)), "He has rented a car.", "他租了一辆汽车。"),
        (Question(Clause(WE, VERBS["rent"], CAR, modal=CAN)), "Can we rent a car?", "我们可以租一辆汽车吗？"),
        (Statement(Clause(WE, VERBS["leave"], modal=MUST, negated=True)), "We do not have to leave.", "我们不用离开。"),
        (Statement(Clause(WE, VERBS["leave"], modal=CAN, negated=True)), "We cannot leave.", "我们不能离开。"),
        (Statement(Clause(WE, VERBS["leave"], modal=WOULD_LIKE, time=TOMORROW)), "We would like to leave tomorrow.", "我们想明天离开。"),
        (Question(Clause(YOU, VERBS["have"], Phrase(NOUNS["room"], Determiner.ANY))), "Do you have a room?", "您有房间吗？"),
        (
            Statement(Clause(WE, VERBS["have"], Phrase(NOUNS["key"], Determiner.ANY), negated=True)),
            "We do not have a key.",
            "我们没有钥匙。",
        ),
        (
            Statement(Clause(HE, VERBS["drink"], Phrase(NOUNS["beer"], Determiner.NONE), negated=True)),
            "He does not drink beer.",
            "他不喝啤酒。",
        ),
        (
            Statement(Clause(Person.THERE, EXIST, Phrase(NOUNS["towel"], Determiner.ANY), place=BATH, negated=True)),
            "There is no towel in the bathroom.",
            "浴室里没有毛巾。",
        ),
        (
            Statement(Clause(Person.THERE, EXIST, several(2, NOUNS["bed"]), place=inside(PLACES["room"]))),
            "There are two beds in the room.",
            "房间里有两张床。",
        ),
        (
            Question(Clause(the(BUILDINGS["bank"]), BE, place=At(NEXT_TO, the(STOPS["station"])))),
            "Is the bank next to the station?",
            "银行在火车站旁边吗？",
        ),
        (Question(is_(the(NOUNS["room"]), Quality(ROOMY["quiet"]))), "Is the room quiet?", "房间安静吗？"),
        (Statement(is_(the(NOUNS["room"]), Quality(ROOMY["quiet"]))), "The room is quiet.", "房间很安静。"),
        (Statement(is_(the(NOUNS["room"]), Quality(FAULTS["loud"], "too"))), "The room is too loud.", "房间太吵了。"),
        (
            Statement(is_(the(NOUNS["train"]), Quality(ROOMY["cheap"], "", the(NOUNS["ferry"])))),
            "The train is cheaper than the ferry.",
            "火车比渡轮便宜。",
        ),
        (Question(Clause(TRAIN, SET_OFF, time=WHEN)), "When does the train to Munich leave?", "去慕尼黑的火车什么时候出发？"),
        (
            Question(Clause(YOU, VERBS["know"], content=Clause(TRAIN, SET_OFF, time=WHEN))),
            "Do you know when the train to Munich leaves?",
            "您知道去慕尼黑的火车什么时候出发吗？",
        ),
        (
            Statement(Clause(WE, VERBS["travel"], goal=At(TO_CITY, CITIES["Munich"]), manner=BY[0], time=TOMORROW, tense=Tense.FUTURE)),
            "We will travel to Munich by train tomorrow.",
            "我们明天坐火车去慕尼黑。",
        ),
        (
            Joined(
                Link.BECAUSE,
                Statement(DOCTOR),
                Clause(HE, SUFFER, AILMENTS["a fever"]),
            ),
            "We need a doctor because he has a fever.",
            "因为他发烧，所以我们需要一位医生。",
        ),
        (
            Joined(Link.IF, Statement(Clause(WE, VERBS["rent"], CAR, tense=Tense.FUTURE)), Clause(Person.IT, VERBS["rain"], time=TOMORROW)),
            "If it rains tomorrow, we will rent a car.",
            "如果明天下雨，我们就租一辆汽车。",
        ),
        (
            Joined(Link.BEFORE, Statement(Clause(WE, VERBS["rent"], CAR, modal=MUST)), Clause(WE, VERBS["leave"])),
            "We must rent a car before we leave.",
            "离开以前，我们必须租一辆汽车。",
        ),
        (
            Request(Clause(YOU, VERBS["bring"], Phrase(NOUNS["towel"], Determiner.ANOTHER, adjective=ROOMY["clean"]), WE), could=True),
            "Could you please bring us another clean towel?",
            "请您再给我们拿一条干净的毛巾，好吗？",
        ),
        (Request(Clause(YOU, VERBS["phone"], Person.I, time=TOMORROW)), "Please phone me tomorrow.", "请明天给我打电话。"),
        (Statement(Clause(WE, VERBS["look"], the(BUILDINGS["bank"]))), "We are looking for the bank.", "我们在找银行。"),
        (
            Request(Clause(YOU, VERBS["pick"], WE, place=inside(STOPS["station"]))),
            "Please pick us up at the station.",
            "请在火车站接我们。",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sentences(meaning, en, zh):
    assert (english.sentence(meaning), chinese.sentence(meaning)) == (en, zh)
