"""docs/peers.md: every fact on another project has a source, and speeds are those that were measured."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "peers.md").read_text(encoding="utf-8")
MEASUREMENTS = (DOCS / "measurements.md").read_text(encoding="utf-8")
SOURCES = dict(re.findall(r"^\[([A-Z]\d+)\]: (\S+)$", PAGE, re.M))
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if re.match(r"\| [a-zB]", line)
]

NO_SOURCE = re.compile("none seen|not checked|no translation|none of its own|whatever |what Hydra's")
"""Cells that say that something was not found or does not apply."""


def test_every_source_is_cited_and_every_citation_has_a_source() -> None:
    body = re.sub(r"^\[[A-Z]\d+\]: .*$", "", PAGE, flags=re.M)
    assert set(re.findall(r"\[([A-Z]\d+)\]", body)) == SOURCES.keys()
    assert all(address.startswith("https://") for address in SOURCES.values())
    assert len(set(SOURCES.values())) == len(SOURCES)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_cell_has_its_source(row: list[str]) -> None:
    assert len(row) == 7
    for letter, cell in zip("ZMJTL", row[2:], strict=True):
        cited = re.findall(r"\[([A-Z])\d+\]", cell)
        assert cited or NO_SOURCE.search(cell), cell
        assert set(cited) <= ({letter}), cell


def test_speeds_are_those_of_the_measurements() -> None:
    speed = PAGE[PAGE.index("## Speed") : PAGE.index("## Sources")]
    figures = re.findall(r"\d+\.\d+", speed.replace("2.3.0", ""))
    assert figures == ["3.58", "1.92", "7.35", "10.12", "0.56", "0.69"]
    peers = [
        "JoeyNMT 2,562",
        "JoeyNMT on our batches 4,746",
        "JoeyNMT 159",
        "JoeyNMT 38",
        "CTranslate2 2,064",
        "CTranslate2 566",
    ]
    for figure, peer in zip(figures, peers, strict=True):
        assert f"{peer} | {figure} (" in MEASUREMENTS
