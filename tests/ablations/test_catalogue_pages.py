"""What the catalogue says of a component, as Markdown."""

import re

import pytest

from ablations import components as catalogue
from ablations.catalogue_pages import of_component, plain, sources, span
from ablations.components import COMPONENTS, Component
from ablations.load import make_study
from ablations.sections import load_yaml
from ablations.worked import EXAMPLES

BY_NAME = {component.name: component for component in COMPONENTS}


def text_of(component: Component) -> str:
    return "\n\n".join(of_component(component))


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_every_component_is_told_whole(component: Component) -> None:
    text = text_of(component)
    said = component.lecture.removeprefix("Not in the lecture: ")
    assert said[1:] in text
    assert ("Not in the lecture" in text) is (component.section == "")
    assert f"```math\n{component.latex}\n```" in text
    assert component.latex
    for value in catalogue.choices(component):
        assert re.search(rf"^\| `{value}`", text, re.M)
    assert ("**Worked example.**" in text) is (component.name in EXAMPLES)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_the_lines_of_a_study_switch_the_component(component: Component) -> None:
    (lines,) = re.findall(r"```yaml\n(.*?)```", text_of(component), re.S)
    plain = {"name": "mine", "experiments": {"german": load_yaml(lines, "page")}}
    (experiment,) = make_study(plain).experiments
    models = [getattr(settings.model, component.name) for settings in experiment.variants.values()]
    assert len(set(models)) == len(models) > 1


def test_braces_of_equations_are_paired() -> None:
    for component in COMPONENTS:
        assert component.latex.count("{") == component.latex.count("}"), component.name
        assert component.latex.count(r"\left(") == component.latex.count(r"\right)"), component.name


def test_a_worked_example_is_its_tables() -> None:
    text = text_of(BY_NAME["attention"])
    assert "| cat | (2, 0, 0, 0) | 4 | 2 | 7.389 | 0.610 | (10, 0) |" in text
    assert "| output | 6.351 | 2.493 |" in text


def test_the_first_lines_of_classes_and_their_properties_are_told() -> None:
    text = text_of(BY_NAME["position"])
    learned = "A trained vector for each position, added (Gehring et al. 2017, arXiv:1705.03122, 3.1)."
    assert f"| `learned` | {learned} | absolute, changes size |" in text
    assert "| `none` | No position signal. |  |" in text
    assert "| `sinusoidal` (default) |" in text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n_heads", "any whole number; default `4`"),
        ("d_head", "any whole number, or null: chosen to suit the rest; default `null`"),
        ("input_feeding", "true or false; default `false`"),
        ("gain", "any number; default `1.0`"),
    ],
)
def test_a_number_has_a_type_and_a_default(name: str, text: str) -> None:
    assert span(BY_NAME[name]) == text


def test_values_are_written_as_in_a_study() -> None:
    assert [plain(value) for value in (True, 0.05, 3, "none", 2.0)] == ["true", "0.05", "3", "none", "2"]


def test_sources_are_those_of_the_component_and_of_the_docstrings_each_once() -> None:
    (head, lines) = sources([BY_NAME["n_heads"], BY_NAME["position"]])
    assert head == "## Sources"
    assert [line.split(",")[0] for line in lines.splitlines()] == [
        *("- Vaswani et al. 2017", "- Michel et al. 2019", "- Gehring et al. 2017", "- Su et al. 2021"),
        *("- Press et al. 2022", "- Raffel et al. 2020"),
    ]
    assert "[arXiv:1705.03122](https://arxiv.org/abs/1705.03122)" in lines
    assert list(sources([BY_NAME["gain"]])) == []
