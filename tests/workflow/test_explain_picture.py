"""An explanation as a PNG."""

import struct
import sys

import pytest

from hexapla.errors import ConfigError
from hexapla.workflow.explain import explain
from hexapla.workflow.explain_picture import fonts, picture

pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra plots")


def size(png: bytes) -> tuple[int, int]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize("topic", ["masking", "positions", "beam"])  # a heat map, two plots of curves, bars
def test_it_is_a_picture_of_a_slide_s_shape(topic):
    assert size(picture(explain(topic))) == (1500, 843)


def test_no_setting_of_matplotlib_outlives_it():
    import matplotlib

    before = dict(matplotlib.rcParams)
    picture(explain("masking"))
    assert dict(matplotlib.rcParams) == before


def test_chinese_is_drawn_where_a_font_has_it_and_refused_where_none_does(monkeypatch):
    from matplotlib.font_manager import fontManager

    monkeypatch.setattr(type(fontManager), "get_font_names", lambda manager: ["DejaVu Sans"])
    assert fonts("en") == ["DejaVu Sans"]
    with pytest.raises(ConfigError, match=r"--png --lang zh: none of the fonts .* is installed; install one, or use --lang en"):
        picture(explain("masking"), "zh")
    monkeypatch.setattr(type(fontManager), "get_font_names", lambda manager: ["DejaVu Sans", "SimHei"])
    assert fonts("zh") == ["DejaVu Sans", "SimHei"]


def test_every_character_is_in_a_font():
    try:
        fonts("zh")
    except ConfigError:
        pytest.skip("no font for Chinese is installed")
    picture(explain("beam"), "zh")  # a missing character is a warning, and a warning an error


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"--png needs matplotlib \(.*\); install it: pip install 'hexapla\[plots\]'"):
        picture(explain("masking"))
