"""What a file that is not UTF-8 might be instead, said in the message that refuses it. A guess is never acted on.

Which of the old encodings a text has is chardet's guess; what it is no guess of is told here: UTF-16 and UTF-32 without a mark,
binary data, forms that UTF-8 forbids, and single damaged lines.
"""

import re
from contextlib import suppress

SAMPLE_BYTES = 4096
_ICONV = {  # codec: iconv's name. What people still have, the commonest first; many more would be guessed wrongly more often than rightly
    "cp1252": "WINDOWS-1252",
    "cp1251": "WINDOWS-1251",
    "gb18030": "GB18030",
    "cp932": "CP932",
    "cp949": "CP949",
    "big5hkscs": "BIG5",
    "euc_jis_2004": "EUC-JP",
    "cp1250": "WINDOWS-1250",
    "cp1253": "WINDOWS-1253",
    "cp1254": "WINDOWS-1254",
    "cp1255": "WINDOWS-1255",
    "cp1256": "WINDOWS-1256",
    "cp1257": "WINDOWS-1257",
    "cp1258": "WINDOWS-1258",
    "tis-620": "TIS-620",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "iso8859-2": "ISO-8859-2",
    "iso8859-5": "ISO-8859-5",
    "iso8859-6": "ISO-8859-6",
    "iso8859-7": "ISO-8859-7",
    "cp850": "CP850",
    "cp437": "CP437",
    "cp852": "CP852",
    "cp866": "CP866",
    "cp737": "CP737",
    "johab": "JOHAB",
    "mac-roman": "MACINTOSH",
    "mac-cyrillic": "MAC-CYRILLIC",
}
_AS_LIKELY = 0.98  # of the best guess's confidence: then both are named
_OTHER_LETTER = r"[^\W\d_A-Za-zªºÀ-ʯḀ-ỿ]"
_SCRIPTS_MEET = re.compile(f"[A-Za-z](?={_OTHER_LETTER})|(?<={_OTHER_LETTER})[A-Za-z]")


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
    """The encoding that text which is not UTF-8 most likely has, and another if it is as likely and reads otherwise, by iconv's names."""
    import chardet  # is needed now only

    sample = b"\n".join(line for line in sample.split(b"\n") if not line.isascii())
    readings = {codec: sample.decode(codec, "replace") for codec in _ICONV}
    guesses = chardet.detect_all(sample, include_encodings=_ICONV, compat_names=False, ignore_threshold=True)
    likely = [(each["confidence"], text) for each in guesses if (text := readings.get(each["encoding"] or "")) and not _mixes_scripts(text)]
    texts = dict.fromkeys(text for confidence, text in likely if confidence >= _AS_LIKELY * likely[0][0])
    named = [next(name for codec, name in _ICONV.items() if readings[codec] == text) for text in texts]
    return sorted(named, key=list(_ICONV.values()).index)[:2]


def _mixes_scripts(text: str) -> bool:
    """Whether words of both Latin and other letters abound, as they do where bytes are read in the encoding of another script."""
    return len(_SCRIPTS_MEET.findall(text)) > 0.1 * sum(not char.isascii() for char in text)


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
        or 0x900 <= point < 0x1400
        or 0x1E00 <= point < 0x2000
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
    return {"WINDOWS-1252": "Latin-1/cp1252", "CP932": "Shift-JIS"}.get(label, label)


def _iconv(label: str) -> str:
    return f"iconv -f {label} -t UTF-8"
