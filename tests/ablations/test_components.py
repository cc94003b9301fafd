"""The catalogue agrees with ModelConfig, and every switch in it is alive in a built model."""

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from ablations import components as catalogue
from ablations.components import COMPONENTS, OPEN_SETS, PROPERTIES, SIZES, Component
from models.config import ConfigError, ModelConfig

NAMES = [component.name for component in COMPONENTS]
CLOSED = [component for component in COMPONENTS if component.values]
NUMBERS = [component for component in COMPONENTS if not component.values and component.name not in OPEN_SETS]


def test_every_field_of_a_model_is_a_component_or_a_size() -> None:
    assert sorted(NAMES + list(SIZES)) == sorted(field.name for field in fields(ModelConfig))


def test_open_sets_are_the_strings_of_a_model_that_are_no_closed_choice() -> None:
    strings = {name for name, kind in get_type_hints(ModelConfig).items() if kind is str}
    assert set(OPEN_SETS) == strings


@pytest.mark.parametrize("component", CLOSED, ids=lambda component: component.name)
def test_closed_choices_are_those_of_the_type(component: Component) -> None:
    assert catalogue.choices(component) == list(component.values)
    assert set(component.properties) <= set(component.values)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_the_default_stands_first_and_every_value_is_explained(component: Component) -> None:
    values = catalogue.choices(component)
    if values and catalogue.default(component) is not None:
        assert values[0] == catalogue.default(component)
    for value in values:
        assert catalogue.meaning(component, value)
        assert set(catalogue.properties(component, value)) <= set(PROPERTIES)


@pytest.mark.parametrize("component", NUMBERS, ids=lambda component: component.name)
def test_numbers_and_switches_have_an_example_other_than_the_default(component: Component) -> None:
    assert component.example is not None
    assert component.example != catalogue.default(component)


@pytest.mark.parametrize("name", [n for n, kind in get_type_hints(ModelConfig).items() if get_origin(kind) is Literal])
def test_a_value_outside_the_choices_is_refused(name: str) -> None:
    assert name in NAMES
    values: dict[str, Any] = {name: "nonsense"}
    with pytest.raises(ConfigError, match=f"{name}='nonsense'"):
        ModelConfig(**values)
    assert "nonsense" not in get_args(get_type_hints(ModelConfig)[name])
