"""What the shipped studies vary."""

import pytest

from ablations.load import BASE, load_study
from ablations.varied import Arm, read_arms, values_varied


@pytest.mark.parametrize("name", ["quick", "norm", "long-range", "extrapolation", "ladder"])
def test_arms_are_the_variants_of_the_study(name: str) -> None:
    loaded = {(one.name, variant) for one in load_study(name).experiments for variant in one.variants}
    assert {(arm.experiment, arm.variant) for arm in read_arms(name)} == loaded


def test_no_data_need_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABLATIONS_DATA", raising=False)
    arms = {arm.variant: arm for arm in read_arms("multi30k")}
    assert (len(arms), arms["no mask"].task) == (18, "translation")
    assert arms["no mask"].changed == {"decoder_mask"}


def arm(study: str, experiment: str, variant: str) -> Arm:
    (found,) = (a for a in read_arms(study) if (a.experiment, a.variant) == (experiment, variant))
    return found


def test_another_architecture_stands_for_all_that_comes_with_it() -> None:
    assert arm("translation", "german", "lstm with attention").changed == {"architecture"}
    assert arm("components", "german", "lstm with attention").changed == {"architecture"}
    assert arm("norm", "divergence", "post-norm").changed == {"norm_placement"}
    assert arm("norm", "divergence", BASE).changed == frozenset()
    assert arm("components", "german", "learned positions").changed == {"position"}


def test_experiments_of_other_studies_are_marked_unless_they_are_changed() -> None:
    assert {a.taken for a in read_arms("lecture")} == {True}
    taken = {a.family: a.taken for a in read_arms("translation")}
    assert taken == {"german": False, "source-reach": False}


def family(study: str, name: str) -> list[Arm]:
    return [a for a in read_arms(study) if a.family == name]


def test_values_are_compared_among_models_of_one_architecture() -> None:
    recall = family("long-range", "recall")
    assert values_varied(recall, "forget_bias") == [0.0, 1, 3]
    assert values_varied(recall, "architecture") == ["decoder", "rnn", "lstm"]
    assert values_varied(recall, "n_layers") == []  # two for attention, one for all recurrent nets
    assert values_varied(recall, "position") == []


def test_a_grid_over_the_model_varies_it_too() -> None:
    assert values_varied(family("positions", "previous"), "n_layers") == [1, 2]
    assert values_varied(family("heads", "two-look-ups"), "n_heads") == [2, 1, 4, 8]
