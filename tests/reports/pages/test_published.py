"""What pages say of the results of record."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.pages.published import BLOCKS, effect_cell, effects_of, effects_table, fair_table, judged, told
from reports.pages.recorded import Records, read_records
from tests.recorded import condition, effect, fair, write_record

NO_BREAK = "\N{NO-BREAK SPACE}"


def table(text: str) -> list[list[str]]:
    """The cells of the tables of a text, without the rules under the heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").replace("\\|", "\\").split("|")] for line in lines]


@pytest.fixture
def records(tmp_path: Path) -> Records:
    claims = [
        condition("first", 1, "supported", condition_value=0.9, condition_low=0.8, condition_high=1.0),
        condition("second", 1, "not supported", condition_outcome="supported"),
        condition("second", 2, "not supported", condition_value=-0.125, condition_low=None, condition_high=None),
        condition("third", 0, "not run"),
    ]
    write_record(tmp_path, "lecture", claims=claims)
    write_record(tmp_path, "lecture-real", claims=[condition("real", 1, "inconclusive", section="B", provisional=True)])
    return read_records(tmp_path)


def test_a_verdict_is_shown_with_the_condition_that_decided_it(records: Records) -> None:
    text = BLOCKS["verdicts"](records, "up/results")
    rest = ["at least 0.2", "3 of 3 seeds", "[`lecture`](up/results/lecture/)"]
    assert table(text)[1:3] == [
        ["`first`", "It \\ is so.", f"✓{NO_BREAK}supported", "Accuracy: **0.900 (0.800 to 1.00)**", *rest],
        ["`second`", "It \\ is so.", f"✗{NO_BREAK}not supported", "Accuracy: **−0.125** (and 1 more condition)", *rest],
    ]
    assert "third" not in text
    assert f"?{NO_BREAK}inconclusive, provisional" in text
    assert text.index("**A section (1:00)**") < text.index("**B**")


def test_a_study_of_the_lecture_without_a_record_is_named_with_its_command(records: Records) -> None:
    assert "run for the record" not in BLOCKS["verdicts"](records, "")
    alone = {"lecture": records["lecture"]}
    assert "`lecture-real` has not been run for the record yet: `ablations run lecture-real`." in BLOCKS["verdicts"](
        alone, ""
    )


def test_the_whole_table_has_every_condition_with_its_sign_in_a_row_of_its_own(records: Records) -> None:
    alone, first, second = table(BLOCKS["conditions"](records, "r"))[1:4]
    assert alone[2] == "Accuracy: **0.900 (0.800 to 1.00)**", "one condition has the sign of its claim"
    end = ["at least 0.2", "3 of 3 seeds"]
    assert first[:5] == [
        *("`second`", f"✗{NO_BREAK}not supported", "✓ Accuracy: **0.500 (0.250 to 0.750)**"),
        *end,
    ]
    assert second == ["", "", "✗ Accuracy: **−0.125**", *end, "", ""]


def test_the_tally_is_one_sentence_over_the_studies(records: Records) -> None:
    assert BLOCKS["tally"](records, "r") == (
        "[`lecture`](r/lecture/): 1 supported, 1 not supported of 2 claims; "
        "[`lecture-real`](r/lecture-real/): 1 inconclusive of 1 claim."
    )


def test_a_claim_that_two_studies_test_is_told_once(records: Records) -> None:
    alone = replace(records["lecture-real"], study="agreement")
    both = {**records, "agreement": alone}
    assert [one.record.study for one in told(both)] == ["lecture", "lecture", "lecture-real"]
    assert [one.record.study for one in told({"agreement": alone})] == ["agreement"]


def test_claims_are_judged_in_the_order_of_the_record(records: Records) -> None:
    found = judged(records, ("lecture",))
    assert [one.first["id"] for one in found] == ["first", "second"]
    assert [one.deciding["condition"] for one in found] == [1, 2]


FAIR = [
    fair("base", "loss", "same", "", value=0.25),
    fair("base", "loss", "tuned", "", value=0.125),
    fair("no mask", "loss", "same", "better"),
    fair("no mask", "loss", "tuned", "undecided", changed=True),
    fair("no norm", "bleu", "same", "worse"),
    fair("no norm", "bleu", "tuned", "", reason="no size fits", difference=None),
]
EFFECTS = [
    effect("german", "no mask", "loss", -1.5),
    effect("german (tuned)", "no mask", "loss", -1.25, completed=2, diverged=1),
    effect("german", "no mask", "exposure-gap", 20.0),
    effect("german", "no norm", "bleu", -30.0, low=None, high=None, all_equal=True),
]


