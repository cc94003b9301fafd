"""Verdicts from made-up rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from reports import claims, estimates
from reports.frames import records
from reports.items import Resampled
from reports.paired import Items
from reports.regions import Region
from reports.register import Claim, Condition, read_register
from reports.resampling import RESAMPLES
from reports.rows import StudyRows, read_study
from reports.sequential import LOOKS
from reports.table import Tables, make_tables
from reports.verdicts import Verdict
from reports.verdicts import judge as verdict_of

Maker = Callable[..., Any]
MadeUpStudy = Any

NO_MASK = {"model.decoder_mask": "none"}
CHANGES = {"a|b <off>": NO_MASK, "no-positions": {"model.position": "none"}}


def condition(**fields: Any) -> Condition:
    common: dict[str, Any] = {"text": "x", "compare": "difference", "metric": "loss", "split": "test"}
    return Condition(**{**common, "experiment": "german", "variant": NO_MASK, "region": Region(low=0.1), **fields})


def claim(*conditions: Condition, **fields: Any) -> Claim:
    common: dict[str, Any] = {
        "id": "c",
        "section": "21:23",
        "statement": "It matters.",
        "kind": "speed",
        "studies": ("quick",),
        "experiment": "german",
        "settings": {"train.steps": 250},
        "seeds": 3,
        "held_equal": "steps, data",
        "counter_evidence": "none",
        "note": "Margins.",
    }
    return Claim(**{**common, "conditions": conditions or (condition(),), **fields})


def judge(folder: Path, *found: Claim, **options: Any) -> list[Verdict]:
    return claims.verdicts(make_tables(read_study(folder)), found, **options)


def begin(make: Maker, seeds: int = 3, **plan: Any) -> MadeUpStudy:
    study = make("quick", range(seeds))
    study.experiment("german", CHANGES, **plan)
    return study


def losses(study: MadeUpStudy, variant: str, values: Sequence[float | None], split: str = "test") -> None:
    """Completed runs with these losses, one a seed; None leaves the seed out."""
    for seed, value in enumerate(values):
        if value is not None:
            study.run("german", variant, seed, [(split, "loss", "", value)])


BASE = [0.31, 0.28, 0.35]


def test_the_four_claims_of_the_quick_study(quick: Path) -> None:
    found = claims.verdicts(make_tables(read_study(quick)))
    assert [(v.id, v.outcome, v.provisional, v.kind) for v in found] == [
        ("mask-loss-german", "supported", True, "structural"),
        ("mask-bleu-german", "supported", True, "structural"),
        ("positions-loss-german", "supported", True, "speed"),
        ("positions-bleu-german", "supported", True, "speed"),
    ]
    assert {(v.experiment, v.task) for v in found} == {("german", "german")}
    assert [v.conditions[0].n for v in found] == ["3 of 3 seeds"] * 4
    assert found[0].conditions[0].held_equal.endswith("(comparison: same)")
    assert all("prototype" in v.note for v in found)


def test_an_interval_is_the_one_of_the_table_of_effects(quick: Path) -> None:
    tables = make_tables(read_study(quick))
    (judged,) = next(v for v in claims.verdicts(tables) if v.id == "positions-bleu-german").conditions
    (row,) = [r for r in records(tables.effects) if (r["metric"], r["variant"]) == ("bleu", "no-positions")]
    assert (judged.value, judged.low, judged.high) == pytest.approx((row["difference"], row["low"], row["high"]))


def test_a_ratio_by_hand_and_values_of_another_split(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", [0.5, 0.6, 0.8], "validation")
    losses(study, "a|b <off>", [0.05, 0.03, 0.0], "validation")
    ratio = condition(compare="ratio", split="validation", floor=0.01, region=Region(high=0.15, ratio=True))
    (judged,) = judge(study.write(), claim(ratio))[0].conditions
    logs = [log(0.05 / 0.5), log(0.03 / 0.6), log(0.01 / 0.8)]
    interval = stats.ttest_1samp(logs, 0).confidence_interval()
    assert judged.value == pytest.approx(exp(sum(logs) / 3))
    assert (judged.low, judged.high) == pytest.approx((exp(interval.low), exp(interval.high)))
    assert (judged.region, judged.scope) == ("a ratio of at most 0.15", "seeds")


def test_claims_of_other_studies_have_no_verdict_and_those_of_other_experiments_say_so(make: Maker) -> None:
    folder = begin(make).write()
    assert judge(folder, claim(studies=("lecture",))) == []
    elsewhere = claim(condition(experiment="multi30k"), experiment="multi30k", studies=("lecture", "quick"))
    (found,) = judge(folder, elsewhere)
    assert (found.outcome, found.reason) == ("not run", "the study has no experiment multi30k")
    assert (found.task, found.conditions[0].value, found.conditions[0].planned) == ("", None, 0)


def test_the_variant_is_found_by_its_changes_alone(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", BASE)
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    losses(study, "no-positions", [0.1, 0.12, 0.11])
    folder = study.write()
    assert judge(folder, claim())[0].outcome == "supported"
    pair = condition(against={"model.position": "none"}, region=Region(low=0.5))
    assert judge(folder, claim(pair))[0].conditions[0].value == pytest.approx((0.61 + 0.57 + 0.64) / 3)
    section = condition(variant={"model": {"decoder_mask": "none"}})
    assert judge(folder, claim(section))[0].outcome == "supported", "as a section and as a dotted path"
    (absent,) = judge(folder, claim(condition(variant={**NO_MASK, "train.lr": 0.1})))
    assert (absent.outcome, absent.conditions[0].value) == ("not run", None)
    assert absent.reason == "no variant has model.decoder_mask: none, train.lr: 0.1 and nothing else changed"


def test_runs_that_are_missing_or_failed_are_counted(make: Maker) -> None:
    study = begin(make, seeds=5)
    losses(study, "base", [*BASE, 0.3])
    losses(study, "a|b <off>", [0.71, 0.69, None, 0.72])
    study.run("german", "a|b <off>", 2, [], status="failed", reason="out of memory")
    (found,) = judge(study.write(), claim())
    (judged,) = found.conditions
    assert judged.n == "3 of 5 seeds, 1 failed, 1 missing"
    assert (judged.planned, judged.completed, judged.diverged) == (5, 3, 0)
    assert (found.outcome, found.provisional) == ("supported", True)


def test_a_seed_that_is_lost_on_both_sides_is_counted_once(make: Maker) -> None:
    study = begin(make, seeds=5)
    losses(study, "base", [0.31, 0.28, 0.35, None, 0.3])
    losses(study, "a|b <off>", [0.71, 0.69, 0.72, None, None])
    study.run("german", "a|b <off>", 3, [], status="failed", reason="out of memory")
    study.run("german", "a|b <off>", 4, [("test", "loss", "", None)])
    (judged,) = judge(study.write(), claim())[0].conditions
    assert judged.n == "3 of 5 seeds, 1 failed, 1 without a value"


@pytest.mark.parametrize(("who", "outcome"), [("base", "inconclusive"), ("a|b <off>", "supported"), ("", "supported")])
def test_a_base_that_diverged_supports_nothing(who: str, outcome: str, make: Maker) -> None:
    study = begin(make, seeds=5)
    for variant, values in (("base", [0.31, 0.28, 0.35, 0.3, 0.29]), ("a|b <off>", [4.7, 4.69, 4.75, 4.6, 4.8])):
        ended = [4.71, 4.69, 4.75, 5.2, 4.65] if variant == who == "a|b <off>" else values
        for seed, value in enumerate(ended):
            lost = who == variant and seed > 2
            rows = [("test", "loss", "", value)]
            study.run(
                "german", variant, seed, rows, **({"status": "diverged", "reason": "loss is nan"} if lost else {})
            )
    folder = study.write()
    (found,) = judge(folder, claim())
    assert found.outcome == outcome
    assert found.reason == ("the base diverged in 2 of 5 seeds" if who == "base" else "")
    assert found.conditions[0].value is not None
    assert judge(folder, claim(condition(region=Region(low=9.0))))[0].outcome == "not supported", "it may refute"
    alone = condition(compare="level", variant={}, region=Region(high=1.0))
    assert judge(folder, claim(alone))[0].outcome == outcome.replace("not ", "")
    assert judge(folder, claim(condition(compare="level", region=Region(low=1.0))))[0].outcome == "supported"
    ends = condition(exceeds=1.0, region=Region(low=0.9))
    assert "diverged in" not in judge(folder, claim(ends))[0].reason, "where diverging is what is counted"


def test_a_base_that_diverged_at_a_point_of_a_grid_counts(make: Maker) -> None:
    study = family(make, {"base": {**FAR, 64: [1.0, 0.99, None]}, "lstm": NEAR})
    study.run("recall@64", "base", 2, [("test", "accuracy", "", 0.125)], status="diverged", reason="loss is nan")
    (found,) = judge(study.write(), horizons(0.1))
    assert (found.outcome, found.conditions[0].diverged) == ("supported", 1)


EXACT: dict[str, Any] = {"compare": "exact", "metric": "change", "split": "probe", "region": Region(low=0.0, high=0.0)}


@pytest.mark.parametrize(
    ("values", "seeds", "outcome", "provisional", "reason"),
    [
        ([0.0, 0.0, 0.0], 1, "supported", False, ""),
        ([0.0, None, 0.0], 1, "not supported", False, "no finite number in 1 of 3 seeds"),
        ([None, None, None], 1, "not supported", False, "no finite number in 3 of 3 seeds"),
        ([0.0, "failed", 0.0], 1, "supported", True, ""),
        ([0.0, "failed", "missing"], 1, "supported", True, ""),
        ([0.0, "failed", "missing"], 3, "inconclusive", False, "1 of 3 seeds needed"),
        ([0.1, "failed", "missing"], 3, "not supported", True, "opposite"),
        (["failed", "failed", "missing"], 1, "not run", False, "no seed has a value"),
        (["other", "other", "other"], 1, "not run", False, "no seed has a value"),
        ([0.0, "other", 0.0], 1, "not supported", False, "no finite number in 1 of 3 seeds"),
    ],
)
def test_an_exact_condition_with_runs_that_have_no_value(
    values: list[Any], seeds: int, outcome: str, provisional: bool, reason: str, make: Maker
) -> None:
    study = begin(make)
    for seed, value in enumerate(values):
        rows = [("probe", "another" if value == "other" else "change", "", 1.0 if value == "other" else value)]
        if value == "failed":
            study.run("german", "base", seed, [], status="failed", reason="out of memory")
        elif value != "missing":
            study.run("german", "base", seed, rows)
    (found,) = judge(study.write(), claim(condition(variant={}, **EXACT), seeds=seeds))
    assert (found.outcome, found.provisional, found.reason) == (outcome, provisional, reason)


def test_no_number_at_one_place_fails_an_exact_curve(make: Maker) -> None:
    study = begin(make)
    for seed in range(3):
        lost = None if seed == 1 else 4.0
        rows = [("probe", "change", f"length={x}", y) for x, y in ((1, 1.0), (2, 2.0), (4, lost))]
        study.run("german", "base", seed, rows)
    curve = {**EXACT, "over": "length", "summary": "slope", "region": Region(low=0.5)}
    (found,) = judge(study.write(), claim(condition(variant={}, **curve), seeds=1))
    assert (found.outcome, found.reason) == ("not supported", "no finite number in 1 of 3 seeds")


def test_accuracy_beyond_a_threshold_that_all_seeds_share_is_judged_by_its_items(make: Maker) -> None:
    study = begin(make)
    places, counts = (5, 20, 30), (150, 90, 60)
    rows = [("test", "accuracy", f"distance={d}", 1.0) for d in places]
    rows += [("test", "items", f"distance={d}", n) for d, n in zip(places, counts, strict=True)]
    rows += [("test", "accuracy", "", 1.0), ("test", "items", "", 300)]
    for variant in ("base", "a|b <off>"):
        for seed in range(3):
            study.run("german", variant, seed, rows)
    tables = make_tables(read_study(study.write()))
    part = condition(metric="accuracy", over="distance", summary="beyond", threshold=20, region=Region(low=0.05))
    (unknown,) = claims.verdicts(tables, [claim(part)])
    assert (unknown.outcome, unknown.conditions[0].low) == ("inconclusive", None)
    runs = [(row.experiment, row.variant, row.seed) for row in study_runs(tables)]
    known = {run: {"accuracy": Resampled(7, np.ones(RESAMPLES), 100)} for run in runs}
    (found,) = claims.verdicts(replace(tables, items=known), [claim(part)])
    half = 1 - 0.025 ** (1 / 50)
    assert (found.conditions[0].low, found.conditions[0].high) == pytest.approx((-half, half)), (
        "150 / (300 / 100) items"
    )
    assert (found.outcome, found.conditions[0].scope) == ("inconclusive", "seeds and items")
    (wider,) = claims.verdicts(replace(tables, items=known), [claim(replace(part, region=Region(low=0.1)))])
    assert (wider.outcome, wider.reason) == ("not supported", f"no effect larger than {half:.3g}")


def study_runs(tables: Tables) -> list[Any]:
    return [row for row in tables.study.runs if row.state == "completed"]


def test_the_fixed_value_of_a_diverged_run_is_none_of_a_probe(make: Maker) -> None:
    study = begin(make)
    losses(study, "a|b <off>", [0.7, 0.69], "probe")
    study.run("german", "a|b <off>", 2, [("test", "loss", "", 5.35)], status="diverged", reason="loss is nan")
    (judged,) = judge(study.write(), claim(condition(compare="level", split="probe")))[0].conditions
    assert judged.value == pytest.approx(0.695)
    assert judged.n == "2 of 3 seeds, 1 without a value"


def test_too_few_seeds_and_none_at_all(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", BASE)
    assert judge(study.write(), claim())[0].reason == "no seed has a value"
    losses(study, "a|b <off>", [0.71, 0.69, None])
    (found,) = judge(study.write(), claim())
    assert (found.outcome, found.reason, found.conditions[0].n) == (
        "inconclusive",
        "2 of 3 seeds needed",
        "2 of 3 seeds, 1 missing",
    )


def test_before_anything_has_run(make: Maker) -> None:
    (found,) = judge(begin(make).write(), claim())
    assert (found.outcome, found.conditions[0].n) == ("not run", "0 of 3 seeds, 3 missing")


def test_diverged_runs_count_with_their_fixed_values_on_validation_too(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", BASE, "validation")
    losses(study, "a|b <off>", [0.7, 0.69, None], "validation")
    study.run("german", "a|b <off>", 2, [("test", "loss", "", 5.35)], status="diverged", reason="loss is nan")
    (found,) = judge(study.write(), claim(condition(split="validation")))
    (judged,) = found.conditions
    assert judged.value == pytest.approx((0.39 + 0.41 + 5.0) / 3)
    assert (judged.n, judged.diverged, judged.completed) == ("3 of 3 seeds, 1 diverged", 1, 2)
    assert found.outcome == "inconclusive", "the spread is that of the failure"
    assert judged.share.startswith("inside in 3 of 3")


def test_a_completed_run_lends_its_value_to_no_other_split(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", BASE)
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    assert judge(study.write(), claim(condition(split="validation")))[0].outcome == "not run"


def test_an_experiment_with_other_settings_is_no_test_of_the_claim(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", BASE)
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    folder = study.write()
    (found,) = judge(folder, claim(settings={"train.steps": 400}))
    assert (found.outcome, found.reason) == ("not run", "train.steps is 250; the claim is about 400")
    assert found.conditions[0].value is None
    assert judge(folder, claim(settings={"task.absent": 1}))[0].reason == "task.absent is null; the claim is about 1"


def test_an_exact_condition_a_level_and_an_excess(make: Maker) -> None:
    study = begin(make, references={"loss": {"entropy": 0.6}})
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    exact = condition(compare="exact", region=Region(high=0.72))
    level = condition(compare="level", region=Region(low=0.5, reference=0.3))
    excess = condition(compare="excess", region=Region(low=0.0), oracle="entropy")
    nowhere = condition(compare="excess", region=Region(low=0.0), oracle="bayes")
    found = judge(study.write(), *(claim(part) for part in (exact, level, excess, nowhere)))
    assert [v.outcome for v in found] == ["not supported", "supported", "supported", "not run"]
    assert [v.conditions[0].value for v in found[:3]] == pytest.approx([0.75, 0.7166667, 0.1166667])
    assert [v.conditions[0].n for v in found] == ["3 of 3 seeds"] * 4, "the base is not needed"


def test_added_seeds_widen_the_interval_and_wait_for_a_look(make: Maker) -> None:
    study = begin(make, seeds=5)
    losses(study, "base", [*BASE, 0.3, 0.29])
    losses(study, "a|b <off>", [0.51, 0.49, 0.59, 0.43, 0.48])
    folder = study.write()
    plain, looked = (judge(folder, claim(), **options)[0].conditions[0] for options in ({}, {"looks": LOOKS}))
    differences = [0.2, 0.21, 0.24, 0.13, 0.19]
    expected = stats.ttest_1samp(differences, 0).confidence_interval(1 - 0.05 / 3)
    assert (looked.low, looked.high) == pytest.approx((expected.low, expected.high))
    assert plain.low is not None
    assert looked.low is not None
    assert plain.low > looked.low
    waiting = judge(folder, claim(), looks=(10, 20))[0]
    assert (waiting.outcome, waiting.reason) == ("inconclusive", "5 of 10 seeds needed")
    study.plan["experiments"]["german"]["looks"] = list(LOOKS)
    assert judge(study.write(), claim())[0].conditions[0] == looked, "as the plan says"


def drawn(study: StudyRows) -> Items:
    """Draws of the items, the same in every seed: the variant is at 0.6 in every other one and at 0.8 in the rest."""
    scores = {"base": [0.3, 0.45], "a|b <off>": [0.6, 0.8]}
    return {
        (row.experiment, row.variant, row.seed): {"loss": Resampled(7, np.resize(scores[row.variant], RESAMPLES))}
        for row in study.runs
        if row.variant in scores
    }


@pytest.mark.parametrize(
    ("compare", "drawn_values", "values"),
    [("difference", [0.3, 0.35], [0.4, 0.41, 0.4]), ("level", [0.6, 0.8], [0.71, 0.69, 0.75])],
)
def test_items_enter_differences_and_levels(
    compare: str, drawn_values: list[float], values: list[float], make: Maker
) -> None:
    study = begin(make)
    losses(study, "base", BASE)
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    tables = make_tables(read_study(study.write()))
    wanted = claim(condition(compare=compare))
    without = claims.verdicts(tables, [wanted])[0].conditions[0]
    known = replace(tables, items=drawn(tables.study))
    found = claims.verdicts(known, [wanted])[0].conditions[0]
    half = stats.t.ppf(0.975, 2) * (stats.tvar(values) / 3 + stats.tvar(np.resize(drawn_values, RESAMPLES))) ** 0.5
    assert found.high == pytest.approx(sum(values) / 3 + half)
    assert (without.scope, found.scope) == ("seeds", "seeds and items")
    validation = claims.verdicts(known, [claim(condition(compare=compare, split="validation"))])[0].conditions[0]
    assert validation.value is None


def test_items_enter_a_ratio_as_logarithms(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", BASE)
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    tables = make_tables(read_study(study.write()))
    ratio = claim(condition(compare="ratio", floor=0.01, region=Region(low=1.1, ratio=True)))
    without = claims.verdicts(tables, [ratio])[0].conditions[0]
    items = drawn(tables.study)
    found = claims.verdicts(replace(tables, items=items), [ratio])[0].conditions[0]
    logs = [log(0.71 / 0.31), log(0.69 / 0.28), log(0.75 / 0.35)]
    of_items = stats.tvar(np.resize([log(0.6 / 0.3), log(0.8 / 0.45)], RESAMPLES))
    half = stats.t.ppf(0.975, 2) * (stats.tvar(logs) / 3 + of_items) ** 0.5
    assert found.high == pytest.approx(exp(sum(logs) / 3 + half))
    assert (without.scope, found.scope) == ("seeds", "seeds and items")


def test_items_of_two_test_sets_do_not_go_together(make: Maker) -> None:
    study = begin(make)
    losses(study, "base", BASE)
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    tables = make_tables(read_study(study.write()))
    same = drawn(tables.study)
    two_sets = {key: {"loss": Resampled(key[2], found["loss"].values)} for key, found in same.items()}
    ratio = claim(condition(compare="ratio", floor=0.01, region=Region(low=1.1, ratio=True)))
    assert claims.verdicts(replace(tables, items=two_sets), [ratio])[0].conditions[0].scope == "seeds"


def test_the_same_rows_in_another_order_give_the_same_verdicts(quick: Path) -> None:
    tables = make_tables(read_study(quick))
    shuffled: dict[str, Any] = {
        **vars(tables),
        "values": tables.values.sample(frac=1, random_state=3),
        "reported": tables.reported.sample(frac=1, random_state=4),
    }
    assert claims.verdicts(Tables(**shuffled)) == claims.verdicts(tables)


# More than one experiment, more than two sides: each condition that the register can hold, from folders to verdicts.


def family(make: Maker, curves: dict[str, Any], path: str = "task.distance") -> MadeUpStudy:
    """A grid with accuracies by variant, point and seed; None: the run is missing."""
    study = make("quick", range(3))
    for place in next(iter(curves.values())):
        study.experiment(f"recall@{place:g}", LSTM_CHANGES, grid={path: place}, family="recall", task="recall")
        for variant, by_place in curves.items():
            for seed, value in enumerate(by_place[place]):
                if value is not None:
                    study.run(f"recall@{place:g}", variant, seed, [("test", "accuracy", "", value)])
    return study


ByPlace = dict[float, list[float | None]]
LSTM = {"model": {"architecture": "lstm", "d_model": 32}}
LSTM_CHANGES = {"lstm": LSTM}
UP: list[float | None] = [1.0, 0.99, 1.0]
DOWN: list[float | None] = [0.2, 0.3, 0.25]
FAR: ByPlace = {4: UP, 16: UP, 64: UP}
NEAR: ByPlace = {4: UP, 16: DOWN, 64: DOWN}


def horizons(low: float, **fields: Any) -> Claim:
    part = condition(
        compare="ratio",
        floor=1,
        experiment="recall",
        variant={},
        against=LSTM,
        metric="accuracy",
        over="task.distance",
        summary="horizon",
        threshold=0.9,
        region=Region(low=low, ratio=True),
    )
    return claim(part, experiment="recall", settings={"task.name": "german", **fields})


@pytest.mark.parametrize(
    ("base", "lstm", "low", "outcome"),
    [
        (FAR, NEAR, 4, "supported"),
        (FAR, NEAR, 40, "inconclusive"),
        (FAR, NEAR, 4.1, "inconclusive"),
        (NEAR, {4: UP, 16: [0.2, 0.25, 0.2], 64: DOWN}, 4, "inconclusive"),
        (NEAR, {4: UP, 16: [0.2, 0.25, 0.2], 64: DOWN}, 4.1, "not supported"),
        (NEAR, FAR, 4, "not supported"),
        (FAR, {**FAR, 64: [0.95, 0.8, 0.7]}, 4, "inconclusive"),
    ],
)
def test_a_ratio_of_horizons_over_a_grid(base: Any, lstm: Any, low: float, outcome: str, make: Maker) -> None:
    """A horizon at the end of the range may be larger: that speaks for the variant, and against it never.

    One between 4 and 16 may be either: 64 over it is 4 to 16, and it over another such one is 1/4 to 4.
    """
    (found,) = judge(family(make, {"base": base, "lstm": lstm}).write(), horizons(low))
    assert found.outcome == outcome, found.reason
    (judged,) = found.conditions
    assert (judged.over, judged.summary, judged.compare, found.task) == ("task.distance", "horizon", "ratio", "recall")


def test_the_picture_of_a_grid(make: Maker) -> None:
    (found,) = judge(family(make, {"base": FAR, "lstm": NEAR}).write(), horizons(4))
    (judged,) = found.conditions
    assert [side.label for side in judged.sides] == ["base (architecture=encoder-decoder)", "lstm"]
    assert [side.experiment for side in judged.sides] == ["recall", "recall"]
    attention, lstm = judged.sides
    assert attention.values == {0: 64.0, 1: 64.0, 2: 64.0}
    assert (attention.censored, lstm.censored) == ((0, 1, 2), ())
    assert lstm.values[0] == pytest.approx(4 * 2 ** (2 * 0.1 / 0.8)), "two doublings, an eighth of the way down"
    assert judged.per_seed[0] == pytest.approx(64 / lstm.values[0])
    assert attention.references == {"chance": 0.5, "threshold": 0.9}
    of_lstm = [(point.x, point.y) for point in judged.curve if (point.side, point.seed) == ("lstm", 1)]
    assert of_lstm == [(4, 0.99), (16, 0.3), (64, 0.3)]
    assert judged.bounds == Region(low=4, ratio=True)


def test_a_seed_that_lacks_a_point_of_a_grid_has_no_curve(make: Maker) -> None:
    hole: ByPlace = {**NEAR, 16: [0.2, 0.3, None]}
    (found,) = judge(family(make, {"base": FAR, "lstm": hole}).write(), horizons(4))
    (judged,) = found.conditions
    assert (judged.n.split(",")[0], found.outcome, found.reason) == (
        "2 of 3 seeds",
        "inconclusive",
        "2 of 3 seeds needed",
    )
    assert "1 missing" in judged.n
    assert {point.seed for point in judged.curve} == {0, 1}


def test_a_diverged_run_in_a_grid_counts_with_its_fixed_value(make: Maker) -> None:
    hole: ByPlace = {**NEAR, 16: [0.2, 0.3, None]}
    study = family(make, {"base": FAR, "lstm": hole})
    study.run("recall@16", "lstm", 2, [("test", "accuracy", "", 0.125)], status="diverged", reason="loss is nan")
    (found,) = judge(study.write(), horizons(4))
    (judged,) = found.conditions
    assert (found.outcome, judged.diverged) == ("supported", 1)
    assert "3 of 3 seeds, 1 diverged" in judged.n


def test_what_is_no_grid_over_the_setting_is_no_test(make: Maker) -> None:
    other = family(make, {"base": FAR, "lstm": NEAR}, "task.pairs").write()
    assert judge(other, horizons(4))[0].reason == "recall is no grid over task.distance"
    plain = make("quick")
    plain.experiment("recall", LSTM_CHANGES)
    assert judge(plain.write(), horizons(4))[0].reason == "recall is no grid over task.distance"
    one = family(make, {"base": {4: UP}, "lstm": {4: UP}}).write()
    assert judge(one, horizons(4))[0].reason == "recall has not one point at each of several task.distance"
    two = make("quick")
    for pairs in (1, 2):
        two.experiment(f"recall@{pairs}", LSTM_CHANGES, grid={"task.distance": 4, "task.pairs": pairs}, family="recall")
    assert judge(two.write(), horizons(4))[0].outcome == "not run"


def test_a_grid_without_a_curve_is_no_test(make: Maker) -> None:
    folder = family(make, {"base": FAR, "lstm": NEAR}).write()
    part = condition(experiment="recall", variant={}, against=LSTM, metric="accuracy")
    (found,) = judge(folder, claim(part, settings={}))
    assert (found.outcome, found.reason) == ("not run", "recall is a grid of 3 points; the claim is about one")
    point = condition(experiment="recall@16", variant={}, against=LSTM, metric="accuracy")
    assert judge(folder, claim(point, settings={}))[0].outcome == "supported"


def test_the_setting_of_a_curve_is_not_held_to_what_the_claim_fixes(make: Maker) -> None:
    folder = family(make, {"base": FAR, "lstm": NEAR}).write()
    assert judge(folder, horizons(4, **{"task.distance": 4}))[0].outcome == "supported"
    other = horizons(4, **{"task.data_seed": 1})
    assert judge(folder, other)[0].reason == "task.data_seed is 0; the claim is about 1"


def test_settings_are_read_from_the_variant_where_the_base_was_not_run(make: Maker) -> None:
    study = begin(make)
    losses(study, "a|b <off>", [0.71, 0.69, 0.75])
    folder = study.write()

    def reason(**settings: Any) -> str:
        return judge(folder, claim(condition(compare="level", region=Region(low=0.5)), settings=settings))[0].reason

    assert reason(**{"train.steps": 400}) == "train.steps is 250; the claim is about 400"
    assert reason(**{"train.steps": 250}) == ""
    assert reason(**{"model.decoder_mask": "causal"}) == "", "what it changes itself says nothing of the base"
    assert reason(**{"model.n_heads": 8}) == "model.n_heads is 4; the claim is about 8"


def test_steps_to_a_target(make: Maker) -> None:
    def study(base: Sequence[float | None], off: Sequence[float | None]) -> Path:
        made = begin(make)
        for variant, steps in (("base", base), ("a|b <off>", off)):
            for seed, value in enumerate(steps):
                rows = [] if value is None else [("validation", "steps_to_target", "", value)]
                made.run("german", variant, seed, [("test", "loss", "", 0.1), *rows])
        written: Path = made.write()
        return written

    region = Region(low=1.5, ratio=True)
    times = claim(condition(compare="times", metric="steps_to_target", split="validation", region=region))
    (fast,) = judge(study([60, 62, 58], [None, 200, 210]), times)
    assert (fast.outcome, fast.conditions[0].n) == ("supported", "3 of 3 seeds, 1 censored on the slower side")
    assert fast.conditions[0].per_seed == pytest.approx({0: 250 / 60, 1: 200 / 62, 2: 210 / 58})
    assert [side.censored for side in fast.conditions[0].sides] == [(0,), ()]
    (same,) = judge(study([60, 62, 58], [60, 63, 58]), times)
    assert same.outcome == "not supported"
    (never,) = judge(study([60, None, 58], [None, None, None]), times)
    assert never.outcome == "inconclusive"
    (both,) = judge(study([240, 245, 243], [None, None, None]), times)
    assert both.outcome == "inconclusive"
    assert both.conditions[0].value == pytest.approx((250**3 / 240 / 245 / 243) ** (1 / 3))


def test_an_excess_over_the_oracle_of_the_runs_own_result(make: Maker) -> None:
    study = begin(make, references={"accuracy": {"bag": 0.9}})
    for seed, (right, bag) in enumerate([(0.6, 0.2), (0.62, 0.25), (0.59, 0.2)]):
        rows = [("test", "accuracy", "", right)]
        study.run("german", "a|b <off>", seed, rows, references={"accuracy": {"bag": bag, "order": 1.0}})
    folder = study.write()

    def excess(oracle: str, low: float) -> Verdict:
        part = condition(compare="excess", metric="accuracy", oracle=oracle, region=Region(low=low))
        return judge(folder, claim(part))[0]

    assert excess("bag", 0.3).conditions[0].value == pytest.approx((0.4 + 0.37 + 0.39) / 3)
    assert [excess("bag", low).outcome for low in (0.3, 0.38, 0.5)] == ["supported", "inconclusive", "not supported"]
    assert excess("order", 0.3).outcome == "not supported"
    assert excess("bayes", 0.3).outcome == "not run"


def test_a_ceiling_of_the_main_test_set_is_none_at_another_length(make: Maker) -> None:
    study = begin(make, references={"accuracy": {"bag": 0.9}}, chance={"accuracy": 0.25})
    for seed in range(3):
        study.run("german", "a|b <off>", seed, [("test", "accuracy", at, 0.7) for at in ("", "length=64")])
    folder = study.write()

    def levels(at: str) -> Any:
        part = condition(compare="level", metric="accuracy", at=(at,), region=Region(low=0.5))
        return judge(folder, claim(part))[0].conditions[0].sides[0].references

    assert levels("") == {"chance": 0.25, "bag": 0.9}
    assert levels("length=64") == {"chance": 0.25}


@pytest.mark.parametrize(("change", "outcome"), [(0.0, "supported"), (2e-6, "not supported")])
def test_exact_with_and_without_another_side(change: float, outcome: str, make: Maker) -> None:
    study = begin(make)
    for seed in range(3):
        study.run("german", "base", seed, [("probe", "parameters", "", 7000.0)])
        study.run("german", "a|b <off>", seed, [("probe", "parameters", "", 7000.0 + change * (seed == 1))])
    folder = study.write()
    at, tied = Region(low=7000.0, high=7000.0), Region(low=0.0, high=0.0)
    alone = condition(compare="exact", metric="parameters", split="probe", region=at)
    against = condition(compare="exact", metric="parameters", split="probe", region=tied, against={})
    for part in (alone, against):
        (found,) = judge(folder, claim(part, seeds=1))
        assert (found.outcome, found.provisional, found.conditions[0].exact) == (outcome, False, True)
    assert [side.label for side in found.conditions[0].sides] == ["a|b <off>", "base (decoder_mask=causal)"]


@pytest.mark.parametrize(("gain", "outcome"), [(0.5, "supported"), (0.1, "inconclusive"), (0.0, "not supported")])
def test_an_interaction_of_four_variants(gain: float, outcome: str, make: Maker) -> None:
    post, warm, both = {"model.norm": "post"}, {"train.warmup": 9}, {"model.norm": "post", "train.warmup": 9}
    study = make("quick")
    study.experiment("german", {"post": post, "warm": warm, "both": both})
    noise = {"base": [0.5, 0.52, 0.5], "post": [0.3, 0.31, 0.33], "warm": [0.6, 0.62, 0.59]}
    noise["both"] = [0.4 + gain, 0.42 + gain, 0.41 + gain]
    for variant, values in noise.items():
        losses(study, variant, values)
    part = condition(
        compare="interaction", variant=both, against=post, less_variant=warm, less_against={}, region=Region(low=0.1)
    )
    (found,) = judge(study.write(), claim(part))
    gains = [(0.1 + gain) - 0.1, (0.11 + gain) - 0.1, (0.08 + gain) - 0.09]
    assert found.conditions[0].value == pytest.approx(sum(gains) / 3)
    assert found.outcome == outcome
    assert [side.variant for side in found.conditions[0].sides] == ["both", "post", "warm", "base"]


@pytest.mark.parametrize(
    ("middle", "outcome"),
    [([0.3, 0.33, 0.31], "supported"), ([0.8, 0.82, 0.81], "not supported"), ([0.3, 0.7, 0.5], "inconclusive")],
)
def test_an_order_of_variants(middle: list[float], outcome: str, make: Maker, tmp_path: Path) -> None:
    study = begin(make)
    for variant, values in (("base", [0.1, 0.12, 0.11]), ("a|b <off>", middle), ("no-positions", [0.6, 0.61, 0.63])):
        losses(study, variant, values)
    order = {"text": "x", "compare": "order", "metric": "loss", "split": "test", "slack": 0.02, "margin": 0.3}
    order["variants"] = [{}, *CHANGES.values()]
    of_claim = dict.fromkeys(("id", "section", "statement", "held_equal", "counter_evidence"), "x")
    of_claim |= {"kind": "speed", "experiment": "german"}
    entry = {**of_claim, "studies": ["quick"], "settings": {}, "seeds": 3, "conditions": [order]}
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump({"note": "n", "claims": [entry]}))
    (found,) = judge(study.write(), *read_register(tmp_path / "claims.yaml"))
    assert (found.outcome, len(found.conditions)) == (outcome, 3)


def test_a_slope_over_a_coordinate_and_a_run_that_diverged(make: Maker) -> None:
    study = begin(make)
    for seed, fall in enumerate([0.03, 0.031]):
        study.run("german", "a|b <off>", seed, [("test", "accuracy", f"distance={d}", 1 - fall * d) for d in (1, 5, 9)])
    study.run("german", "a|b <off>", 2, [("test", "accuracy", "", 0.5)], status="diverged", reason="loss is nan")
    part = condition(
        compare="level", metric="accuracy", over="distance", summary="slope", region=Region(high=-0.02, reference=0)
    )
    (found,) = judge(study.write(), claim(part, seeds=2))
    assert found.conditions[0].per_seed == pytest.approx({0: -0.03, 1: -0.031})
    assert found.conditions[0].n == "2 of 3 seeds, 1 without a value", "a fixed value has no slope"
    assert (found.outcome, found.provisional) == ("supported", True)
    assert len(found.conditions[0].curve) == 6


def test_a_curve_without_a_logarithm_is_counted_and_stops_nothing(make: Maker) -> None:
    study = begin(make)
    for seed, last in enumerate([0.1, 0.2, 0.0]):
        study.run("german", "base", seed, [("probe", "size", f"length={x}", y) for x, y in ((2, 0.4), (4, last))])
    part = condition(
        compare="level",
        variant={},
        metric="size",
        split="probe",
        over="length",
        summary="exponent",
        region=Region(low=9),
    )
    (found,) = judge(study.write(), claim(part))
    assert (found.outcome, found.conditions[0].n) == ("inconclusive", "2 of 3 seeds, 1 without a value")


# A verdict can fail, and nothing that does not belong to it turns it.


@pytest.mark.parametrize("n", [1, 2, 3, 6, 20])
def test_a_base_against_itself_under_another_name_is_never_an_effect(n: int, make: Maker) -> None:
    """Every kind of region that asks for one, whatever the number of seeds: the same runs, and new draws of them."""
    study = begin(make, seeds=n)
    rng = np.random.default_rng(n)
    same = rng.normal(0.5, 0.1, n)
    for variant, values in (("base", same), ("a|b <off>", same), ("no-positions", rng.normal(0.5, 0.1, n))):
        for seed, value in enumerate(values):
            rows = [
                ("test", "loss", "", value),
                ("test", "accuracy", "", 1.0),
                ("validation", "steps_to_target", "", 9.0),
            ]
            study.run("german", variant, seed, rows)
    regions = [Region(low=0.02), Region(high=-0.02), Region(low=0.0, closed=False), Region(high=0.0, closed=False)]
    ratios = [Region(low=1.1, ratio=True), Region(high=0.9, ratio=True)]
    parts = [condition(metric=metric, region=region) for metric in ("loss", "accuracy") for region in regions]
    parts += [condition(compare="exact", against={}, region=region) for region in regions]
    parts += [condition(compare="ratio", floor=0.01, region=region) for region in ratios]
    target = {"metric": "steps_to_target", "split": "validation"}
    parts += [condition(compare="times", region=region, **target) for region in ratios]
    found = judge(study.write(), *(claim(part, seeds=1) for part in parts))
    assert {v.outcome for v in found} <= {"not supported", "inconclusive"}
    apart = [
        condition(variant=CHANGES["no-positions"], region=region) for region in (Region(low=0.3), Region(high=-0.3))
    ]
    assert {v.outcome for v in judge(study.write(), *(claim(part) for part in apart))} <= {
        "not supported",
        "inconclusive",
    }


def test_new_draws_of_the_base_are_called_an_effect_in_few_studies() -> None:
    """Of 2,000 studies of five seeds in which a variant changes nothing: above 0 is supported in 2.5 %."""
    rng = np.random.default_rng(1)
    region, above = Region(low=0.0, closed=False), 0
    for base, variant in rng.normal(0.5, 0.1, (2000, 2, 5)):
        above += verdict_of(estimates.difference(base, variant), region, least=3)[0] == "supported"
    assert above / 2000 == pytest.approx(0.025, abs=0.01)


def rich(make: Maker, order: Callable[[list[Any]], list[Any]], seconds: float = 17.25) -> Tables:
    """A study with a grid, two plain experiments and probes, planned and run in some order of everything."""
    study = make("quick", range(3))
    heads = {"one": {"model.n_heads": 1}, "lstm": LSTM}
    for place in order([4, 16, 64]):
        chosen = dict(order(list(heads.items())))
        study.experiment(f"recall@{place}", chosen, grid={"task.distance": place}, family="recall", task="recall")
    study.experiment("german", dict(order(list(CHANGES.items()))))
    study.plan["runs"] = order(study.plan["runs"])
    for planned in order(list(study.plan["runs"])):
        name, variant, seed = planned["experiment"], planned["variant"], planned["seed"]
        rng = np.random.default_rng([len(name), len(variant), seed])
        rows = [
            *(("test", "loss", "", rng.normal(0.5, 0.1)), ("test", "accuracy", "", rng.random())),
            *(("test", "accuracy", f"distance={d}", rng.random()) for d in (1, 2, 4, 8)),
            *(("test", "items", f"distance={d}", 10 * d) for d in (1, 2, 4, 8)),
            *(("probe", "size", f"length={d}", d * d) for d in (1, 2, 4)),
        ]
        if seed:
            rows.append(("validation", "steps_to_target", "", 100.0 + int(rng.integers(9))))
        cost = dict.fromkeys(("wall_seconds", "train_seconds", "busy_seconds", "tokens_per_second"), seconds)
        study.run(name, variant, seed, order(rows), cost=cost, host=f"bench-{seconds}")
    return make_tables(read_study(study.write()))


EVERYTHING = (
    claim(condition(), condition(variant=CHANGES["no-positions"], against=NO_MASK)),
    horizons(4),
    claim(condition(compare="times", metric="steps_to_target", split="validation", region=Region(low=1.5, ratio=True))),
    claim(condition(metric="accuracy", at=("distance=4", "distance=8"), compare="level", region=Region(low=0.5))),
    claim(condition(metric="accuracy", over="distance", summary="slope", compare="level", region=Region(low=0.5))),
    claim(condition(metric="accuracy", over="distance", summary="beyond", threshold=2)),
    claim(
        condition(
            metric="size", split="probe", over="length", summary="curvature", compare="exact", region=Region(low=0.9)
        )
    ),
)


def test_no_verdict_depends_on_any_order_or_on_a_clock(make: Maker) -> None:
    plain = claims.verdicts(rich(make, list), EVERYTHING)
    assert {v.outcome for v in plain} >= {"supported", "inconclusive"}
    assert all(part.value is not None for v in plain for part in v.conditions)
    for seed in range(3):
        rng = np.random.default_rng(seed)

        def shuffled(found: list[Any], rng: np.random.Generator = rng) -> list[Any]:
            return [found[place] for place in rng.permutation(len(found))]

        assert claims.verdicts(rich(make, shuffled, seconds=900.0 + seed), EVERYTHING) == plain
    turned = tuple(replace(one, conditions=one.conditions[::-1]) for one in EVERYTHING[::-1])
    assert [v.outcome for v in claims.verdicts(rich(make, list), turned)][::-1] == [v.outcome for v in plain]
