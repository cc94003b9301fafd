"""Plain dictionaries (from YAML or flags) into frozen configurations, with one-line refusals.

jsonargparse does the typing; this file turns what it says into a line that names field, value and what would be right.
"""

import difflib
import re
from dataclasses import MISSING, fields
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml
from jsonargparse import ArgumentError, ArgumentParser, get_loader, set_parsing_settings

from models.config import ConfigError

set_parsing_settings(docstring_parse_attribute_docstrings=True)

Config = TypeVar("Config")
_load = get_loader("yaml")


def load_yaml(text: str, source: str) -> Any:
    """Read YAML as jsonargparse does (`3e-3` is a number, PyYAML says text), refusing a key that stands twice.

    Raises ConfigError naming `source` and the line.
    """
    try:
        _refuse_duplicates(yaml.compose(text, Loader=yaml.SafeLoader), source)
        return _load(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{source}{line}: not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from error


def _refuse_duplicates(node: yaml.Node | None, source: str) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise ConfigError(
                    f"{source}:{key.start_mark.line + 1}: {key.value!r} stands twice; give each a name of its own"
                )
            seen.add(key.value)
            _refuse_duplicates(value, source)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_duplicates(value, source)


def parse_section(cls: type[Config], values: Any, where: str) -> Config:
    """Make a `cls` (a dataclass) of a dictionary.

    Raises ConfigError naming `where`, the field, the value and what would be right.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{where}={values!r}: expected a mapping of fields to values")
    _refuse_unknown(cls, values, where)
    try:
        parsed = _parser(cls).parse_object(values)  # type: ignore[arg-type]  # mypy: a dataclass is not hashable
    except ArgumentError as error:
        raise ConfigError(_explain(cls, values, where, str(error))) from error
    for name, value in values.items():  # jsonargparse reads "24" as 24, and takes null for anything
        misread = isinstance(value, str) and not isinstance(parsed[name], str)
        if misread or (value is None and type(None) not in get_args(get_type_hints(cls)[name])):
            raise ConfigError(_expected(cls, name, value, where))
    try:
        return cls(**{name: parsed[name] for name in (field.name for field in fields(cls))})  # type: ignore[arg-type]
    except ValueError as error:
        raise ConfigError(f"{where}.{error}") from error


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
    return str(kind) if get_args(kind) else kind.__name__
