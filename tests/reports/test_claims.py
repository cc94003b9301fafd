"""Verdicts from made-up rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reports import claims, register
from reports.items import Resampled
from reports.regions import Region
from reports.register import Claim, Condition, Place
from reports.resampling import RESAMPLES
from reports.rows import StudyRows, read_study
from reports.table import Items, Tables, make_tables, records
from reports.verdicts import LOOKS, Verdict

Maker = Callable[..., Any]
MadeUpStudy = Any

NO_MASK = {"model.decoder_mask": "none"}
CHANGES = {"a|b <off>": NO_MASK, "no-positions": {"model.position": "none"}}


def condition(**fields: Any) -> Condition:
    common: dict[str, Any] = {"text": "x", "compare": "difference", "metric": "loss", "split": "test"}
    return Condition(**{**common, "variant": NO_MASK, "region": Region(low=0.1), **fields})


def claim(*conditions: Condition, **fields: Any) -> Claim:
    common: dict[str, Any] = {
        "id": "c",
        "section": "21:23",
        "statement": "It matters.",
        "kind": "speed",
        "tests": (Place(study="quick", experiment="german"),),
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
        ("positions-loss-german", "supported", True, "speed"),
        ("positions-bleu-german", "supported", True, "speed"),
        ("mask-loss-german", "supported", True, "structural"),
        ("mask-bleu-german", "supported", True, "structural"),
    ]
    assert {(v.experiment, v.task) for v in found} == {("german", "german")}
    assert [v.conditions[0].n for v in found] == ["3 of 3 seeds"] * 4
    assert found[0].conditions[0].held_equal.endswith("(comparison: same)")
    assert all("prototype" in v.note for v in found)


def test_an_interval_is_the_one_of_the_table_of_effects(quick: Path) -> None:
    tables = make_tables(read_study(quick))
    judged = claims.verdicts(tables)[1].conditions[0]
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


def test_what_the_plan_does_not_cover_has_no_verdict(make: Maker) -> None:
    elsewhere = [
        claim(tests=(Place(study="lecture", experiment="german"),)),
        claim(tests=(Place(study="quick", experiment="multi30k"),)),
    ]
    assert judge(begin(make).write(), *elsewhere) == []


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


def test_every_comparison_of_the_register_can_be_computed() -> None:
    assert set(claims.COMPARE) == set(register.COMPARISONS)


def test_the_same_rows_in_another_order_give_the_same_verdicts(quick: Path) -> None:
    tables = make_tables(read_study(quick))
    shuffled: dict[str, Any] = {
        **vars(tables),
        "values": tables.values.sample(frac=1, random_state=3),
        "reported": tables.reported.sample(frac=1, random_state=4),
    }
    assert claims.verdicts(Tables(**shuffled)) == claims.verdicts(tables)
