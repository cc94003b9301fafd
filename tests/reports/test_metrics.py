"""Names and numbers of metrics."""

import pytest

from reports.metrics import LONG_RANGE, METRICS, decimals_for, facts, number, place, signed


def test_every_headline_metric_says_which_way_is_better() -> None:
    assert {name: facts(name).better for name in ("loss", "perplexity", "bleu", "accuracy", LONG_RANGE)} == {
        "loss": -1,
        "perplexity": -1,
        "bleu": 1,
        "accuracy": 1,
        LONG_RANGE: 1,
    }
    assert all(entry.name for entry in METRICS.values())


def test_secondary_scores_of_translations_say_which_way_is_better() -> None:
    better = {"bleu-lower": 1, "chrf": 1, "chrf-forced": 1, "accuracy-per-token": 1, "empty": -1}
    neither = {"length-ratio": 0, "exposure-gap": 0}
    assert {name: facts(name).better for name in better | neither} == better | neither
    assert all(name in METRICS for name in better | neither)


def test_metrics_have_an_order_with_unknown_ones_last() -> None:
    names = ["rank", "chrf", "loss", "bleu-lower", "bleu"]
    assert sorted(names, key=place) == ["loss", "bleu", "bleu-lower", "chrf", "rank"]


def test_an_unknown_metric_goes_by_its_own_name_and_has_no_better_side() -> None:
    assert (facts("gradient_norm").name, facts("gradient_norm").better) == ("Gradient norm", 0)
    assert facts("_").name == "_"


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (0.0834, "loss", "0.083"),
        (-0.0001, "loss", "0.000"),
        (-2.5, "bleu", "−2.5"),
        (0.9166, "length-ratio", "0.917"),
        (1.2e-5, "gradient_norm", "1.2e−05"),
        (0.0, "gradient_norm", "0"),
    ],
)
def test_numbers(value: float, metric: str, text: str) -> None:
    assert number(value, metric) == text


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (2.97, "loss", "+2.970"),
        (-95.84, "bleu", "−95.8"),
        (0.0004, "accuracy", "0.000"),
        (3e-9, "rank", "+3e−09"),
    ],
)
def test_differences_have_a_sign_unless_they_print_as_zero(value: float, metric: str, text: str) -> None:
    assert signed(value, metric) == text


@pytest.mark.parametrize(
    ("usual", "size", "decimals"),
    [(3, 0.5, 3), (3, 0.001, 3), (3, 0.0009, 5), (1, 0.04, 3), (3, 0.0, 3), (3, 1e-9, 3), (3, -0.0004, 5)],
)
def test_what_would_not_be_seen_gets_more_decimals(usual: int, size: float, decimals: int) -> None:
    assert decimals_for(usual, size) == decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [(101_648.0, "102,000"), (-532.0, "−532"), (1340.0, "1,340"), (2.5e7, "2.5e+07"), (999.9, "1,000")],
)
def test_three_digits_need_no_exponent_as_long_as_they_can_be_read(value: float, text: str) -> None:
    assert number(value, "parameters") == text
