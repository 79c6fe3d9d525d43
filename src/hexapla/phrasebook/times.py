"""Numbers and times, from counting to half past seven (halb acht, 七点半)."""

from hexapla.phrasebook.words import Words, words

_EN = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_DE = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
_ZH = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"]

TENS = words("""
    ten     | zehn    | 十
    fifteen | fünfzehn | 十五
    twenty  | zwanzig | 二十
    thirty  | dreißig | 三十
    forty   | vierzig | 四十
    fifty   | fünfzig | 五十
    sixty   | sechzig | 六十
    seventy | siebzig | 七十
    eighty  | achtzig | 八十
    ninety  | neunzig | 九十
""")


def counted(n: int) -> Words:
    """A number before a noun; Chinese counts two things as 两. German ein is left to its endings."""
    return Words(_EN[n - 1], _DE[n - 1], "两" if n == 2 else _ZH[n - 1])


def labelled(n: int) -> Words:
    """A number as a name: room two, Zimmer zwei, 二号房间."""
    return Words(_EN[n - 1], "eins" if n == 1 else _DE[n - 1], _ZH[n - 1])


def clock(hour: int, part: str = "") -> Words:
    """The time of day from one to twelve; German names the half hour by the hour to come."""
    en, de, zh = _EN[hour - 1], _DE[hour - 1], counted(hour).zh
    exact = labelled(hour).de
    following = labelled(hour % 12 + 1).de
    match part:
        case "half":
            return Words(f"at half past {en}", f"um halb {following}", f"{zh}点半")
        case "quarter past":
            return Words(f"at a quarter past {en}", f"um Viertel nach {exact}", f"{zh}点一刻")
        case _:
            return Words(f"at {en} o'clock", f"um {de} Uhr", f"{zh}点")


_WEEKDAYS = words("""
    Monday    | Montag     | 一
    Tuesday   | Dienstag   | 二
    Wednesday | Mittwoch   | 三
    Thursday  | Donnerstag | 四
    Friday    | Freitag    | 五
    Saturday  | Samstag    | 六
    Sunday    | Sonntag    | 天
""").values()

ON_DAYS = [Words(f"on {day.en}", f"am {day.de}", f"星期{day.zh}") for day in _WEEKDAYS]
NEXT_DAYS = [Words(f"next {day.en}", f"nächsten {day.de}", f"下个星期{day.zh}") for day in _WEEKDAYS]
LAST_DAYS = [Words(f"last {day.en}", f"letzten {day.de}", f"上个星期{day.zh}") for day in _WEEKDAYS]

DAYS_TO_COME = list(
    words("""
    tomorrow               | morgen           | 明天
    tomorrow morning       | morgen früh      | 明天早上
    tomorrow afternoon     | morgen Nachmittag | 明天下午
    tomorrow evening       | morgen Abend     | 明天晚上
    the day after tomorrow | übermorgen       | 后天
    this evening           | heute Abend      | 今天晚上
    this afternoon         | heute Nachmittag | 今天下午
    """).values()
)
SOON = list(
    words("""
    today          | heute            | 今天
    next week      | nächste Woche    | 下个星期
    at the weekend | am Wochenende    | 周末
    in ten minutes | in zehn Minuten  | 十分钟以后
    in two hours   | in zwei Stunden  | 两个小时以后
    """).values()
)
_SPANS = SOON[1:]  # too long or too near for an hour of theirs
PAST_DAYS = list(
    words("""
    yesterday                | gestern            | 昨天
    yesterday morning        | gestern Morgen     | 昨天早上
    yesterday afternoon      | gestern Nachmittag | 昨天下午
    yesterday evening        | gestern Abend      | 昨天晚上
    the day before yesterday | vorgestern         | 前天
    last week                | letzte Woche       | 上个星期
    """).values()
)
AGO = [
    Words(f"{counted(n).en} {unit.en} ago", f"vor {counted(n).de} {unit.de}", f"{counted(n).zh}{unit.zh}前")
    for unit in words("""
    hours | Stunden | 个小时
    days  | Tagen   | 天
    weeks | Wochen  | 个星期
    """).values()
    for n in (2, 3, 4)
]
FUTURE_DAYS = [*DAYS_TO_COME, *SOON, *NEXT_DAYS]
GONE_DAYS = [*PAST_DAYS, *LAST_DAYS, *AGO]
HABITS = list(
    words("""
    every day       | jeden Tag    | 每天
    every morning   | jeden Morgen | 每天早上
    every evening   | jeden Abend  | 每天晚上
    at the weekend  | am Wochenende | 周末
    """).values()
)
NOW = list(words("today | heute | 今天\nnow | jetzt | 现在").values())
BEFORE_MEALS = list(
    words("""
    before breakfast | vor dem Frühstück   | 早餐前
    after breakfast  | nach dem Frühstück  | 早餐后
    before lunch     | vor dem Mittagessen | 午餐前
    after lunch      | nach dem Mittagessen | 午餐后
    before dinner    | vor dem Abendessen  | 晚餐前
    after dinner     | nach dem Abendessen | 晚餐后
    """).values()
)


def _clocks(first: int, last: int) -> list[Words]:
    return [clock(hour, part) for hour in range(first, last + 1) for part in ("", "half", "quarter past")]


HOURS = _clocks(1, 12)
_HOURS_OF = {"早上": _clocks(6, 11), "下午": _clocks(1, 5), "晚上": _clocks(6, 10)}


MEAL_HOURS = {"breakfast": _clocks(6, 10), "lunch": _clocks(11, 12), "dinner": _clocks(6, 9)}


def hours_of(day: Words) -> list[Words]:
    """The hours that go with a day: this evening has no four o'clock, next week has none at all."""
    return [] if day in _SPANS else _HOURS_OF.get(day.zh[-2:], HOURS)


WHEN = Words("when", "wann", "什么时候", asked=True)
WHAT_TIME = Words("at what time", "um wie viel Uhr", "几点", asked=True)


def at(day: Words, hour: Words) -> Words:
    """tomorrow at six o'clock, morgen um sechs Uhr, 明天六点"""
    return Words(f"{day.en} {hour.en}", f"{day.de} {hour.de}", day.zh + hour.zh)


def nights(n: int, *, spent: bool = False) -> Words:
    """How long a room is wanted or, `spent`, how long guests stay: German stays three nights, but books for three."""
    count = counted(n)
    en, de = ("night", "eine Nacht") if n == 1 else ("nights", f"{count.de} Nächte")
    return Words(f"for {count.en} {en}", de if spent else f"für {de}", f"{count.zh}个晚上")


def people(n: int) -> Words:
    return Words(f"for {counted(n).en} people", f"für {counted(n).de} Personen", f"{counted(n).zh}个人的")


def euros(n: Words) -> Words:
    return Words(f"{n.en} euros", f"{n.de} Euro", f"{n.zh}欧元")
