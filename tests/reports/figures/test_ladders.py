"""Ladders: changes from rung to rung, seeds paired."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from reports.figures.ladders import change_text, ladder_figure, rungs
from reports.figures.theme import styles, theme
from reports.statistics import paired_effect, t_interval
from tests.reports.figures.drawn import check_texts

VALUES = {
    "base": {0: 3.0, 1: 3.1, 2: 2.9},
    "_x": {0: 2.5, 1: 2.65, 2: 2.4},
    "gone": {},
    "after": {1: 2.0, 2: 2.1},
    "last": {0: 1.0, 2: 1.3},
}


def test_each_rung_is_compared_with_the_one_before_over_the_seeds_of_both() -> None:
    base, second, gone, after, last = rungs(list(VALUES), VALUES)
    assert (base.mean, base.low, base.high) == pytest.approx((3.0, *(t_interval([3.0, 3.1, 2.9]) or ())))
    assert np.isnan(base.difference)
    expected = paired_effect([3.0, 3.1, 2.9], [2.5, 2.65, 2.4])
    assert second.difference == pytest.approx(expected.difference)
    assert (second.difference_low, second.difference_high) == pytest.approx((expected.low, expected.high))
    assert np.isnan([gone.mean, gone.difference, after.difference]).all()  # nothing to compare with
    assert last.difference == pytest.approx(1.3 - 2.1)  # seed 2 alone
    assert np.isnan(last.difference_low)
    assert change_text(last, "loss") == "−0.800"
    assert change_text(second, "loss").startswith("−0.483 ±0.0")
    assert change_text(after, "loss") == ""


def test_a_waterfall_is_drawn_from_value_to_value(monkeypatch: pytest.MonkeyPatch) -> None:
    with theme():
        steps = {metric: rungs(list(VALUES), VALUES) for metric in ("loss", "bleu", "accuracy")}
        figure = ladder_figure(steps, styles(list(VALUES)[1:], "base"))
        texts = check_texts(figure, monkeypatch)
    ax = figure.axes[0]
    spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches if isinstance(bar, Rectangle))
    assert sorted(tuple(np.round(sorted(span), 4)) for span in spans) == [(1.15, 2.05), (2.5167, 3.0)]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(VALUES)
    assert "no result" in texts
    assert "3.000 at the start" in texts
    assert ax.yaxis_inverted()


def test_changes_have_the_level_that_is_asked_for_and_means_the_usual_one() -> None:
    plain, strict = rungs(list(VALUES), VALUES)[1], rungs(list(VALUES), VALUES, level=0.983)[1]
    expected = paired_effect([3.0, 3.1, 2.9], [2.5, 2.65, 2.4], level=0.983)
    assert (strict.difference_low, strict.difference_high) == pytest.approx((expected.low, expected.high))
    assert strict.difference_high - strict.difference_low > plain.difference_high - plain.difference_low
    assert (strict.mean, strict.low, strict.high) == (plain.mean, plain.low, plain.high)