def test_comparisons_stand_side_by_side_with_the_verdicts_that_change(tmp_path: Path) -> None:
    write_record(tmp_path, "components", fairness=FAIR, effects=EFFECTS)
    found = read_records(tmp_path)
    text = BLOCKS["components"](found, "r")
    rest = ["3 seeds; 3 of 3 seeds, 1 diverged", "better; **tuned: undecided**"]
    assert table(text.split("**BLEU**")[0]) == [
        ["change", "same settings", "tuned", "seeds", "verdict"],
        ["base", "0.250", "0.125", "", "the base"],
        ["no mask", "−1.500 (−2.000 to −1.000)", "−1.250 (−1.750 to −0.750)", *rest],
    ]
    same = "−30.0 (the same in 3 of 3 seeds; exact interval of that share: from 29\N{NO-BREAK SPACE}%)"
    assert table(text.split("**BLEU**")[1])[1] == ["no norm", same, "left out: no size fits", "3 seeds", "worse"]
    assert "[fairness.csv](r/components/fairness.csv)" in text
    assert text.endswith("no mask sees the words that it is to say: its better loss is no gain.")
    rows = table(fair_table(found["components"], variants=["no norm"]))
    assert [row[:2] for row in rows] == [["change", "metric"], ["no norm", "BLEU"]]


@pytest.mark.parametrize(("variant", "gap", "leaks"), [("copies", 87.0, True), ("no mask", 19.5, False)])
def test_a_target_leaks_by_the_exposure_gap_whatever_the_variant_is_called(
    variant: str, gap: float, leaks: bool, tmp_path: Path
) -> None:
    effects = [
        effect("german", variant, "loss", -1.5),
        effect("german", variant, "exposure-gap", gap),
        effect("other", variant, "exposure-gap", 90.0),
    ]
    write_record(tmp_path, "components", fairness=[fair(variant, "loss", "same", "better")], effects=effects)
    text = BLOCKS["components"](read_records(tmp_path), "r")
    assert text.endswith(f"{variant} sees the words that it is to say: its better loss is no gain.") == leaks
    assert ("no gain" in text) == leaks


def test_multi30k_has_the_means_of_the_base_and_the_changes(tmp_path: Path) -> None:
    effects = [
        effect("multi30k", "no norm", "bleu", -2.0, completed=2, diverged=1),
        effect("multi30k", "no norm", "loss", 0.5, completed=2, diverged=1),
        effect("multi30k", "no norm", "chrf", 9.0),
        effect("other", "no norm", "loss", 7.0),
    ]
    shared = {"experiment": "multi30k", "variant": "base", "split": "test", "coordinate": "", "state": "completed"}
    values = [
        {**shared, "seed": seed, "metric": metric, "value": value, **more}
        for seed, metric, value, more in (
            (0, "loss", 1.0, {}),
            (1, "loss", 2.0, {}),
            (0, "loss", 9.0, {"split": "validation"}),
            (0, "loss", 9.0, {"coordinate": "length=5"}),
            (0, "bleu", 30.0, {}),
            (0, "bleu", 9.0, {"variant": "no norm"}),
        )
    ]
    write_record(tmp_path, "multi30k", effects=effects, values=values)
    text = BLOCKS["multi30k"](read_records(tmp_path), "r")
    assert table(text) == [
        ["change", "Loss", "BLEU", "seeds"],
        ["base", "1.500", "30.0", ""],
        ["no norm", "+0.500 (0.000 to +1.000)", "−2.0 (−2.5 to −1.5)", "3 of 3 seeds, 1 diverged"],
    ]


def test_records_are_listed_with_command_and_time(tmp_path: Path) -> None:
    write_record(tmp_path, "lecture", wall_seconds=9000, busy_seconds=18000.5, runs=1430, diverged=25, seeds=[5, 15])
    write_record(tmp_path, "complexity")
    assert table(BLOCKS["records"](read_records(tmp_path), "r"))[1:] == [
        ["[`lecture`](r/lecture/)", "1,430, 25 diverged", "5 or 15", "`ablations run lecture`", "2.5 h", "5.0 h"],
        ["[`complexity`](r/complexity/)", "12", "3", "`ablations run complexity`", "10 min", "20 min"],
    ]


@pytest.mark.parametrize("name", BLOCKS)
def test_without_records_there_is_nothing_to_say(name: str) -> None:
    assert BLOCKS[name]({}, "r") == ""


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "+1.0 (+0.5 to +1.5)"),
        ({"low": float("nan"), "high": float("nan"), "n_seeds": 1}, "+1.0 (one seed: no interval)"),
        ({"low": float("nan"), "high": float("nan")}, "+1.0"),
    ],
)
def test_an_effect_has_its_interval_or_says_why_there_is_none(more: dict[str, Any], text: str) -> None:
    assert effect_cell(effect("german", "no norm", "bleu", 1.0, **more)) == text


def test_effects_are_those_of_the_experiment_variants_and_metrics(tmp_path: Path) -> None:
    write_record(tmp_path, "components", effects=EFFECTS)
    record = read_records(tmp_path)["components"]
    assert [row["variant"] for row in effects_of(record, "german")] == ["no mask", "no norm"]
    assert [row["variant"] for row in effects_of(record, "german", ["no norm"])] == ["no norm"]
    assert effects_of(record, "german", metrics=("chrf",)) == []
    assert table(effects_table(effects_of(record, "german")))[2][1] == "–"
