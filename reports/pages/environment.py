"""How the templates of the pages are filled: everything is text unless it says otherwise, and can be seen."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.figures import palette
from reports.pages.columns import meanings
from reports.wording import SYMBOLS, estimate, sentence

TEMPLATES = Path(__file__).parent / "templates"

UNSEEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""Control characters, and those that turn round the direction of the text after them."""


def environment() -> Environment:
    """Templates in which a text shows as it stands, whatever is in it, with the colours of light and dark paper."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    found.globals |= {
        "symbols": SYMBOLS,
        "estimate": estimate,
        "variable": palette.variable,
        "sentence": sentence,
        "breakable": breakable,
        "meanings": meanings,
        "light": palette.properties(palette.LIGHT),
        "dark": palette.properties(palette.DARK),
    }
    return found


def breakable(name: str) -> Markup:
    """A name that may go on on the next line after each comma."""
    return Markup(str(escape(visible(name))).replace(",", ",<wbr>"))


def visible(value: Any) -> Any:
    """A text from outside with a replacement character for each of UNSEEN; anything else as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value)
