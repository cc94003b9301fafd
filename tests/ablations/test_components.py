"""The catalogue agrees with ModelConfig, and every switch in it is alive in a built model."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import torch
import yaml
from torch import Tensor

from ablations import components as catalogue
from ablations.cli import main
from ablations.components import COMPONENTS, OPEN_SETS, PROPERTIES, SECTIONS, SIZES, Component
from ablations.listing import SHIPPED
from ablations.load import load_study
from models.build import build_model
from models.config import RECURRENT, ConfigError, ModelConfig, TaskShape
from models.size import parameter_count

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_the_lectures_parts_have_section_and_equation_and_others_say_that_they_are_not_in_it(
    component: Component,
) -> None:
    assert component.equation
    assert (component.section in SECTIONS) is not component.lecture.startswith("Not in the lecture: ")
    assert component.section in ("", *SECTIONS)


def test_every_section_of_the_lecture_has_a_part() -> None:
    assert {component.section for component in COMPONENTS} == {"", *SECTIONS}


TRIED = [(component, *component.next.split()[1:]) for component in COMPONENTS]


@pytest.mark.parametrize("tried", [t for t in TRIED if t[1] == "run"], ids=lambda tried: tried[0].name)
def test_what_to_try_next_is_a_shipped_study_that_changes_the_part(tried: tuple[Any, ...]) -> None:
    component, _, name, *options = tried
    assert len(values_in(name, component.name, options[1:])) > 1


def values_in(study: str, field: str, overrides: list[str]) -> set[Any]:
    """What the models of a study have in a field, and its default where all of them are told otherwise."""
    try:
        found = load_study(study, overrides)
    except ConfigError as error:
        if "ABLATIONS_DATA" not in str(error):  # which a study of a corpus wants
            raise
        text = (SHIPPED / f"{study}.yaml").read_text(encoding="utf-8")
        return set(re.findall(rf"model\.{field}: ([\w.]+)", text))
    every = {getattr(settings.model, field) for spec in found.experiments for settings in spec.variants.values()}
    return every | {getattr(ModelConfig(), field)} if overrides else every


@pytest.mark.parametrize("tried", [t for t in TRIED if t[1] != "run"], ids=lambda tried: tried[0].name)
def test_or_a_run_with_another_value(
    tried: tuple[Any, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    component, verb, *flags = tried
    small = ["--train.steps", "1", "--task.test_size", "7", "--task.validation_size", "5", "--output", str(tmp_path)]
    assert verb == "train"
    assert main(["train", *flags, *small, "--json"]) == 0
    folder = Path(json.loads(capsys.readouterr().out)["folder"])
    model = json.loads((folder / "run.json").read_text(encoding="utf-8"))["config"]["model"]
    assert model[component.name] == yaml.safe_load(flags[-1])
    assert model[component.name] != catalogue.default(component)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_sources_are_there(component: Component) -> None:
    for path in component.where.split(", "):
        assert (ROOT / path).is_file()


def test_what_a_report_is_told_of_a_part() -> None:
    (mask,) = (component for component in COMPONENTS if component.name == "decoder_mask")
    told = catalogue.facts(mask, ["none", "after-softmax", "none", "unheard-of"])
    assert told == {
        "says": mask.lecture,
        "section": mask.section,
        "equation": mask.equation,
        "next": mask.next,
        "off": f"none: every position sees every other; after-softmax: {mask.values['after-softmax']}",
    }
    assert catalogue.facts(mask, [])["off"] == ""


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


SHAPE = TaskShape(kind="translation", input_sizes=(11,), output_size=11, shared_vocabulary=True, start=1, end=2)
TRANSFORMER: dict[str, Any] = {"architecture": "encoder-decoder", "d_model": 12, "n_heads": 3, "d_ff": 10, "window": 1}
LSTM: dict[str, Any] = {"architecture": "lstm", "d_model": 12, "d_hidden": 10, "cross_attention": "dot"}
OF_RECURRENT = ("forget_bias", "bidirectional", "input_feeding")


def values_of(component: Component) -> list[Any]:
    return catalogue.choices(component) or [component.example]


def pairs() -> list[tuple[Component, Any]]:
    """Every value of every component that a translator can have."""
    return [
        (component, value)
        for component in COMPONENTS
        for value in values_of(component)
        if (component.name, value) not in (("architecture", "encoder"), ("architecture", "decoder"))
    ]


def with_value(component: Component, value: Any) -> tuple[ModelConfig, ModelConfig]:
    """A base and the same with the value."""
    base = LSTM if component.name in OF_RECURRENT or value in ("dot", "additive") else TRANSFORMER
    if component.name == "architecture" and value in RECURRENT:
        return ModelConfig(**base), ModelConfig(**{**LSTM, "architecture": value})
    return ModelConfig(**base), ModelConfig(**{**base, component.name: value})


def logits(config: ModelConfig) -> Tensor:
    """What a model in training makes of one batch; the same seed draws its weights and its dropout."""
    model = build_model(config, SHAPE, seed=3).train()
    tokens = torch.arange(3, 11)
    real = torch.ones(2, 4, dtype=torch.bool)
    torch.manual_seed(0)
    made: Tensor = model(tokens.view(2, 4), real, tokens.flip(0).view(2, 4), real)
    return made


@pytest.mark.parametrize(("component", "value"), pairs(), ids=lambda part: getattr(part, "name", str(part)))
def test_every_value_is_alive_and_changes_the_size_as_declared(component: Component, value: Any) -> None:
    base, config = with_value(component, value)
    if config == base:
        return
    assert not torch.allclose(logits(config), logits(base), atol=1e-6)
    if catalogue.choices(component):
        changed = parameter_count(config, SHAPE) != parameter_count(base, SHAPE)
        assert changed is ("changes_size" in catalogue.properties(component, value))
