"""The register of claims: what is in it, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from reports.regions import Region
from reports.register import REGISTER, RegisterError, read_register

STUDIES = Path(__file__).parents[2] / "ablations" / "studies"

CONDITION: dict[str, Any] = {
    "text": "loss, off minus on",
    "compare": "difference",
    "variant": {"model.position": "none"},
    "metric": "loss",
    "split": "test",
    "region": {"at_least": 0.1},
}
CLAIM: dict[str, Any] = {
    "id": "order",
    "section": "21:23",
    "statement": "Order matters.",
    "kind": "speed",
    "tests": [{"study": "quick", "experiment": "german"}],
    "settings": {"train.steps": 250},
    "seeds": 3,
    "conditions": [CONDITION],
    "held_equal": "steps",
    "counter_evidence": "none",
}


def write(folder: Path, *claims: Any, **top: Any) -> Path:
    path = folder / "claims.yaml"
    path.write_text(yaml.safe_dump({"note": "Margins.", "claims": list(claims), **top}), encoding="utf-8")
    return path


def conditioned(**fields: Any) -> dict[str, Any]:
    """CLAIM with a condition that has other fields; those that are None left out."""
    changed = {name: value for name, value in {**CONDITION, **fields}.items() if value is not None}
    return {**CLAIM, "conditions": [changed]}


def test_a_claim_is_read_as_it_is_written(tmp_path: Path) -> None:
    (claim,) = read_register(write(tmp_path, CLAIM))
    assert (claim.id, claim.kind, claim.seeds, claim.settings) == ("order", "speed", 3, {"train.steps": 250})
    assert [(place.study, place.experiment) for place in claim.tests] == [("quick", "german")]
    (condition,) = claim.conditions
    assert (condition.variant, condition.against, condition.split) == ({"model.position": "none"}, {}, "test")
    assert condition.region == Region(low=0.1)
    assert claim.note == "Margins."


@pytest.mark.parametrize(
    ("fields", "region"),
    [
        ({"region": {"below": 0}}, Region(high=0.0, closed=False)),
        ({"region": {"above": -0.05, "below": 0.05}}, Region(low=-0.05, high=0.05, closed=False)),
        ({"region": {"at_least": 3.8, "at_most": 4.2}}, Region(low=3.8, high=4.2)),
        ({"region": {"at_most": 0.15}, "compare": "ratio", "floor": 0.1}, Region(high=0.15, ratio=True)),
        ({"region": {"at_least": 0.9}, "compare": "level", "reference": 0.5}, Region(low=0.9, reference=0.5)),
    ],
)
def test_regions(tmp_path: Path, fields: dict[str, Any], region: Region) -> None:
    (claim,) = read_register(write(tmp_path, conditioned(**fields)))
    assert claim.conditions[0].region == region


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({**CLAIM, "margin": 0.1}, "claim order: unknown field 'margin'"),
        ({name: value for name, value in CLAIM.items() if name != "held_equal"}, "claim order: without held_equal"),
        ({**CLAIM, "kind": "fast"}, "kind: 'fast': one of exact"),
        ({**CLAIM, "seeds": 0}, "at least one seed"),
        ({**CLAIM, "seeds": True}, "seeds: True is no whole number"),
        ({**CLAIM, "section": 248}, "section: 248 is no text"),
        ({**CLAIM, "conditions": []}, "at least one seed, one test and one condition"),
        ({**CLAIM, "tests": [{"study": "quick"}]}, "tests: without experiment"),
        ("order", "claim 1: fields are wanted"),
        (conditioned(regoin={"at_least": 0.1}), "condition 1: unknown field 'regoin'"),
        (conditioned(compare="quotient"), "compare: 'quotient'"),
        (conditioned(split="train"), "split: 'train'"),
        (conditioned(floor=0.1), "floor: needed by ratio, and by nothing else"),
        (conditioned(compare="ratio"), "floor: needed by ratio"),
        (conditioned(compare="ratio", floor=-1), "floor: must be above 0"),
        (conditioned(compare="level"), "reference: needed by level"),
        (conditioned(compare="excess"), "oracle: needed by excess"),
        (conditioned(metric=""), "metric: '' is no text"),
        (conditioned(region={"at_least": "3e-3"}), "region: at_least: '3e-3' is no number"),
        (conditioned(region={"at_least": True}), "region: at_least: True is no number"),
        (conditioned(region={"at_least": float("nan")}), "region: a region has numbers"),
        (conditioned(region={"at_least": 0.2, "at_most": 0.1}), "region: from 0.2 to 0.1"),
        (conditioned(region={"at_least": 0.2, "below": 0.3}), "region: at_least, at_most or both"),
        (conditioned(region={"at_least": 0.2, "above": 0.1}), "region: at_least, at_most or both"),
        (conditioned(region={}), "region: a region with neither end"),
        (conditioned(compare="ratio", floor=0.1, region={"at_least": -1}), "region: the ends of a ratio"),
    ],
)
def test_an_entry_that_is_wrong_is_refused_in_one_line(tmp_path: Path, claim: Any, message: str) -> None:
    with pytest.raises(RegisterError) as refused:
        read_register(write(tmp_path, claim))
    assert message in str(refused.value)
    assert str(refused.value).startswith("claims.yaml: ")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_wrong_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RegisterError, match="two claims of this id"):
        read_register(write(tmp_path, CLAIM, CLAIM))
    with pytest.raises(RegisterError, match="unknown field 'version'"):
        read_register(write(tmp_path, CLAIM, version=2))
    with pytest.raises(RegisterError, match=r"absent\.yaml: cannot be read"):
        read_register(tmp_path / "absent.yaml")
    (tmp_path / "claims.yaml").write_text("claims: [\n- : {", encoding="utf-8")
    with pytest.raises(RegisterError) as refused:
        read_register(tmp_path / "claims.yaml")
    assert "\n" not in str(refused.value)


def test_the_registers_claims_on_the_shipped_quick_study() -> None:
    claims = {claim.id: claim for claim in read_register() if claim.tests[0].study == "quick"}
    found = {
        name: (claim.kind, claim.seeds, condition.compare, condition.metric, condition.split, condition.region.text)
        for name, claim in claims.items()
        for condition in claim.conditions
    }
    assert found == {
        "positions-loss-german": ("speed", 3, "difference", "loss", "test", "at least 0.1"),
        "positions-bleu-german": ("speed", 3, "difference", "bleu", "test", "at most −2"),
        "mask-loss-german": ("structural", 3, "difference", "loss", "validation", "below 0"),
        "mask-bleu-german": ("structural", 3, "ratio", "bleu", "test", "a ratio of at most 0.15"),
    }


def test_every_claim_names_variants_and_steps_that_its_study_has() -> None:
    for claim in read_register():
        for place in claim.tests:
            study = yaml.safe_load((STUDIES / f"{place.study}.yaml").read_text(encoding="utf-8"))
            experiment = study["experiments"][place.experiment]
            for condition in claim.conditions:
                for changes in filter(None, (condition.variant, condition.against)):
                    assert changes in experiment["variants"].values(), claim.id
            assert claim.settings.get("train.steps", experiment["train"]["steps"]) == experiment["train"]["steps"]


def test_the_register_says_how_its_margins_came_about_and_breaks_no_line() -> None:
    text = REGISTER.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 120
    assert all("prototype" in claim.note and claim.counter_evidence for claim in read_register())
