"""The register of claims: what is in it, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from reports.regions import Region
from reports.register import KINDS, REGISTER, TARGETS, RegisterError, read_register

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
    "studies": ["quick", "lecture"],
    "experiment": "german",
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


def ordered(**fields: Any) -> dict[str, Any]:
    """CLAIM with an order, and other fields."""
    heads = [{"model.n_heads": 1}, {"model.n_heads": 4}, {}]
    order = {"compare": "order", "variants": heads, "slack": 0.02, "margin": 0.3, "variant": None, "region": None}
    return conditioned(**{**order, **fields})


def test_a_claim_is_read_as_it_is_written(tmp_path: Path) -> None:
    (claim,) = read_register(write(tmp_path, CLAIM))
    assert (claim.id, claim.kind, claim.seeds, claim.settings) == ("order", "speed", 3, {"train.steps": 250})
    assert (claim.studies, claim.experiment) == (("quick", "lecture"), "german")
    (condition,) = claim.conditions
    assert (condition.variant, condition.against, condition.split) == ({"model.position": "none"}, None, "test")
    assert (condition.experiment, condition.at, condition.is_plain) == ("german", ("",), True)
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
        ({"region": {"exactly": 0}, "compare": "exact"}, Region(low=0.0, high=0.0)),
        (
            {"region": {"at_least": 1.5}, "compare": "times", "metric": "steps_to_target", "split": "validation"},
            Region(low=1.5, ratio=True),
        ),
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
        ({**CLAIM, "conditions": []}, "at least one seed, one study and one condition"),
        ({**CLAIM, "studies": []}, "at least one seed, one study and one condition"),
        ({**CLAIM, "tests": ["quick"]}, "unknown field 'tests'"),
        ({name: value for name, value in CLAIM.items() if name != "experiment"}, "claim order: without experiment"),
        ("order", "claim 1: fields are wanted"),
        (conditioned(regoin={"at_least": 0.1}), "condition 1: unknown field 'regoin'"),
        (conditioned(compare="quotient"), "compare: 'quotient'"),
        (conditioned(split="training"), "split: 'training': one of train, test, validation, probe"),
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
        (conditioned(region={"exactly": 0, "at_least": -1}), "region: exactly: alone"),
        (conditioned(region={"exactly": 0, "above": -1}), "region: exactly: alone"),
        (conditioned(compare="ratio", floor=0.1, region={"at_least": -1}), "region: the ends of a ratio"),
        (conditioned(less_variant={}), "less_variant: needed by interaction, and by nothing else"),
        (conditioned(compare="interaction", less_variant={}), "less_against: needed by interaction"),
        (conditioned(over="distance"), "over and summary go together"),
        (conditioned(summary="slope"), "over and summary go together"),
        (conditioned(over="distance", summary="steepness"), "a summary is one of slope, "),
        (conditioned(over="distance", summary="horizon"), "threshold: needed by horizon, beyond"),
        (conditioned(over="distance", summary="slope", threshold=1), "threshold: needed by horizon, beyond"),
        (conditioned(over="distance", summary="slope", at="length=8"), "at: not with a curve over a coordinate"),
        (conditioned(over="distance", summary="slope", less="bleu"), "less: not with a curve over a coordinate"),
        (conditioned(at=[]), "at: [] is no text or list"),
        (conditioned(at=3), "at: 3 is no text or list"),
        (conditioned(compare="excess", oracle="bag", minus_at="main"), "an oracle is one of the metric itself"),
        (conditioned(compare="excess", oracle="bag", over="task.pairs", summary="fall"), "an oracle is one of the"),
        (conditioned(compare="times"), "times: for steps_to_target and flops_to_target, as they stand"),
        (conditioned(metric="steps_to_target"), "times: for steps_to_target and flops_to_target, as they stand"),
        (conditioned(compare="times", metric="flops_to_target", at="length=8"), "times: for steps_to_target"),
        (conditioned(compare="order", region=None), "unknown field 'variant'"),
        (ordered(variants=[{}]), "an order has two names at least"),
        (ordered(margin=0), "an order has two names at least"),
        (ordered(variants=["a", "b"]), "against: 'a' is no mapping"),
    ],
)
def test_an_entry_that_is_wrong_is_refused_in_one_line(tmp_path: Path, claim: Any, message: str) -> None:
    with pytest.raises(RegisterError) as refused:
        read_register(write(tmp_path, claim))
    assert message in str(refused.value)
    assert str(refused.value).startswith("claims.yaml: ")
    assert "\n" not in str(refused.value)


def test_an_order_is_read_as_the_differences_that_it_stands_for(tmp_path: Path) -> None:
    (claim,) = read_register(write(tmp_path, ordered(at=["length=8", "length=16"])))
    assert {condition.compare for condition in claim.conditions} == {"difference"}
    assert {condition.at for condition in claim.conditions} == {("length=8", "length=16")}
    assert [(part.variant, part.against, part.region) for part in claim.conditions] == [
        ({"model.n_heads": 4}, {"model.n_heads": 1}, Region(low=-0.02)),
        ({}, {"model.n_heads": 4}, Region(low=-0.02)),
        ({}, {"model.n_heads": 1}, Region(low=0.3)),
    ]


def test_sides_of_each_comparison_and_what_is_no_plain_metric(tmp_path: Path) -> None:
    off, other = {"model.position": "none"}, {"model.n_heads": 1}
    base: dict[str, Any] = {}
    fields: list[dict[str, Any]] = [
        {},
        {"against": other},
        {"compare": "level", "reference": 0, "at": "main"},
        {"compare": "excess", "oracle": "bag", "at": ["length=8", "length=16"]},
        {"compare": "exact", "less": "bleu"},
        {"compare": "exact", "against": {}, "minus_at": "main"},
        {"compare": "ratio", "floor": 1, "over_at": "length=8"},
        {"compare": "interaction", "against": base, "less_variant": other, "less_against": base, "exceeds": 2},
        {"over": "task.distance", "summary": "slope", "experiment": "family"},
        {"over": "distance", "summary": "beyond", "threshold": 20},
    ]
    (claim,) = read_register(write(tmp_path, {**CLAIM, "conditions": [{**CONDITION, **part} for part in fields]}))
    found = claim.conditions
    assert [part.sides for part in found] == [
        *((off, base), (off, other), (off,), (off,), (off,), (off, base), (off, base), (off, base, other, base)),
        *((off, base), (off, base)),
    ]
    assert [part.is_plain for part in found] == [True, True, True, *[False] * 7]
    assert (found[3].at, found[5].minus_at, found[6].over_at) == (("length=8", "length=16"), "", "length=8")
    assert [part.over_a_setting for part in found[-2:]] == [True, False]
    assert [part.experiment for part in found[-2:]] == ["family", "german"]


def test_what_a_condition_changes(tmp_path: Path) -> None:
    lstm = {"model": {"architecture": "lstm", "d_hidden": 64, "n_layers": 1}}
    fields: list[dict[str, Any]] = [
        {"variant": {"model.norm": "none", "train.lr": 0.1}, "against": {"model.norm": "rms", "train.lr": 0.1}},
        {"variant": lstm},
        {"compare": "level", "reference": 0},
        {"variant": {}, "over": "task.distance", "summary": "slope"},
        {"variant": {}},
    ]
    (claim,) = read_register(write(tmp_path, {**CLAIM, "conditions": [{**CONDITION, **part} for part in fields]}))
    assert [part.paths for part in claim.conditions] == [
        *({"model.norm"}, {"model.architecture"}, {"model.position"}, {"task.distance"}, set()),
    ]
    assert claim.paths == {"model.norm", "model.architecture", "model.position", "task.distance"}


def test_a_folder_is_read_in_the_order_of_its_files_each_with_its_note(tmp_path: Path) -> None:
    for name, ids in (("20-b.yaml", ["c"]), ("10-a.yaml", ["b", "a"])):
        claims = [{**CLAIM, "id": one} for one in ids]
        (tmp_path / name).write_text(yaml.safe_dump({"note": f"Of {name}.", "claims": claims}), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no claims")
    found = read_register(tmp_path)
    assert [(claim.id, claim.note) for claim in found] == [
        *(("b", "Of 10-a.yaml."), ("a", "Of 10-a.yaml."), ("c", "Of 20-b.yaml.")),
    ]
    (tmp_path / "30-c.yaml").write_text(yaml.safe_dump({"note": "N.", "claims": [{**CLAIM, "id": "a"}]}))
    with pytest.raises(RegisterError, match="a: there are two claims of this id"):
        read_register(tmp_path)


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


ROWS = """
    reach recall-steps recall-cost lstm-better binding sequential wall-clock
    look-up soft-average any-distance query-key self-attention-to-self low-rank stacked
    equivariant order-blind order-causal learned-table learned-length sinusoid-length per-word-ffn frozen-linear
    nonlinearity re-averaging mask-cheat mask-softmax mask-encoder
    mask-loss-german mask-bleu-german mask-loss-multi30k mask-bleu-multi30k
    heads-few heads-enough heads-cost heads-output heads-loss heads-bleu heads-distance
    scale-saturation scale-gradient scale-training
    residual-gradient-none residual-gradient-pre residual-gradient-post residual-collapse residual-training
    norm-robust-pre norm-robust-post norm-divergence norm-warm-up norm-per-word norm-values depth
    cross-attention source-reach
    positions-loss-german positions-bleu-german positions-loss-multi30k positions-bleu-multi30k
    attention-rescues lstm-distance mt-quality mt-cost mt-data agreement quadratic
