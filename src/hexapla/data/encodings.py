"""What a file that is not UTF-8 might be instead, said in the message that refuses it. A guess is never acted on.

A guess is the encoding under which the bytes about the fault are likeliest, each letter being drawn from those that its languages
use: a small table, enough to tell a Korean file from a Chinese one, not to replace `file` or `uchardet`.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

SAMPLE_BYTES = 4096
_UNLIKELY = 12.0  # nats for a character that the language does not use
_MARKS = dict.fromkeys("，。、！？：；（）「」『』《》・～　“”‘’„–—…«»¿¡°§·€№", 4.0)  # what every language may use, and nats for one
_SURE = 2.0  # nats by which the best guess must lead the next, else both are named
_FEWEST_OWN = 0.6  # share of the characters beyond ASCII that must be the language's own

_MULTIBYTE: tuple[tuple[str, str, str, tuple[tuple[int, int, int, int], ...]], ...] = (
    # label, Python's codec, codec of the frequent letters, and their ranges of first and last lead and trail byte
    ("GB18030", "gb18030", "gb2312", ((0xB0, 0xD7, 0xA1, 0xFE),)),
    ("BIG5", "big5hkscs", "big5", ((0xA4, 0xC6, 0x40, 0x7E), (0xA4, 0xC6, 0xA1, 0xFE))),
    ("CP949", "cp949", "euc_kr", ((0xB0, 0xC8, 0xA1, 0xFE),)),
    ("SHIFT_JIS", "cp932", "cp932", ((0x82, 0x82, 0x9F, 0xF1), (0x83, 0x83, 0x40, 0x96), (0x88, 0x97, 0x40, 0xFC))),
    ("EUC-JP", "euc_jp", "euc_jp", ((0xA4, 0xA5, 0xA1, 0xFE), (0xB0, 0xCF, 0xA1, 0xFE))),
)
_SINGLE_BYTE: tuple[tuple[str, str, str, str], ...] = (  # label, codec, letters that make up three quarters of a text, and the rest
    ("WINDOWS-1252", "cp1252", "äöüéßèàçñáíóãêø", "ÄÖÜÉâîôûëïåæœõúìòù"),
    ("WINDOWS-1250", "cp1250", "áíéýčěřšžůąęłżśóćńő", "ÁÍÉÝČĚŘŠŽĄĘŁŻŚÓĆŃźúűöüäťďňľĽôâăîşţßđ"),
    ("WINDOWS-1251", "cp1251", "оеаинтсрвлкмд", "пуяыьгзбчйхжшюцщэфъёіїєґўАБВГДЕЖЗИКЛМНОПРСТУФХЧШЭЯ"),
    ("KOI8-R", "koi8_r", "оеаинтсрвлкмд", "пуяыьгзбчйхжшюцщэфъёАБВГДЕЖЗИКЛМНОПРСТУФХЧШЭЯ"),
    ("WINDOWS-1253", "cp1253", "αοιετσνηυρπκ", "μλςωδγχθφβξζψάέήίόύώΑΒΓΔΕΖΗΘΙΚΛΜΝΟΠΡΣΤΥΦΧΨΩΆΈΌ"),
    ("WINDOWS-1254", "cp1254", "ıüşçöğ", "İŞÇÖĞÜâîû"),
    ("WINDOWS-1255", "cp1255", "יוהלאמרתבשנ", "כדעחקפסטגצזםןךףץ"),
    ("WINDOWS-1256", "cp1256", "الينمورتبةعد", "فقسحجكشصأإآىئءؤهطخذضزثغظ،؟ًٌٍَُِّْ"),
    ("TIS-620", "tis_620", "านรอกเง่มยลว้", "กขคจชซญณดตถทธบปผพภวสหะัาิีึืุูเแโใไ็้๊๋์ๆศษ"),
)

_RARER = 4.0  # nats: of encodings that share their umlauts the first is far the commonest
_LATIN = ("WINDOWS-1252", "WINDOWS-1250", "WINDOWS-1254")
_ALPHABETS = tuple(label for label, *_ in _SINGLE_BYTE if label not in _LATIN)


@dataclass(frozen=True)
class _Letters:
    """How likely each letter is in the languages of one encoding."""

    label: str
    codec: str
    nats: dict[str, float]
    """surprise of each letter that they use"""

    def surprise(self, sample: bytes) -> float | None:
        """Of the characters beyond ASCII in `sample`, in nats; None where these bytes are no such text."""
        try:
            characters = [char for char in sample.decode(self.codec) if not char.isascii()]
        except UnicodeDecodeError:
            return None
        if sum(char in self.nats for char in characters) < _FEWEST_OWN * len(characters):
            return None
        return sum(self.nats.get(char, _UNLIKELY) for char in characters)


@cache
def _candidates() -> tuple[_Letters, ...]:
    found = []
    for label, codec, frequent, ranges in _MULTIBYTE:
        pairs = (bytes([lead, trail]) for a, b, c, d in ranges for lead in range(a, b + 1) for trail in range(c, d + 1))
        letters = {pair.decode(frequent, "ignore") for pair in pairs} - {""}
        found.append(_Letters(label, codec, _MARKS | dict.fromkeys(letters, math.log(len(letters)))))
    for label, codec, usual, rest in _SINGLE_BYTE:
        rare = dict.fromkeys(rest, math.log(len(rest) / 0.25))
        found.append(_Letters(label, codec, _MARKS | rare | dict.fromkeys(usual, math.log(len(usual) / 0.75))))
    return tuple(found)


def remedy(text: bytes, at: int) -> str:
    """What is wrong with byte `at` of `text`, which is no UTF-8, and what to do."""
    wide = wide_encoding(text, at)
    if wide:
        return f"the text looks like {wide}: {_iconv(wide)}"
    if is_binary(text, at):
        return "this is no text but binary data; give plain text, one sentence a line"
    line, form = _line(text, at), _forbidden_form(text[at : at + 4])
    if form and _is_utf_8_but_for_forms(line):
        return f"{form}; mend this line"
    if _has_utf_8_beside(text[max(0, at - 2**15) : at + 2**15]):
        return "other characters are, so the file is damaged here or mixes encodings: mend this line"
    labels = likely_encodings(_sample(text, at)) or likely_encodings(line)
    if labels:
        return f"it may be {' or '.join(map(_shown, labels))}: {_iconv(labels[0])}"
    return f"{form}; mend this line" if form else "convert the file to UTF-8 with iconv, if it is text"


def remedy_for_nul(text: bytes, at: int) -> str:
    """What a NUL at byte `at` of `text` hints at, and what to do."""
    wide = wide_encoding(text, at)
    if wide:
        return f"the file looks like {wide}: {_iconv(wide)}"
    if not text[at:].strip(b"\0"):
        return "it is NUL from there on, as a crash leaves files: fetch it again"
    return "this is binary data, not text" if is_binary(text, at) else "remove it: tr -d '\\000'"


def likely_encodings(sample: bytes) -> list[str]:
    """The likeliest encoding of text that is not UTF-8, and the second where it is nearly as likely; none if no table fits."""
    sample = b"\n".join(line for line in sample.split(b"\n") if not line.isascii())
    letters = [byte for byte in sample if byte >= 0x80 or chr(byte).isalpha()]
    beyond = sum(byte >= 0x80 for byte in letters)
    latin, other = beyond < 0.7 * len(letters), beyond > 0.5 * len(letters)  # accents among ASCII letters, or hardly a letter of ASCII
    found = {
        candidate.label: surprise + (_RARER if candidate.label in _LATIN[1:] else 0.0)
        for candidate in _candidates()
        if (latin if candidate.label in _LATIN else other or candidate.label not in _ALPHABETS)
        and (surprise := candidate.surprise(sample)) is not None
    }
    return [label for label in found if found[label] <= min(found.values()) + _SURE][:2]


def wide_encoding(text: bytes, at: int) -> str | None:
    """UTF-16 or UTF-32, of either order, if the bytes about `at` read well as that and as nothing else."""
    start = max(0, at - 256) // 4 * 4
    for bits in (32, 16):
        readings = [(_wide_share(text[start : start + 1024], f"utf-{bits}-{order.lower()}"), order) for order in ("LE", "BE")]
        share, order = max(readings)
        if share > 0.9:
            return f"UTF-{bits}{order}"
    return None


def _wide_share(sample: bytes, codec: str) -> float:
    """How much of a text of units of one width is made of letters as texts have them: few blocks of Unicode, and spaces or stops."""
    unit = 4 if "32" in codec else 2
    sample = sample[: len(sample) // unit * unit]
    try:
        text = sample.decode(codec, "strict" if unit == 4 else "ignore")
    except UnicodeDecodeError:
        return 0.0
    if not text or (unit == 2 and len(text) < 0.4 * len(sample) / unit):
        return 0.0
    if not any(char in " \r\n\u3000。，、！？" for char in text):
        return 0.0
    common = sum(_is_common(char) for char in text)
    return common / len(text)


def _is_common(char: str) -> bool:
    point = ord(char)
    return (
        char in "\t\r\n"
        or 0x20 <= point < 0x7F
        or 0xA0 <= point < 0x700
        or 0x900 <= point < 0xE60
        or 0x2010 <= point < 0x2040
        or 0x3000 <= point < 0x3100
        or 0x4E00 <= point < 0x9FA6
        or 0xAC00 <= point < 0xD7A4
        or 0xFF00 <= point < 0xFF61
    )


def is_binary(text: bytes, at: int) -> bool:
    """Whether control characters, which text has none of, abound about `at`."""
    sample = text[max(0, at - 256) : at + 768]
    controls = sum(byte < 0x20 and byte not in b"\t\n\v\f\r\x1b" for byte in sample)
    return controls > max(1, 0.05 * len(sample))


def _forbidden_form(found: bytes) -> str | None:
    """Why bytes that look like UTF-8 are none."""
    first, second = found[0], found[1] if len(found) > 1 else 0
    if not 0x80 <= second < 0xC0:
        return None
    match first:
        case 0xC0 | 0xC1:
            return "an overlong form, which UTF-8 forbids"
        case 0xE0 if second < 0xA0:
            return "an overlong form, which UTF-8 forbids"
        case 0xF0 if second < 0x90:
            return "an overlong form, which UTF-8 forbids"
        case 0xED if second >= 0xA0:
            return "half of a surrogate pair, as CESU-8 and old Java programs write"
        case 0xF4 | 0xF5 | 0xF6 | 0xF7:
            return "beyond U+10FFFF, the last code point"
    return None


def _has_utf_8_beside(text: bytes) -> bool:
    """Whether lines beyond ASCII are UTF-8, or most of a line is, which is no accident of another encoding."""
    whole = damaged = 0
    for line in text.split(b"\n")[1:-1] or [text]:
        if line.isascii():
            continue
        tried = line.decode("utf-8", "replace")
        bad = tried.count("\ufffd")
        if sum(not char.isascii() for char in tried) - bad >= 3 * bad:
            whole += 1
        else:
            damaged += 1
    return 10 * whole > damaged


def _is_utf_8_but_for_forms(line: bytes) -> bool:
    """Whether a line is CESU-8, or all of it that is not ASCII stands together and is one forbidden form."""
    with suppress(UnicodeDecodeError):
        return bool(line.decode("utf-8", "surrogatepass"))
    high = [place for place, byte in enumerate(line) if byte >= 0x80]
    return high[-1] - high[0] < 4


def _line(text: bytes, at: int) -> bytes:
    stop = text.find(b"\n", at)
    return text[text.rfind(b"\n", 0, at) + 1 : stop if stop >= 0 else len(text)]


def _sample(text: bytes, at: int) -> bytes:
    """Whole lines about `at`."""
    start = text.rfind(b"\n", 0, max(0, at - SAMPLE_BYTES // 2)) + 1
    stop = text.find(b"\n", min(len(text), at + SAMPLE_BYTES // 2))
    return text[start : stop if stop >= 0 else len(text)]


def _shown(label: str) -> str:
    return "Latin-1/cp1252" if label == "WINDOWS-1252" else label


def _iconv(label: str) -> str:
    return f"iconv -f {label} -t UTF-8"
