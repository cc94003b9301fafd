"""What a study says of fair comparison."""

from typing import Any, get_args

import pytest

from ablations.fairness import FACTORS, MatchConfig, Quantity, TuneConfig
from ablations.flags import COMPARED, MATCHED
from ablations.load import make_study
from ablations.study import Comparison
from models.config import ConfigError


def test_every_beginning_of_the_factors_has_the_own_value_and_spreads_around_it() -> None:
    assert FACTORS[0] == 1
    assert sorted(FACTORS) == [2.0**k for k in range(-4, 4)]
    for n in range(3, len(FACTORS) + 1):
        assert min(FACTORS[:n]) < 1 < max(FACTORS[:n])


def test_a_study_says_how_it_is_tuned_and_matched(tiny: dict[str, Any]) -> None:
    study = make_study({**tiny, "comparison": ["matched", "tuned"], "tune": {"trials": 5}, "match": {"by": "flops"}})
    assert study.comparisons == ("matched", "tuned")
    assert study.tune == TuneConfig(trials=5)
    assert study.match == MatchConfig(by="flops")
    assert make_study({**tiny, "comparison": ["same"]}).comparisons == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tune": {"trials": 0}}, "study.tune.trials=0: must be at least 1"),
        ({"tune": {"space": {}}}, "study.tune.space={}: name a field, such as train.lr"),
        ({"tune": {"seeds": [30, 30]}}, "study.tune.seeds=[30, 30]: give different whole numbers from 0"),
        ({"tune": {"seeds": [-1]}}, "study.tune.seeds=[-1]: give different whole numbers from 0"),
        ({"tune": {"give_up_after": 1}}, "study.tune.give_up_after=1.0: must be at least 0 and below 1"),
        ({"tune": {"give_up_above": 0}}, "study.tune.give_up_above=0.0: must be above 0"),
        ({"tune": {"trails": 3}}, "study.tune.trails=3: no such field; did you mean 'trials'?"),
        ({"match": {"by": "size"}}, "study.match.by='size': expected one of parameters, flops, seconds"),
        ({"match": {"widen": []}}, "study.match.widen=[]: name a field, such as model.d_ff"),
        ({"comparison": ["tund"]}, "study.comparison=['tund']: "),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tiny: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_study({**tiny, **changes})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_the_command_line_knows_the_names() -> None:
    assert (get_args(Comparison), get_args(Quantity)) == (COMPARED, MATCHED)
