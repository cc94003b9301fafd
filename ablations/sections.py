"""Plain dictionaries (from YAML or flags) into frozen configurations, with one-line refusals.

jsonargparse does the typing; this file turns what it says into a line that names field, value and what would be right.
"""

import difflib
import re
from copy import deepcopy
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml
from jsonargparse import ArgumentError, ArgumentParser, get_loader, set_parsing_settings

from models.config import ConfigError

set_parsing_settings(docstring_parse_attribute_docstrings=True)

Config = TypeVar("Config")
_load = get_loader("yaml")


def read_yaml(path: Path) -> Any:
    """The values of a YAML file. Raises ConfigError as `load_yaml` does, and for a file that is not UTF-8."""
    try:
        return load_yaml(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 (byte {error.start})") from error


def load_yaml(text: str, source: str) -> Any:
    """Read YAML as jsonargparse does (`3e-3` is a number, PyYAML says text), refusing a key that stands twice.

    Raises ConfigError naming `source` and the line.
    """
    try:
        _check_keys(yaml.compose(text, Loader=yaml.SafeLoader), source)
        return _load(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{source}{line}: not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from error


def _check_keys(node: yaml.Node | None, source: str, around: tuple[yaml.Node, ...] = ()) -> None:
    """Refuse a key that stands twice or is no plain value, and what holds itself (by an anchor)."""
    if node in around:
        raise ConfigError(f"{source}:{node.start_mark.line + 1}: holds itself")
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            where = f"{source}:{key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{where}: a list or a mapping as a key; give it a name")
            if key.value in seen:
                raise ConfigError(f"{where}: {key.value!r} stands twice; give each a name of its own")
            seen.add(key.value)
            _check_keys(value, source, (*around, node))
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_keys(value, source, (*around, node))


def parse_section(cls: type[Config], values: Any, where: str) -> Config:
    """Make a `cls` (a dataclass) of a dictionary.

    Raises ConfigError naming `where`, the field, the value and what would be right.
    """
    given = read_fields(cls, values, where)
    try:
        return cls(**given)
    except ValueError as error:
        raise ConfigError(f"{where}.{error}") from error


def read_fields(cls: type, values: Any, where: str) -> dict[str, Any]:
    """The fields that a dictionary gives, by name.

    Raises ConfigError for a name that is no field, a value of another type and a field that is missing.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{where}={values!r}: expected a mapping of fields to values")
    _refuse_unknown(cls, values, where)
    hints = get_type_hints(cls)
    for name, value in values.items():  # jsonargparse takes null for anything
        if value is None and type(None) not in get_args(hints[name]):
            raise ConfigError(_expected(cls, name, value, where))
    try:
        own = deepcopy(values)  # jsonargparse writes what it reads into what it is given
        parsed = _parser(cls).parse_object(own)
    except ArgumentError as error:
        raise ConfigError(_explain(cls, values, where, str(error))) from error
    for name, value in values.items():
        if get_origin(hints[name]) is dict:  # a section of its own, read where its fields are known
            parsed[name] = value
        elif _is_misread(value, parsed[name]):
            raise ConfigError(_expected(cls, name, value, where))
    return {name: parsed[name] for name in values}


def _is_misread(given: Any, read: Any) -> bool:
    """Whether text became something else, alone or in a list: jsonargparse reads "24" as 24."""
    if isinstance(given, str):
        return not isinstance(read, str)
    if isinstance(given, list | tuple) and isinstance(read, list | tuple):
        return any(map(_is_misread, given, read))
    return False


@cache
def _parser(cls: type) -> ArgumentParser:
    """Made once a class: a study has a thousand sections, and making a parser takes as long as all else."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(cls, None)
    return parser


def _refuse_unknown(cls: type, values: dict[Any, Any], where: str) -> None:
    names = [field.name for field in fields(cls)]
    for name in values:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(names)}"
            raise ConfigError(f"{where}.{name}={values[name]!r}: no such field; {hint}")
    for field in fields(cls):
        if field.default is MISSING and field.default_factory is MISSING and field.name not in values:
            raise ConfigError(f"{where}.{field.name} is missing")


def _explain(cls: type, values: dict[str, Any], where: str, message: str) -> str:
    found = re.search(r'key "([^".]+)', message)
    if found is None or found[1] not in values:
        return f"{where}: {' '.join(message.split())}"
    return _expected(cls, found[1], values[found[1]], where)


def _expected(cls: type, name: str, value: Any, where: str) -> str:
    return f"{where}.{name}={value!r}: expected {_type_name(get_type_hints(cls)[name])}"


def _type_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_type_name, get_args(kind)))
    if kind is type(None):
        return "null"
    if get_origin(kind) is dict:
        return "a mapping"
    return str(kind) if get_args(kind) else kind.__name__
