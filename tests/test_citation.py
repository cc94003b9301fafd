"""CITATION.cff has what the Citation File Format 1.2.0 wants, and agrees with pyproject.toml and LICENSE."""

import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

KEYS = {
    "cff-version",
    "message",
    "title",
    "type",
    "abstract",
    "authors",
    "version",
    "license",
    "keywords",
    "references",
}


def test_it_has_the_keys_of_the_format() -> None:
    assert CITATION.keys() == KEYS
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["type"] == "software"
    assert CITATION["authors"] == [{"name": "The transformer-ablations authors"}]
    for key in KEYS - {"authors", "keywords", "references"}:
        assert isinstance(CITATION[key], str), key
        assert CITATION[key].strip(), key
    assert len(set(CITATION["keywords"])) == len(CITATION["keywords"]) >= 3


def test_it_agrees_with_the_project_and_its_licence() -> None:
    assert CITATION["title"] == PROJECT["name"]
    assert CITATION["version"] == PROJECT["version"]
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert CITATION["license"] == PROJECT["license"] == licence.split()[0]
    assert CITATION["authors"][0]["name"].lower() in licence.lower()


def test_it_names_the_paper_and_the_lecture() -> None:
    paper, lecture = CITATION["references"]
    assert (paper["title"], paper["year"], len(paper["authors"])) == ("Attention Is All You Need", 2017, 8)
    assert "1706.03762" in paper["url"]
    assert all(author.keys() == {"given-names", "family-names"} for author in paper["authors"])
    assert "CS224N" in lecture["title"]
    assert "lecture 8" in lecture["title"]
    assert lecture["authors"]
