"""What is not UTF-8 is refused with the encoding it most likely has, and never read by it."""

import pytest

from hexapla.data.lines import read_lines
from hexapla.errors import DataError


@pytest.fixture
def refused(tmp_path):
    def refusal(content: bytes) -> str:
        (tmp_path / "text.txt").write_bytes(content)
        with pytest.raises(DataError) as caught:
            list(read_lines(tmp_path / "text.txt"))
        return str(caught.value).replace(str(tmp_path / "text.txt"), "FILE")

    return refusal


ZH, ZH_TW = "今天天气很好，我们去公园散步。\n他喜欢吃苹果。\n", "今天天氣很好，我們去公園散步。\n他喜歡吃蘋果。\n"
JA, KO = (
    "今日は天気がいいので、公園へ散歩に行きました。\n彼はリンゴが好きです。\n",
    "오늘은 날씨가 좋아서 공원에 갔습니다.\n그는 사과를 좋아합니다.\n",
)
PL, HU, LV, FR = (
    "Gdzie jest dworzec? Dziękuję bardzo, proszę usiąść.\n",
    "Árvíztűrő tükörfúrógép. Jó reggelt kívánok, köszönöm szépen.\n",
    "Kur ir stacija? Paldies jums, ļoti jauki, ķēniņš.\n",
    "Le cœur déçu mais l'âme plutôt naïve, près de la fenêtre.\n",
)
RU, EL = "Сегодня хорошая погода\nПривет, мир\n", "Καλημέρα κόσμε, τι κάνεις σήμερα;\n"
KA = "სად არის სადგური? გმადლობთ.\n"
DE, CS, TR = (
    "ein schöner Tag für größere Übungen\n",
    "Příliš žluťoučký kůň úpěl ďábelské ódy\n",
    "İstanbul'da güneşli bir gün geçiriyoruz, değil mi\n",
)


@pytest.mark.parametrize(
    ("text", "encoding", "label"),
    [
        (ZH, "gbk", "GB18030"),
        (ZH, "gb18030", "GB18030"),
        (ZH_TW, "big5", "BIG5"),
        (JA, "shift-jis", "CP932"),
        (JA, "euc-jp", "EUC-JP"),
        (KO, "euc-kr", "CP949"),
        (RU, "cp1251", "WINDOWS-1251"),
        (RU, "koi8-r", "KOI8-R"),
        (EL, "cp1253", "WINDOWS-1253"),
        (CS, "cp1250", "WINDOWS-1250"),
        (TR, "cp1254", "WINDOWS-1254"),
        (DE, "latin-1", "WINDOWS-1252"),
        ("“Quotes” – and a price of 5 €\n", "cp1252", "WINDOWS-1252"),
        (RU, "cp866", "CP866"),
        (RU, "iso8859-5", "ISO-8859-5"),
        (PL, "cp1250", "WINDOWS-1250"),
        (PL, "iso8859-2", "ISO-8859-2"),
        (HU, "cp1250", "WINDOWS-1250"),
        (LV, "cp1257", "WINDOWS-1257"),
        (KO, "johab", "JOHAB"),
        (FR, "cp1252", "WINDOWS-1252"),
        ("Müller\n", "latin-1", "WINDOWS-1252"),
        *[
            (text, f"utf-{bits}-{order}", f"UTF-{bits}{order.upper()}")
            for text in (ZH, JA, KO, RU, DE, KA)
            for bits in (16, 32)
            for order in ("le", "be")
        ],
    ],
)
def test_the_likeliest_encoding_is_suggested(refused, text, encoding, label):
    said = refused(text.encode(encoding))
    assert f"iconv -f {label} -t UTF-8" in said and said.startswith("FILE:1: byte ")
    if not label.startswith("UTF"):
        assert f"iconv -f {label} -t UTF-8" in refused(b"plain words come first\n" * 50_000 + text.encode(encoding))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a \xc0\xaf b", "byte 2 (0xc0) is not UTF-8; an overlong form, which UTF-8 forbids; mend this line"),
        (b"a \xe0\x80\xaf b", "byte 2 (0xe0) is not UTF-8; an overlong form, which UTF-8 forbids; mend this line"),
        (b"a \xf0\x82\x82\xac b", "byte 2 (0xf0) is not UTF-8; an overlong form, which UTF-8 forbids; mend this line"),
        ("schön \ud83d\ude00 größer".encode("utf-8", "surrogatepass"), "half of a surrogate pair, as CESU-8 and old Java programs write"),
        (b"a \xf4\x90\x80\x80 b", "byte 2 (0xf4) is not UTF-8; beyond U+10FFFF, the last code point; mend this line"),
        (b"a\xffb", "byte 1 (0xff) is not UTF-8; it may be Latin-1/cp1252: iconv -f WINDOWS-1252 -t UTF-8"),
        (b"vw\xb2", "byte 2 (0xb2) is not UTF-8; convert the file to UTF-8 with iconv, if it is text"),
        (b"\x80\x04\x95\x10\x00\x00\x01\x02", "this is no text but binary data; give plain text, one sentence a line"),
        (
            b"a\n" + bytes(4096),
            "FILE:2: byte 2 (0x00) is NUL, which text never holds; it is NUL from there on, as a crash leaves files: fetch",
        ),
        (b"a\0b\x01c\x02d\x03e", "is NUL, which text never holds; this is binary data, not text"),
    ],
)
def test_forms_that_utf_8_forbids_are_told_from_other_encodings(refused, content, words):
    assert words in refused(content)


def test_lines_of_two_encodings_are_told_from_a_file_in_another(refused):
    for half in ((ZH * 9).encode(), (DE * 9).encode()):
        for other in (ZH.encode("gbk"), DE.encode("latin-1"), JA.encode("shift-jis")):
            assert "mixes encodings: mend this line" in refused(half + other + half)
