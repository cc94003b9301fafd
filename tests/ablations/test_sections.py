"""Dictionaries into configurations: values keep their meaning, wrong ones are refused in one line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from ablations.sections import load_yaml, parse_section, read_yaml
from models.config import ConfigError


@dataclass(frozen=True, kw_only=True)
class Config:
    needed: int
    """A whole number."""
    lr: float = 0.1
    """A rate."""
    name: str = "a"
    """A name."""
    choice: Literal["one", "two"] = "one"
    """A choice."""
    width: int | None = None
    """A width."""
    lengths: tuple[int, ...] = ()
    """Lengths."""
    maybe: Literal["one", "two"] | None = None
    """A choice, or none."""
    inner: dict[str, Any] = field(default_factory=dict)
    """A section that is read later."""
    seeds: int | list[int] | None = None
    """How many, or which."""

    def __post_init__(self) -> None:
        if self.needed < 0:
            raise ConfigError(f"needed={self.needed}: must be at least 0")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("3e-3", 3e-3),
        ("1E5", 1e5),
        ("2", 2),
        ("none", "none"),
        ("no", False),
        ("'no'", "no"),
        ("[1, 2]", [1, 2]),
    ],
)
def test_yaml_values_mean_what_they_look_like(text: str, value: Any) -> None:
    loaded = load_yaml(f"x: {text}", "file")["x"]
    assert loaded == value
    assert type(loaded) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "s.yaml:3: 'a' stands twice"),
        ("v:\n  x: {p: 1}\n  x: {p: 2}", "s.yaml:3: 'x' stands twice"),
        ("l: [{a: 1, a: 2}]", "s.yaml:1: 'a' stands twice"),
        ("a: [1, 2", "s.yaml:1: not YAML"),
        ("a: b: c", "s.yaml:1: not YAML"),
        ("a: 1\n? [1, 2]\n: 2", "s.yaml:2: a list or a mapping as a key"),
        ("a: &x\n  b: [1, *x]", "s.yaml:1: holds itself"),
    ],
)
def test_yaml_faults_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_yaml(text, "s.yaml")
    assert "\n" not in str(caught.value)


def test_an_anchor_may_be_used_again() -> None:
    assert load_yaml("a: &x {p: 1}\nb: *x\nc: [*x, *x]", "s.yaml") == {
        "a": {"p": 1},
        "b": {"p": 1},
        "c": [{"p": 1}] * 2,
    }


def test_a_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"name: \xfc")
    with pytest.raises(ConfigError, match=r"a\.yaml: not UTF-8 \(byte 6\)"):
        read_yaml(path)


def test_good_values_are_taken() -> None:
    config = parse_section(Config, {"needed": 3, "lr": 1, "width": 7, "lengths": [2, 3]}, "here")
    assert config == Config(needed=3, lr=1.0, width=7, lengths=(2, 3))
    assert type(config.lr) is float


def test_what_stands_in_an_inner_section_is_left_as_it_is() -> None:
    """So that the section itself can refuse it."""
    inner = {"beam": "5", "steps": "1e3", "list": ["2"], "deep": {"x": "true"}}
    found = parse_section(Config, {"needed": 3, "inner": inner}, "here").inner
    assert found == {"beam": "5", "steps": "1e3", "list": ["2"], "deep": {"x": "true"}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "here.needed is missing"),
        ({"needed": 1, "choise": "one"}, "here.choise='one': no such field; did you mean 'choice'?"),
        (
            {"needed": 1, "zzz": 1},
            "here.zzz=1: no such field; the fields are needed, lr, name, choice, width, lengths, maybe, inner, seeds",
        ),
        ({"needed": "24"}, "here.needed='24': expected int"),
        ({"needed": 2.5}, "here.needed=2.5: expected int"),
        ({"needed": True}, "here.needed=True: expected int"),
        ({"needed": 1, "lr": "fast"}, "here.lr='fast': expected float"),
        ({"needed": 1, "lr": "3e-3"}, "here.lr='3e-3': expected float"),
        ({"needed": 1, "name": False}, "here.name=False: expected str"),
        ({"needed": 1, "choice": "three"}, "here.choice='three': expected one of one, two"),
        ({"needed": 1, "choice": False}, "here.choice=False: expected one of one, two"),
        ({"needed": 1, "width": "wide"}, "here.width='wide': expected int or null"),
        ({"needed": 1, "lengths": 3}, r"here.lengths=3: expected tuple\[int, ...\]"),
        ({"needed": 1, "maybe": "three"}, "here.maybe='three': expected one of one, two or null"),
        ({"needed": -1}, "here.needed=-1: must be at least 0"),
        ({"needed": None}, "here.needed=None: expected int"),
        ({"needed": 1, "lengths": [2, "3"]}, r"here.lengths=\[2, '3'\]: expected tuple\[int, ...\]"),
        ({"needed": 1, "seeds": ["0"]}, r"here.seeds=\['0'\]: expected int or list\[int\] or null"),
        ({"needed": 1, "inner": [1]}, r"here.inner=\[1\]: expected a mapping"),
        ({"needed": 1, "lr": None}, "here.lr=None: expected float"),
        ({"needed": 1, "lengths": None}, r"here.lengths=None: expected tuple\[int, ...\]"),
        ([1], r"here=\[1\]: expected a mapping"),
    ],
)
def test_wrong_values_are_refused_in_one_line(values: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("|", r"\|").replace("?", r"\?")) as caught:
        parse_section(Config, values, "here")
    assert "\n" not in str(caught.value)