"""
"""Ids of the list of claims, a line or two a section; a row that names two data sets is one claim for each."""

PARTS = {"stacked-time": "stacked"}
"""Claims made of a part of a row, which is of another kind than the rest of it."""

SECTIONS = [
    "Why RNNs limit learning and parallelism (4:08)",
    "Self-attention as a soft look-up; queries, keys, values (10:11, 14:15)",
    "Position, nonlinearity, masking (21:23)",
    "Heads and scaling (41:44)",
    "Residuals, layer norm, the block (58:00)",
    "Encoder, decoder, translation, cost (1:09:09)",
]

EXACT = """
    sequential soft-average low-rank stacked equivariant learned-table per-word-ffn frozen-linear mask-softmax
    heads-cost norm-per-word norm-values source-reach quadratic
"""
HARDWARE = ["wall-clock", "stacked-time"]
STRUCTURAL = """
    reach query-key order-blind learned-length nonlinearity mask-cheat mask-encoder mask-loss-german mask-bleu-german
    mask-loss-multi30k mask-bleu-multi30k heads-few scale-saturation scale-gradient residual-gradient-none
    residual-gradient-pre residual-gradient-post residual-collapse cross-attention
"""


def test_every_row_of_the_list_of_claims_is_there_and_nothing_else() -> None:
    ids = [claim.id for claim in read_register()]
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == sorted([*ROWS.split(), *PARTS])


def test_every_section_of_the_lecture_is_there_in_its_order() -> None:
    assert list(dict.fromkeys(claim.section for claim in read_register())) == SECTIONS


def test_kinds_are_those_of_the_list() -> None:
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for claim in read_register():
        kinds[claim.kind].append(claim.id)
    assert sorted(kinds["exact"]) == sorted(EXACT.split())
    assert sorted(kinds["hardware"]) == sorted(HARDWARE)
    assert sorted(kinds["structural"]) == sorted(STRUCTURAL.split())


REGIONS = {
    "reach": ["above −0.005", "below −0.05", "below −0.05"],
    "recall-steps": ["a ratio of at least 4"],
    "recall-cost": ["a ratio of at least 2", "a ratio of at least 2"],
    "lstm-better": ["a ratio of at least 2", "a ratio of at least 2"],
    "binding": ["between −0.05 and 0.05"] * 3 + ["at least 0.5"],
    "wall-clock": ["a ratio above 1", "a ratio above 1"],
    "soft-average": ["between 0 and 1e−06"],
    "any-distance": ["at least −0.05", "at least 0.5"],
    "query-key": ["at least 0.2", "at most 0.695"],
    "self-attention-to-self": ["at least 0.7", "at most 0.3"],
    "low-rank": ["at most 0"],
    "order-blind": ["between −0.01 and 0.01"] * 2 + ["at least 0.5"] * 4,
    "order-causal": ["at least 0.3", "between −0.02 and 0.02"],
    "learned-length": ["at most 0.25"],
    "sinusoid-length": ["at least 0.5", "at least 0.5"],
    "per-word-ffn": ["exactly 0"],
    "nonlinearity": ["at least 2.72", "at most 0.1"],
    "re-averaging": ["at most 0.2", "at most 0.2"],
    "mask-cheat": ["at most −0.5", "at least 0.3"],
    "mask-softmax": ["exactly 0", "between 0 and 1e−06", "at least 1e−06", "at least 0.001"],
    "mask-encoder": ["at least 0.8", "between −0.03 and 0.03", "between −0.03 and 0.03"],
    **{f"mask-loss-{name}": ["below 0", "at least 10"] for name in ("german", "multi30k")},
    **{f"mask-bleu-{name}": ["a ratio of at most 0.15", "at least 10"] for name in ("german", "multi30k")},
    "heads-few": [*["at most 0.75"] * 4, *["at least 0.95"] * 2],
    "heads-enough": ["at least 0.95"] * 2,
    "heads-output": ["at least 0.1"],
    "heads-loss": ["at least 0.02"],
    "heads-bleu": ["at most −0.5"],
    "heads-distance": ["at least 0.02"],
    "scale-saturation": ["between 0.45 and 0.55", "at least 1.5"],
    "scale-gradient": ["at least 0.5", "below 0"],
    "scale-training": ["a ratio of at least 1.5"],
    **{f"residual-gradient-{norm}": ["at most −0.3", "between −0.05 and 0.05"] for norm in ("none", "pre", "post")},
    "residual-collapse": ["at least 0.99", "at least 0.99", "at most 0.6", "at most 0.6"],
    "residual-training": ["at least 0.5"] * 6,
    "norm-robust-pre": ["at least 0.2"],
    "norm-robust-post": ["at least 0.2"],
    "norm-divergence": ["at least 0.8"],
    "norm-warm-up": ["at least 0.1"],
    "norm-values": ["between 0 and 1e−05", "between 0 and 1e−05"],
    "depth": ["at least 0.3"],
    "cross-attention": ["between −3 and 3", "between 0.45 and 0.55", "at least 15"],
    **{f"positions-loss-{name}": ["at least 0.1"] for name in ("german", "multi30k")},
    **{f"positions-bleu-{name}": ["at most −2"] for name in ("german", "multi30k")},
    "attention-rescues": ["at least 5"],
    "lstm-distance": ["at most −0.02", "between −0.005 and 0.005", "at least 0.75"],
    "mt-quality": ["at least −0.5"],
    "mt-cost": ["a ratio of at least 1.25"],
    "mt-data": ["a ratio of at least 1.1"],
    "agreement": ["at least 0.02", "above 0.5"],
    "quadratic": ["at least 1e−09", "at least 1e−09", "between 3.8 and 4.2", "between 3.8 and 4.2"],
}


def test_margins_are_those_of_the_list() -> None:
    claims = {claim.id: claim for claim in read_register()}
    found = {name: [condition.region.text for condition in claims[name].conditions] for name in REGIONS}
    assert found == REGIONS


def test_seeds_that_decide() -> None:
    """Three unless the list says otherwise; six where a count of runs must decide; one for what is exact."""
    found = {claim.id: claim.seeds for claim in read_register() if claim.kind != "exact" and claim.seeds != 3}
    assert found == {"heads-loss": 5, "heads-bleu": 5, "scale-training": 15, "norm-divergence": 6}
    assert {claim.seeds for claim in read_register() if claim.kind == "exact"} == {1}


def test_kinds_and_comparisons_go_together() -> None:
    for claim in read_register():
        exact = {condition.compare == "exact" for condition in claim.conditions}
        assert exact == {claim.kind == "exact"} or claim.id == "look-up", claim.id
        if claim.kind == "exact":
            assert claim.settings.get("train.steps") == 0, claim.id
        if claim.kind == "hardware":
            assert {condition.metric for condition in claim.conditions} <= {"step_seconds", "stacked_speedup"}


def test_no_verdict_but_those_of_hardware_rests_on_a_clock() -> None:
    for claim in read_register():
        for condition in claim.conditions:
            clock = any(word in condition.metric for word in ("second", "speed", "wall"))
            assert clock == (claim.kind == "hardware"), claim.id


def test_an_oracle_lies_in_the_region_of_an_excess_or_away_from_it_as_it_is_meant() -> None:
    """An excess of zero agrees with a claim to reach an oracle, and with no claim to be above or below one."""
    for claim in read_register():
        for condition in claim.conditions:
            if condition.compare == "excess":
                region = condition.region
                assert region.meets(0.0, 0.0) == (region.low < 0 < region.high), claim.id


def test_a_speed_claim_fixes_its_steps_or_ends_at_a_target() -> None:
    """Those on real data, which a folder brings, are judged at the steps of the study that has them."""
    free = [claim.id for claim in read_register() if claim.kind == "speed" and "train.steps" not in claim.settings]
    assert all(set(claim.studies) <= REAL for claim in read_register() if claim.id in free and claim.id not in GRIDS)


REAL = {"lecture-real", "multi30k", "agreement"}
GRIDS = ["residual-training"]
"""Claims whose steps are those of a grid."""


def test_no_field_of_the_register_is_written_twice() -> None:
    """YAML would take the last of them, in silence."""

    class Strict(yaml.SafeLoader):
        pass

    def once(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        keys = [loader.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"{node.start_mark}: {keys}"
        return {
            key: loader.construct_object(value, deep=True) for key, (_, value) in zip(keys, node.value, strict=True)
        }

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, once)
    for file in REGISTER.glob("*.yaml"):
        assert yaml.load(file.read_text(encoding="utf-8"), Loader=Strict)["claims"]


def test_numbers_are_written_as_numbers() -> None:
    """1e-6 without a decimal point is a text to YAML, and no setting of any run."""
    for claim in read_register():
        sides = [side for condition in claim.conditions for side in condition.sides]
        for value in texts([dict(claim.settings), *map(dict, sides)]):
            with pytest.raises(ValueError, match="could not convert"):
                float(value)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [text for part in (value.values() if isinstance(value, dict) else value) for text in texts(part)]
    return [value] if isinstance(value, str) else []


def test_targets_are_metrics_that_a_run_may_lack() -> None:
    assert set(TARGETS) == {"steps_to_target", "flops_to_target"}


def test_the_register_says_how_its_margins_came_about_and_what_speaks_against_each_claim() -> None:
    for claim in read_register():
        assert "prototype" in claim.note, claim.id
        assert len(claim.counter_evidence) > 10, claim.id
        assert "<<" not in claim.statement
