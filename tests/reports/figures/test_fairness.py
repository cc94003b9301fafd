"""The forest of all comparisons and the curves of trials: the numbers of the artists, and no text on another."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from reports.fairness import Fair
from reports.figures.fairness import (
    ENDED,
    MARKS,
    THICK,
    again,
    comparisons_figure,
    envelope,
    fair_pictures,
    is_unchanged,
    own_verdicts,
    places,
    plot_comparisons,
    round_ticks,
    row_note,
    side_notes,
    trial_frames,
    trials_figure,
)
from reports.figures.gallery import Gallery
from reports.figures.scales import Scale
from reports.figures.theme import INK, PAPER, styles, theme
from reports.statistics import paired_effect
from tests.reports.fair_study import (
    MATCHED,
    RATES,
    SAME,
    TUNED,
    Losses,
    fair_of,
    fair_study,
    share_runs,
    unchanged_study,
)
from tests.reports.figures.drawn import check_texts

Maker = Callable[..., Any]
ARMS: dict[str, Losses] = {"same": SAME, "matched": MATCHED, "tuned": TUNED}


@pytest.fixture
def fair(make: Maker) -> Iterator[Fair]:
    with theme():
        yield fair_of(fair_study(make()))


def drawn(ax: Axes, marker: str) -> list[tuple[float, float]]:
    """Places of the marks of one kind."""
    lines = [line for line in ax.lines if line.get_marker() == marker]
    return [(float(x), float(y)) for line in lines for x, y in np.asarray(line.get_xydata())]


def test_each_comparison_has_its_mark_at_its_effect_in_each_row(fair: Fair) -> None:
    ax = plot_comparisons(fair, Figure(figsize=(6, 4)).subplots(), "loss")
    assert len({(mark.marker, mark.is_filled) for mark in MARKS.values()}) == 3
    assert len({mark.marker for mark in MARKS.values()}) == 3
    for i, (name, losses) in enumerate(ARMS.items()):
        rows = [(y, variant) for y, variant in enumerate(fair.others) if variant in losses]
        wanted = [
            (paired_effect(losses["base"], losses[variant]).difference, y + 0.28 * (i - 1)) for y, variant in rows
        ]
        found = drawn(ax, MARKS[name].marker)
        assert np.array(sorted(found)) == pytest.approx(np.array(sorted(wanted)))
    looks = {str(line.get_marker()): line for line in ax.lines if str(line.get_marker()) in "osD"}
    assert to_hex(looks["s"].get_markerfacecolor()) == PAPER
    assert to_hex(looks["o"].get_markerfacecolor()) != PAPER
    bars = [line for line in ax.lines if line.get_zorder() == 3 and len(np.atleast_1d(line.get_xdata())) == 2]
    ends = sorted(tuple(map(float, np.asarray(line.get_xdata()))) for line in bars)
    effects = [paired_effect(of["base"], of[v]) for of in ARMS.values() for v in of if v != "base"]
    wanted = sorted((e.low, e.high) for e in effects if e.low is not None and e.high is not None)
    assert np.array(ends) == pytest.approx(np.array(wanted))


def test_rows_of_two_and_three_comparisons_are_around_their_middle() -> None:
    assert places(2, 3) == pytest.approx([1.72, 2.0, 2.28])
    assert places(0, 2) == pytest.approx([-0.18, 0.18])


def test_beside_the_rows_stand_the_verdict_and_what_is_news(fair: Fair) -> None:
    assert side_notes(fair, "loss", "slow") == {"same": ("worse", False), "tuned": ("undecided", True)}
    assert side_notes(fair, "loss", "small") == {"same": ("worse", False), "matched": ("better", True)}
    assert side_notes(fair, "loss", "huge") == {"same": ("undecided", False), "matched": ("left out", False)}
    ax = plot_comparisons(fair, Figure(figsize=(6, 4)).subplots(), "loss")
    texts = {text.get_text(): text for text in ax.texts}
    assert texts["better"].get_fontweight() == "bold"
    assert texts["better"].get_color() == INK
    assert texts["worse"].get_fontweight() == "normal"
    y = fair.others.index("small")
    assert texts["better"].xy == (1, y)  # type: ignore[attr-defined]  # beside the mark of the matched one, in the middle of the row


def test_under_the_names_stands_what_was_made_equal(fair: Fair) -> None:
    assert row_note(fair, "small") == "d_ff 300; lr 0.003"
    assert row_note(fair, "slow") == "lr 0.001"


@pytest.mark.parametrize("comparisons", [("matched",), ("tuned",), ("matched", "tuned")])
def test_no_text_is_on_another(comparisons: tuple[str, ...], make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    fair = fair_of(fair_study(make(), comparisons))
    with theme():
        texts = check_texts(comparisons_figure(fair), monkeypatch)
    names = {"same": "Same settings", "matched": "Matched", "tuned": "Tuned"}
    assert [names[name] in texts for name in names] == [name in ("same", *comparisons) for name in names]
    assert "nats per token, base 1.100, tuned 1.000" in texts or "tuned" not in comparisons


def test_an_experiment_without_results_in_a_comparison_says_so(make: Maker) -> None:
    study = make(seeds=(0, 1))
    for name, facts in (("e", {}), ("e (tuned)", {"comparison": "tuned", "origin": "e"})):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"], **facts)
    for variant, losses in (("base", (1.0, 1.5)), ("x", (2.0, 2.75))):
        for seed, loss in enumerate(losses):
            study.run("e", variant, seed, [("test", "loss", "", loss)])
    with theme():
        fair = fair_of(study.write())
        ax = plot_comparisons(fair, Figure(figsize=(6, 4)).subplots(), "loss")
    assert [text.get_text() for text in ax.texts if text.get_text() == "no result"] == ["no result"]
    assert drawn(ax, "D") == []


def test_trials_are_taken_apart_by_setting(fair: Fair) -> None:
    (path, frame) = next(iter(trial_frames(fair).items()))
    assert path == "train.lr"
    assert frame["at"].tolist() == [trial["train.lr"] for trial in fair.trials["point"]]
    named = with_points(fair, [{"model.norm": "rms", "train.lr": 0.1, "train.beta": True}] * len(fair.trials))
    assert trial_frames(Fair(arms=fair.arms, trials=named)) == {}  # names, one value alone, and truth values


def with_points(fair: Fair, points: list[dict[str, Any]]) -> pd.DataFrame:
    """The trials at other points."""
    return fair.trials.assign(point=pd.Series(points, index=fair.trials.index))


def test_the_line_is_that_of_the_best_trial_at_each_place() -> None:
    frame = pd.DataFrame({"variant": ["a", "a", "a", "b"], "at": [1.0, 1.0, 2.0, 1.0], "value": [3.0, 2.0, 5.0, 4.0]})
    lines = envelope(frame)
    assert lines[["variant", "at", "mean"]].values.tolist() == [["a", 1.0, 2.0], ["a", 2.0, 5.0], ["b", 1.0, 4.0]]
    assert lines["low"].isna().all()


def trials_of(fair: Fair) -> Figure:
    return trials_figure(
        trial_frames(fair)["train.lr"], path="train.lr", order=fair.origin.order, base="base", styles=fair.origin.styles
    )


def test_trials_have_a_dot_each_a_star_at_the_best_and_marks_at_the_upper_end(fair: Fair) -> None:
    (ax,) = trials_of(fair).axes
    stars, dots = drawn(ax, "*"), drawn(ax, "o")
    assert len(stars) == 4
    assert set(stars) <= set(dots)
    completed = fair.trials[fair.trials["state"] == "completed"]
    assert len(dots) == len(completed) == 14
    (pruned,), (diverged,) = drawn(ax, "v"), drawn(ax, "x")
    tops = {min(float(y) for text in ax.texts if text.get_text() == v for y in [text.get_position()[1]]) for v in RATES}
    assert pruned[1] == diverged[1]
    assert any(pruned[1] == pytest.approx(top + 0.07) for top in tops)  # the upper end of a panel, under its title
    assert pruned[0] < diverged[0]
    assert set(ENDED) == {"pruned", "diverged"}


def test_the_base_is_thick_in_every_panel(fair: Fair) -> None:
    (ax,) = trials_of(fair).axes
    thick = [c for c in ax.collections if THICK in np.ravel(c.get_linewidth()).tolist()]
    assert len(thick) >= len(fair.origin.order)
    assert all(to_hex(np.asarray(c.get_edgecolor())[0]) == INK for c in thick)


def test_points_that_differ_in_several_settings_have_no_line(fair: Fair) -> None:
    spread: list[dict[str, Any]] = [{"train.lr": 0.001 * 1.1**i, "train.warmup": i} for i in range(len(fair.trials))]
    found = Fair(arms=fair.arms, trials=with_points(fair, spread))
    (ax,) = trials_of(found).axes
    assert not any(THICK in np.ravel(c.get_linewidth()).tolist() for c in ax.collections)
    assert len(drawn(ax, "o")) == 14


def test_no_text_of_the_trials_is_on_another(fair: Fair, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = check_texts(trials_of(fair), monkeypatch)
    assert {"base", "best of base", "best trial", "given up", "diverged", "train.lr"} <= set(texts)


@pytest.mark.parametrize("n", [1, 5, 17])
def test_many_variants_have_room(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["base", *(f"variant-with-a-name-{i}" for i in range(n - 1))]
    rows: list[dict[str, Any]] = [
        {"variant": v, "number": i, "state": "completed", "value": 0.1 * 2**i, "seed": 0, "at": 0.0001875 * 2**i,
         "point": {"train.lr": 0.0001875 * 2**i}}
        for v in names for i in range(8)
    ]  # fmt: skip
    with theme():
        figure = trials_figure(
            pd.DataFrame(rows), path="train.lr", order=names, base="base", styles=styles(names[1:], "base")
        )
        check_texts(figure, monkeypatch, least=6)


def test_ticks_are_round_and_inside() -> None:
    with theme():
        ticks = round_ticks(Scale(0.00016, 0.028, log=True), 165)
    assert ticks == pytest.approx([0.0003, 0.003, 0.01])


def test_pictures_say_what_they_show(fair: Fair, tmp_path: Path) -> None:
    forest, trials = fair_pictures(fair, "01-e", Gallery(tmp_path))
    assert (forest.name, trials.name) == ("01-e-fair", "01-e-trials-by-train-lr")
    assert "same settings, matched and tuned" in forest.caption
    assert "huge sees the tokens that are to be predicted" in forest.caption
    assert "4 verdicts differ" in forest.alt  # slow when tuned, small when matched, on two metrics
    assert "2 trials without a loss of their own" in trials.caption
    assert "The test set has no part in it." in trials.caption


def test_without_a_finished_trial_there_are_no_curves(make: Maker, tmp_path: Path) -> None:
    fair = fair_of(fair_study(make()))
    waiting = fair.trials.assign(state="waiting", value=float("nan"))
    with theme():
        found = fair_pictures(Fair(arms=fair.arms, trials=waiting), "01-e", Gallery(tmp_path))
    assert [picture.name for picture in found] == ["01-e-fair"]


def test_what_a_comparison_leaves_as_it_is_has_no_second_mark(make: Maker, tmp_path: Path) -> None:
    with theme():
        fair = fair_of(unchanged_study(make()))
        ax = plot_comparisons(fair, Figure(figsize=(6, 4)).subplots(), "loss")
        picture, *_ = fair_pictures(fair, "01-e", Gallery(tmp_path))
    assert [is_unchanged(fair, "matched", variant) for variant in ("slow", "small")] == [True, False]
    assert not is_unchanged(fair, "same", "slow")
    rows = {fair.others[round(y)] for _, y in drawn(ax, MARKS["matched"].marker)}
    assert rows == {"small"}
    assert len(drawn(ax, MARKS["same"].marker)) == 2
    assert own_verdicts(fair, "loss", "slow") == {"same": "worse"}
    assert side_notes(fair, "loss", "slow") == {"same": ("worse", False)}
    assert "No mark of matched: the variant is as it is, of the size of the base already." in picture.caption


def test_a_changed_base_makes_every_effect_another(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    study.experiment("e (tuned)", {"x": {"model.norm": "none"}}, headline=["loss"], comparison="tuned", origin="e")
    share_runs(study, "e", "e (tuned)", ["x"])
    fair = fair_of(study.write())
    assert again(fair.arms["tuned"]) == {"x"}
    assert not is_unchanged(fair, "tuned", "x")
