"""Register and verdicts as plain dictionaries: nothing is lost, and JSON can hold it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports import claims
from reports.entries import judged, plain, registered
from reports.regions import Region
from reports.register import ARCHITECTURE, Claim, Condition, read_register
from reports.rows import RowsError, read_study
from reports.table import make_tables
from reports.verdicts import Judged, Verdict

Maker = Callable[..., Any]


def condition(**changed: Any) -> Condition:
    common: dict[str, Any] = {"text": "x", "compare": "difference", "metric": "loss", "split": "test"}
    return Condition(**{**common, "experiment": "e", "variant": {}, "region": Region(low=0.1), **changed})


def claim(*conditions: Condition) -> Claim:
    texts = dict.fromkeys(("id", "section", "statement", "experiment", "held_equal", "counter_evidence", "note"), "c")
    others: dict[str, Any] = {**texts, "studies": ("s",), "conditions": conditions}
    return Claim(**others, kind="exact", settings={"train.steps": 3}, seeds=3)


def changes(*conditions: Condition) -> list[str]:
    (entry,) = registered([claim(*conditions)])
    found: list[str] = entry["changes"]
    return found


def test_what_a_claim_is_about_counts_among_its_changes() -> None:
    (entry,) = registered([replace(claim(condition(against={"train.lr": 3})), about=("model.norm",))])
    assert entry["changes"] == ["model.norm", "train.lr"]


def test_every_field_of_every_claim_is_there_and_is_json() -> None:
    entries = registered()
    assert [entry["id"] for entry in entries] == [claim.id for claim in read_register()]
    assert set(entries[0]) == {field.name for field in fields(Claim)} | {"changes"}
    assert set(entries[0]["conditions"][0]) == {field.name for field in fields(Condition)}
    assert json.loads(json.dumps(entries, allow_nan=False)) == entries
    (made_up,) = registered([claim(condition(), condition(region=Region(low=0.5, high=2.0, ratio=True)))])
    assert [part["region"] for part in made_up["conditions"]] == ["at least 0.1", "a ratio between 0.5 and 2"]
    assert made_up["settings"] == {"train.steps": 3}


NORM, SCALE = {"model.norm": "rms"}, {"model": {"scale": "none"}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"variant": NORM}, ["model.norm"]),
        ({"variant": SCALE, "compare": "level"}, ["model.scale"]),
        ({"variant": {}, "against": NORM}, ["model.norm"]),
        ({"variant": {**NORM, **SCALE}, "against": NORM}, ["model.scale"]),
        ({"variant": NORM, "against": {"model.norm": "none"}}, ["model.norm"]),
        ({"variant": NORM, "against": NORM, "compare": "level"}, ["model.norm"]),
        ({"variant": NORM, "against": None, "compare": "exact"}, ["model.norm"]),
        ({"variant": {"model.d_head": None}}, ["model.d_head"]),
        ({"over": "task.distance", "summary": "slope"}, ["task.distance"]),
        ({"over": "distance", "summary": "slope"}, []),
        (
            {"compare": "interaction", "variant": NORM, "less_variant": {**NORM, "train.warmup": 0}},
            ["model.norm", "train.warmup"],
        ),
        ({"variant": {"model": {"architecture": "rnn", "d_hidden": 8}, "train.lr": 1}}, [ARCHITECTURE, "train.lr"]),
        (
            {
                "variant": {"model": {"architecture": "rnn", "cross_attention": "dot"}},
                "against": {"model": {"architecture": "rnn", "cross_attention": "none"}},
            },
            ["model.cross_attention"],
        ),
    ],
)  # fmt: skip
def test_changes_are_what_the_sides_differ_in_and_the_axis(fields: Mapping[str, Any], expected: list[str]) -> None:
    assert changes(condition(**fields)) == expected


def test_changes_of_a_claim_are_those_of_all_conditions_each_once() -> None:
    assert changes(condition(variant=SCALE), condition(variant=NORM), condition(variant=SCALE)) == [
        "model.norm",
        "model.scale",
    ]


def test_what_is_no_plain_value_becomes_one() -> None:
    mixed = {
        3: (np.float64(0.5), np.int64(4), float("nan"), -float("inf"), None, True, "text"),
        "sets": {7},
        "region": Region(high=-0.5, closed=False),
        "path": Path("a/b"),
    }
    found = plain(mixed)
    assert found == {
        "3": [0.5, 4, None, None, None, True, "text"],
        "sets": [7],
        "region": "below −0.5",
        "path": "a/b",
    }
    assert [type(part) for part in found["3"]][:2] == [float, int]
    assert found["3"][5] is True


def test_verdicts_are_those_of_the_report_with_their_words(quick: Path) -> None:
    found = judged(quick)
    expected = claims.verdicts(make_tables(read_study(quick)))
    assert [(v["id"], v["outcome"], v["reason"], v["provisional"]) for v in found["verdicts"]] == [
        (v.id, v.outcome, v.reason, v.provisional) for v in expected
    ]
    assert len(expected) == 4
    assert set(found["verdicts"][0]) == {field.name for field in fields(Verdict)} | {"symbol"}
    assert set(found["verdicts"][0]["conditions"][0]) == {field.name for field in fields(Judged)} | {
        "symbol",
        "estimate",
    }
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for entry, verdict in zip(found["verdicts"], expected, strict=True):
        assert entry["symbol"] == {"supported": "✓", "not supported": "✗", "inconclusive": "?"}[verdict.outcome]
        for part, judged_part in zip(entry["conditions"], verdict.conditions, strict=True):
            assert part["value"] == judged_part.value
            assert part["bounds"] == part["region"]
            assert part["per_seed"] == {str(seed): value for seed, value in judged_part.per_seed.items()}
    assert found["tally"] == "4 supported"
    assert found["study"] == "quick"


def test_claims_of_other_studies_are_named_by_the_first_that_tests_them(quick: Path) -> None:
    found = judged(quick)
    here = {verdict["id"] for verdict in found["verdicts"]}
    elsewhere = [name for names in found["elsewhere"].values() for name in names]
    assert sorted([*here, *elsewhere]) == sorted(claim.id for claim in read_register())
    first = {claim.id: claim.studies[0] for claim in read_register()}
    assert all(first[name] == study for study, names in found["elsewhere"].items() for name in names)
    assert "lecture-real" in found["elsewhere"]


def test_claims_without_runs_are_listed_with_the_reason(make: Maker) -> None:
    study = make("quick", (0, 1))
    study.experiment("german", {"no-positions": {"model.position": "none"}})
    found = judged(study.write())
    assert [verdict["outcome"] for verdict in found["verdicts"]] == ["not run"] * 4
    reasons = [verdict["reason"] for verdict in found["verdicts"]]
    assert reasons[2] == "no seed has a value"
    assert "no variant has model.decoder_mask: none and nothing else changed" in reasons[0]
    assert {part["estimate"] for verdict in found["verdicts"] for part in verdict["conditions"]} == {"–"}
    assert found["tally"] == "4 not run"


def test_a_study_of_no_claim_has_no_verdict(make: Maker) -> None:
    study = make("mine", (0,))
    study.experiment("german", {})
    found = judged(study.write())
    assert found["verdicts"] == []
    assert sum(map(len, found["elsewhere"].values())) == len(read_register())


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match="no such file"):
        judged(tmp_path)
