"""`ablations explain`: what is gathered of a component, and how it is printed."""

import json
import re
from typing import Any

import pytest

from ablations.components import COMPONENTS, HEADS, LOOK_UP, SECTIONS, choices, default
from ablations.explain import WIDTH, as_text, cell_text, explain, find, paragraph, table_text
from ablations.worked import EXAMPLES, Table
from models.config import ConfigError
from reports.entries import registered


def claim(name: str, *changes: str, section: str = LOOK_UP, studies: tuple[str, ...] = ("lecture", "look-up")) -> Any:
    return {
        "id": name,
        "kind": "exact",
        "section": section,
        "statement": f"Statement of {name}.",
        "studies": list(studies),
        "changes": list(changes),
    }


CLAIMS = [
    claim("keys", "model.attention", "task.pairs"),
    claim("near"),
    claim("prefix", "model.attention_other"),
    claim("elsewhere", "model.scale", section=HEADS),
    claim("both", "model.attention", section=HEADS, studies=("lecture-real",)),
]


def test_claims_are_those_that_change_the_component_and_nearby_the_rest_of_its_section() -> None:
    found = explain("attention", CLAIMS)
    assert [entry["id"] for entry in found["claims"]] == ["keys", "both"]
    assert found["nearby"] == ["near", "prefix"]
    assert found["studies"] == ["lecture", "look-up", "lecture-real"]
    assert found["default"] == "softmax"
    assert found["section"] == LOOK_UP
    assert found["next"] == "ablations run look-up"


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_every_component_is_explained_whole_and_as_json(component: Any) -> None:
    found = explain(component.name, registered())
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))
    text = as_text(found)
    assert text.startswith(f"{component.name}: {component.section or 'not in the lecture'}\n")
    flowing = " ".join(text.split())
    said = component.lecture.removeprefix("Not in the lecture: ")
    assert text.lower().count("not in the lecture") == (not component.section)
    for part in (
        said[0].upper() + said[1:],
        f"Equation: {component.equation}",
        component.where,
        f"Try next: {component.next}",
    ):
        assert " ".join(part.split()) in flowing
    shown = re.findall(r"^  (\S+) +\(default\) ", text, re.M)
    assert shown == ([default(component)] if choices(component) and default(component) is not None else [])
    for entry in found["claims"]:
        assert f"  {entry['id']} " in text
        assert f"ablations run {entry['studies'][-1]}]" in flowing
    assert ("Worked example." in text) == (component.name in EXAMPLES) == (found["example"] is not None)
    assert ("No claim of the register" in text) == (not found["claims"])


def test_of_the_studies_of_a_claim_the_last_is_named_which_is_the_smallest() -> None:
    assert "[exact; ablations run look-up]" in as_text(explain("attention", CLAIMS))
    assert "[exact; ablations run lecture-real]" in as_text(explain("attention", CLAIMS))


def test_a_component_outside_the_lecture_has_no_neighbours() -> None:
    found = explain("gain", [claim("other", section="")])
    assert "Other claims" not in as_text({**found, "nearby": ["other"]})


def test_every_claim_of_the_register_stands_in_a_section_that_a_component_has() -> None:
    assert {entry["section"] for entry in registered()} == set(SECTIONS)


@pytest.mark.parametrize("name", ["decoder_mask", "decoder-mask"])
def test_hyphens_will_do(name: str) -> None:
    assert find(name).name == "decoder_mask"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("atention", "component 'atention': did you mean attention, cross_attention?"),
        ("mask", "component 'mask': did you mean decoder_mask, encoder_mask?"),
        ("norm_place", "component 'norm_place': did you mean norm_placement"),
        ("xyz", "component 'xyz': one of architecture, n_layers, position,"),
        ("", "component '': one of architecture, "),
    ],
)
def test_another_name_is_refused_with_those_that_are_near(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find(name)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_tables_put_texts_left_and_numbers_right() -> None:
    table = Table(title="t", columns=("word", "n", "share"), rows=[("a", 12345, -0.25), ("long", 7, 1.0)], decimals=2)
    assert table_text(table) == (
        "    word       n  share\n"  #
        "    a     12,345  −0.25\n"
        "    long       7   1.00"
    )


def test_no_line_of_text_is_too_wide_and_no_word_is_broken() -> None:
    words = ["an-unbroken-word-of-some-length"] * 11
    lines = paragraph(" ".join(words)).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert " ".join(lines).split() == words


@pytest.mark.parametrize(
    ("cell", "shown"), [("−x", "−x"), (-1234, "−1,234"), (0.12345, "0.123"), (-0.5, "−0.500"), (1e6, "1000000.000")]
)
def test_cells(cell: Any, shown: str) -> None:
    assert cell_text(cell, 3) == shown
