"""What the catalogue says of a component, as Markdown for its page: text, equation, values, YAML, example, sources."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ablations import components as catalogue
from ablations import describe
from ablations.components import Component
from ablations.explain import cell_text
from ablations.worked import EXAMPLES, Example, Table
from models.build import check_kind
from models.config import ConfigError, ModelConfig
from reports.pages.markdown import escape
from reports.pages.published import grid


def of_component(component: Component) -> Iterator[str]:
    """What it is, its equation, its values, how to switch it and a worked example where there is one."""
    files = ", ".join(f"[{path}](../../{path})" for path in component.where.split(", "))
    yield f"## `{component.name}`"
    says = component.lecture.removeprefix("Not in the lecture: ")
    place = f"Lecture: {component.section}" if component.section else "Not in the lecture"
    yield f"{says[0].upper()}{says[1:]} ({place}; {files})"
    yield f"```math\n{component.latex}\n```"
    yield _values(component)
    yield "\n".join(_switch(component))
    if component.name in EXAMPLES:
        yield from _example(EXAMPLES[component.name]())


def _values(component: Component) -> str:
    """A table of the values; of a number or a switch its type and default."""
    values = catalogue.choices(component)
    rows = [
        [
            f"`{value}`" + (" (default)" if value == catalogue.default(component) else ""),
            catalogue.meaning(component, value).replace("|", "\\|"),
            ", ".join(catalogue.properties(component, value)).replace("_", " "),
        ]
        for value in values
    ]
    return grid(("value", "what it does", "properties"), rows, texts=3) if values else f"Values: {span(component)}."


def span(component: Component) -> str:
    """Type and default of a number or a switch: `any whole number; default 4`."""
    return f"{describe.values(component)}; default `{describe.plain(catalogue.default(component))}`"


TRANSFORMER: dict[str, Any] = {"architecture": "encoder-decoder"}
LSTM: dict[str, Any] = {"architecture": "lstm", "cross_attention": "dot"}


def _switch(component: Component) -> Iterator[str]:
    """Lines of a study on `german` that switch the component, and the command to try next."""
    base = next(base for base in (TRANSFORMER, LSTM) if _others(component, base))
    yield "In an experiment of a study (the values are those that this base can have):\n"
    yield "```yaml"
    yield "task: {name: german}"
    yield f"model: {{{', '.join(f'{name}: {value}' for name, value in base.items())}}}"
    yield f"vary: {{model.{component.name}: [{', '.join(map(plain, _others(component, base)))}]}}"
    yield "```\n"
    yield f"Or try `{component.next}`; `ablations explain {component.name}` prints the like in a terminal."


def _others(component: Component, base: Mapping[str, Any]) -> list[Any]:
    """The values other than its own that a base can have; of numbers an example."""
    values = catalogue.choices(component) or [component.example]
    own = getattr(ModelConfig(**base), component.name)
    return [value for value in values if value != own and _fits({component.name: value}, base)]


def _fits(changes: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    """Whether a translator of this base can have the value."""
    try:
        check_kind(ModelConfig(**{**base, **changes}), "translation")
    except ConfigError:
        return False
    return True


def _example(example: Example) -> Iterator[str]:
    yield f"**Worked example.** {escape(example.question)}"
    for table in example.tables:
        yield f"{escape(table.title)}:"
        yield _example_table(table)
    yield escape(example.answer)


def _example_table(table: Table) -> str:
    texts = sum(isinstance(cell, str) for cell in table.rows[0])
    rows = [[escape(cell_text(cell, table.decimals)) for cell in row] for row in table.rows]
    return grid([escape(column) for column in table.columns], rows, texts=texts)


def plain(value: Any) -> str:
    """A value as a study has it, a number in few digits."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


SOURCE = re.compile(r"(?:\(|: )([^():;]+? \d{4}, arXiv:\d{4}\.\d{4,5})")
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


def sources(components: Sequence[Component]) -> Iterator[str]:
    """The papers, each once."""
    found = [source for component in components for source in _papers(component)]
    if found:
        yield "## Sources"
        linked = (ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", source) for source in dict.fromkeys(found))
        yield "\n".join(f"- {source}" for source in linked)


def _papers(component: Component) -> Iterator[str]:
    yield from component.sources
    for value in catalogue.choices(component):
        yield from SOURCE.findall(catalogue.meaning(component, value))
