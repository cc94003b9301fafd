"""Values at other lengths are metrics of their own."""

import pandas as pd

from reports.lengths import at_length, length_of, whole, with_lengths
from reports.metrics import facts
from reports.values import VALUE_COLUMNS

MAIN = [("e", "x", 0, "completed", "test", metric, "", value) for metric, value in (("loss", 0.5), ("accuracy", 0.9))]


def frame(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(VALUE_COLUMNS))


def added(values: pd.DataFrame) -> list[tuple[object, ...]]:
    """Seed, state, metric, coordinate and value of the rows that were not there before."""
    rows = with_lengths(values).iloc[len(values) :]
    return list(rows[["seed", "state", "metric", "coordinate", "value"]].itertuples(index=False, name=None))


def test_every_metric_of_the_test_set_is_one_at_each_length_by_size() -> None:
    longer = [
        ("e", "x", 0, "completed", "test", "loss", "length=128", 5.5),
        ("e", "x", 0, "completed", "test", "loss", "length=48", 1.5),
        ("e", "x", 0, "completed", "test", "accuracy", "length=48", 0.25),
        ("e", "x", 0, "completed", "test", "accuracy", "distance=48", 0.75),
        ("e", "x", 0, "completed", "test", "items", "length=48", 97.0),
        ("e", "x", 0, "completed", "probe", "seconds", "length=48", 0.125),
    ]
    assert added(frame(*MAIN, *longer)) == [
        (0, "completed", "accuracy@length=48", "", 0.25),
        (0, "completed", "loss@length=48", "", 1.5),
        (0, "completed", "loss@length=128", "", 5.5),
    ]


def test_a_measurement_by_length_beside_a_test_of_the_same_name_is_no_test() -> None:
    assert added(frame(*MAIN, ("e", "x", 0, "completed", "probe", "loss", "length=48", 0.125))) == []
    assert added(frame(*MAIN, ("other", "x", 0, "completed", "test", "loss", "length=48", 0.125))) == []


def test_a_diverged_run_has_the_fixed_value_at_every_length() -> None:
    lost = ("e", "x", 1, "diverged", "test", "loss", "", 2.75)
    longer = ("e", "x", 0, "completed", "test", "loss", "length=48", 1.5)
    assert added(frame(*MAIN, longer, lost)) == [
        (0, "completed", "loss@length=48", "", 1.5),
        (1, "diverged", "loss@length=48", "", 2.75),
    ]
    measured = ("e", "x", 1, "diverged", "test", "loss", "length=48", 3.5)
    assert added(frame(*MAIN, longer, lost, measured))[1] == (1, "diverged", "loss@length=48", "", 3.5)


def test_without_other_lengths_nothing_is_added() -> None:
    values = frame(*MAIN)
    assert with_lengths(values) is values


def test_names_have_their_length_and_the_facts_of_their_metric() -> None:
    assert at_length("accuracy", 48.0) == "accuracy@length=48"
    assert (length_of("accuracy@length=48"), length_of("accuracy")) == (48.0, None)
    assert (whole("accuracy@length=48"), whole("accuracy")) == ("accuracy", "accuracy")
    found = facts("accuracy@length=48")
    assert (found.name, found.better, found.share) == ("Accuracy at length 48", 1, True)
    assert facts("my_own@length=48").name == "My own at length 48"
