"""Sentences say what the numbers say, and no more."""

from typing import Any

import pandas as pd
import pytest

from reports.metrics import LONG_RANGE, METRICS
from reports.statistics import paired_effect
from reports.wording import (
    OTHERS,
    categories_caption,
    effect_note,
    effects_caption,
    headline,
    interval,
    long_range_note,
    other_headlines,
    others_caption,
    quantity,
    ratio,
    seeds_note,
    times,
)

NAN = float("nan")


def effects(metric: str, **differences: list[float]) -> pd.DataFrame:
    """Effects on one metric; differences against a base of zeros, one a seed."""
    rows: list[dict[str, Any]] = [
        {"metric": metric, "variant": v.replace("_", "-"), **vars(paired_effect([0.0] * len(d), d))}
        for v, d in differences.items()
    ]
    return pd.DataFrame(rows).astype({"low": float, "high": float})


def test_the_headline_is_the_largest_harm() -> None:
    frame = effects("loss", no_mask=[-5.0, -5.1, -5.2], no_residual=[2.9, 3.0, 3.1], lstm=[1.0, 1.1, 1.2])
    text = headline(frame, "loss").replace("\N{NO-BREAK SPACE}", " ")
    assert text == "no-residual raises loss most: +3 nats per token (95 % interval +2.75 to +3.25, 3 seeds)."
    frame = effects("bleu", no_mask=[-90.0, -91.0, -89.5], one_head=[5.0, 5.5, 6.0])
    assert headline(frame, "bleu").startswith("no-mask lowers BLEU most: −90.2 points (95")


def test_the_headline_does_not_take_noise_for_an_effect() -> None:
    frame = effects("loss", one_head=[0.5, -0.4, 0.3], no_norm=[0.01, -0.01, 0.005])
    text = headline(frame, "loss")
    assert text.startswith("No variant has a worse loss than the base by more than the noise between seeds; one-head")
    assert headline(effects("loss", better=[-1.0, -1.1, -1.2]), "loss") == "No variant has a worse loss than the base."


def test_the_headline_says_when_there_is_no_interval() -> None:
    assert headline(effects("accuracy", lstm=[-0.4]), "accuracy") == (
        "lstm lowers accuracy most: −0.4 (one seed: no interval)."
    )
    text = headline(effects("accuracy", lstm=[-0.5, -0.5, -0.5]), "accuracy").replace("\N{NO-BREAK SPACE}", " ")
    reason = "the same in 3 of 3 seeds; exact interval of that share: from 29 %"
    assert text == f"lstm lowers accuracy most: −0.5 ({reason})."


def test_a_metric_without_a_better_side_has_no_harm() -> None:
    text = headline(effects("gradient_norm", deep=[-3.0, -3.1, -2.9], shallow=[1.0, 1.1, 1.2]), "gradient_norm")
    assert text.startswith("deep differs most from the base in gradient norm: −3 (95")


def test_further_metrics_get_a_clause_each_where_something_is_worse() -> None:
    frame = pd.concat(
        [
            effects("bleu", a=[-90.0, -91.0], b=[-2.0, -3.0]),
            effects(LONG_RANGE, a=[-0.1, -0.1], lstm=[-0.3, -0.31]),
            effects("accuracy", a=[0.1, 0.2]),
        ]
    )
    text = other_headlines(frame, ["bleu", LONG_RANGE, "accuracy"])
    assert text == "BLEU falls most with a (−90.5); long-range accuracy falls most with lstm (−0.305)."
    assert other_headlines(frame, []) == ""


def test_notes_on_effects_without_interval() -> None:
    assert effect_note(vars(paired_effect([0.0], [1.0]))) == "one seed: no interval"
    assert effect_note(vars(paired_effect([0.0, 0.0], [1.0, 2.0]))) == ""
    assert "the same in 4 of 4 seeds" in effect_note(vars(paired_effect([0.0] * 4, [1.0] * 4)))
    assert interval(NAN, NAN, "loss") == "–"
    assert interval(-0.5, 0.25, "loss") == "−0.500 to +0.250"


@pytest.mark.parametrize(("seeds", "word"), [(1, "no interval"), (2, "so wide"), (3, ""), (10, "")])
def test_few_seeds_are_said(seeds: int, word: str) -> None:
    assert word in seeds_note(seeds)
    assert bool(seeds_note(seeds)) == bool(word)
    frame = effects("loss", a=[0.1 * i for i in range(seeds)])
    caption = effects_caption(frame, pd.DataFrame(), ["loss"], compressed=False)
    assert times(seeds, "seed") in caption
    assert seeds_note(seeds) in caption


def test_long_range_is_defined_with_its_distances() -> None:
    rows = [{"metric": "accuracy", "coordinate": f"distance={d}", "value": 1.0} for d in range(1, 18)]
    frame = pd.DataFrame(rows)
    assert long_range_note(frame) == (
        "Long-range accuracy is the mean accuracy over the longest third of the distances: 12 to 17."
    )
    counted = pd.DataFrame([*rows, *({**row, "metric": "items", "value": 9.0} for row in rows)])
    assert "weighted by test items" in long_range_note(counted)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (286976, "287 k"),
        (1.31e12, "1.31 T"),
        (17.25, "17.2"),
        (512.0, "512"),
        (4321.5, "4322"),
        (None, "–"),
        (NAN, "–"),
        (0, "0"),
    ],
)
def test_quantities(value: float | None, text: str) -> None:
    assert quantity(value) == text


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (89.0, 100.0, "−11 %"),
        (130.0, 100.0, "+30 %"),
        (900.0, 100.0, "×9"),
        (100.2, 100.0, ""),
        (1.0, None, ""),
        (NAN, 1.0, ""),
    ],
)
def test_costs_against_the_base(value: float, base: float | None, text: str) -> None:
    assert ratio(value, base) == text


def test_the_caption_of_other_values_explains_what_is_there() -> None:
    plain = others_caption(["loss", "chrf", "exposure-gap"], diverged=False)
    assert plain.startswith("Means over seeds. Exposure gap: ")
    assert "Perplexity" not in plain
    assert "Only runs that completed" in others_caption(["loss"], diverged=True)
    assert others_caption(["rank"], diverged=False) == "Means over seeds."


def test_every_metric_explained_is_known() -> None:
    assert set(OTHERS) <= set(METRICS)


def test_the_caption_of_categories_speaks_of_tokens_where_they_matter() -> None:
    assert "per token" in categories_caption(by_token=True)
    assert "per token" not in categories_caption(by_token=False)
