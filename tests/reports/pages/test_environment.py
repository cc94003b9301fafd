"""What templates make of texts from outside."""

import pytest
from markupsafe import Markup

from reports.pages.environment import breakable, environment, visible


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\x85", "\u202e", "\u2066", "\ufffe"])
def test_what_cannot_be_seen_is_shown_by_a_sign(character: str) -> None:
    assert visible(f"a{character}b") == "a\N{REPLACEMENT CHARACTER}b"
    shown = environment().from_string('<i title="{{ name }}">{{ name }}</i>').render(name=f"<{character}>")
    assert shown == '<i title="&lt;\ufffd&gt;">&lt;\ufffd&gt;</i>'


@pytest.mark.parametrize("text", ["two\nlines\tand", "عربي", "👩\u200d🔬", "a\N{NO-BREAK SPACE}b", "e\u0301"])
def test_other_letters_stay_as_they_are(text: str) -> None:
    assert visible(text) == text


def test_markup_and_what_is_no_text_are_left_alone() -> None:
    assert visible(Markup("<b>\x1b</b>")) == "<b>\x1b</b>"
    assert visible(3) == 3


def test_names_may_break_after_commas() -> None:
    assert breakable("a=<b>,c\x1b") == "a=&lt;b&gt;,<wbr>c\ufffd"
