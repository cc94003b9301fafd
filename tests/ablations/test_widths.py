"""Widths of a model: the value that is nearest, on functions worked out by hand; what follows d_model."""

from typing import Any

import pytest

from ablations.load import make_study
from ablations.study import Settings
from ablations.widths import MOST, Match, nearest, step_of, with_width
from models.config import ConfigError
from tests.ablations import trained


def settings(**model: Any) -> Settings:
    experiment = {"task": trained.TASK, "model": {"architecture": "encoder-decoder", **model}, "train": trained.TRAIN}
    (run,) = make_study({"name": "tiny", "seeds": 1, "experiments": {"e": experiment}}).runs()
    return run.settings


@pytest.mark.parametrize(
    ("slope", "start", "step", "found"),
    [
        (1 / 37, 20, 1, 37),  # upwards
        (1 / 37, 300, 1, 37),  # downwards
        (1 / 37, 37, 1, 37),
        (1 / 37, 15, 5, 35),  # 35 is off by 2, 40 by 3
        (1 / 38, 15, 5, 40),
        (2 / 75, 15, 5, 35),  # 37.5 is in the middle: the lower
        (1 / 0.3, 9, 1, 1),  # above at the least
        (1 / 9, 1, 1, 9),
        (1 / 1000, 3, 3, 3 * MOST),  # below at the most
    ],
)
def test_the_nearest_multiple_is_found(slope: float, start: int, step: int, found: int) -> None:
    assert nearest(lambda n: slope * n, start, step) == found


def test_the_nearest_is_that_of_a_search_through_all() -> None:
    for target in range(3, 200, 7):
        all_of_them = min(range(4, 4 * 60, 4), key=lambda n: abs(n * n / target**2 - 1))
        assert nearest(lambda n, target=target: n * n / target**2, 12, 4) == all_of_them  # type: ignore[misc]


def test_a_value_is_asked_for_once_and_few_are() -> None:
    asked: list[int] = []

    def ratio(n: int) -> float:
        asked.append(n)
        return n / 1500

    assert nearest(ratio, 256, 1) == 1500
    assert len(asked) == len(set(asked)) <= 16


def test_where_it_is_close_the_search_ends() -> None:
    asked: list[int] = []

    def ratio(n: int) -> float:
        asked.append(n)
        return n / 1500

    assert abs(nearest(ratio, 256, 1, close=0.05) - 1500) <= 75
    assert len(asked) <= 7


def test_with_d_model_goes_what_stands_in_its_usual_proportion() -> None:
    usual = with_width(settings(d_model=12, n_heads=3), "d_model", 21).model
    assert (usual.d_model, usual.d_head, usual.d_ff) == (21, 7, 84)
    own = with_width(settings(d_model=12, n_heads=3, d_head=5, d_ff=10), "d_model", 22).model
    assert (own.d_model, own.d_head, own.d_ff) == (22, 5, 10)
    lstm = {"architecture": "lstm", "d_model": 10}
    assert with_width(settings(**lstm), "d_model", 11).model.d_hidden == 11
    assert with_width(settings(**lstm, d_hidden=7), "d_model", 11).model.d_hidden == 7


def test_other_widths_go_alone() -> None:
    changed = with_width(settings(d_model=12, n_heads=3), "d_ff", 13).model
    assert (changed.d_model, changed.d_head, changed.d_ff) == (12, 4, 13)


def test_heads_divide_the_model_and_turned_ones_are_even() -> None:
    base = settings(d_model=12, n_heads=3).model
    assert (step_of(base, "d_model"), step_of(base, "d_head"), step_of(base, "d_ff")) == (3, 1, 1)
    rotary = settings(d_model=12, n_heads=3, position="rotary")
    assert (step_of(rotary.model, "d_model"), step_of(rotary.model, "d_head")) == (6, 2)
    for field in ("d_model", "d_head"):
        value, step = getattr(rotary.model, field), step_of(rotary.model, field)
        with_width(rotary, field, value + step)
        with pytest.raises(ConfigError, match="d_head"):
            with_width(rotary, field, value + step // 2)
    free = settings(d_model=12, n_heads=3, d_head=5)
    assert step_of(free.model, "d_model") == 1
    assert step_of(settings(architecture="lstm", d_model=10).model, "d_model") == 1


def test_a_match_changes_its_field_or_nothing() -> None:
    base = settings(d_model=12, n_heads=3)
    assert Match().settings(base) is base
    assert Match("d_ff", 13).settings(base) == with_width(base, "d_ff", 13)
