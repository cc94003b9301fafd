"""Event files read back by TensorBoard's own reader."""

import csv
from pathlib import Path

import pytest

from ablations import events
from ablations.events import FOLDER, Events, following
from models.config import ConfigError
from reports.rows import METRICS_COLUMNS

pytest.importorskip("tensorboard")

RUN = "e/no norm/seed-3-1a2b3c4d"
ROWS = [
    (2, "train", "loss", "", 2.5),
    (7, "validation", "accuracy", "distance=8", 0.25),
    (7, "validation", "loss", "", float("inf")),
]


def log(root: Path, rows: list[tuple[int, str, str, str, float]], run: str = RUN, tail: str = "") -> Path:
    """Write the metrics.csv of a run; gives the run's folder."""
    (root / run).mkdir(parents=True, exist_ok=True)
    with (root / run / "metrics.csv").open("w", newline="") as file:
        csv.writer(file).writerows([METRICS_COLUMNS, *rows])
        file.write(tail)
    return root / run


def shown(root: Path, run: str = RUN) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard makes of a run: tag to (step, value)."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(root / FOLDER / run)).Reload()
    return {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_every_number_is_there_at_its_step(tmp_path: Path) -> None:
    log(tmp_path, ROWS)
    log(tmp_path, ROWS[:1], run="tune/e/base/seed-1000-9")
    with Events(tmp_path) as found:
        found.update()
    assert shown(tmp_path) == {
        "train/loss": [(2, 2.5)],
        "validation/accuracy@distance=8": [(7, 0.25)],
        "validation/loss": [(7, float("inf"))],
    }
    assert shown(tmp_path, "tune/e/base/seed-1000-9") == {"train/loss": [(2, 2.5)]}


def test_what_is_logged_later_is_added_once(tmp_path: Path) -> None:
    log(tmp_path, ROWS[:1], tail="7,validation,acc")  # a line that is just being written
    with Events(tmp_path) as found:
        found.update()
        assert shown(tmp_path) == {"train/loss": [(2, 2.5)]}
        log(tmp_path, ROWS)
        found.update()
        found.update()
    assert [len(points) for points in shown(tmp_path).values()] == [1, 1, 1]


@pytest.mark.parametrize("again", [[(2, "train", "loss", "", 1.5)], [(2, "train", "loss", "", 1.5), *ROWS]])
def test_a_run_that_began_anew_is_shown_anew(tmp_path: Path, again: list[tuple[int, str, str, str, float]]) -> None:
    log(tmp_path, ROWS[:2])
    with Events(tmp_path) as found:
        found.update()
        log(tmp_path, again)
        found.update()
    losses = [(step, value) for step, split, _, _, value in again if split == "train"]
    assert shown(tmp_path)["train/loss"] == losses


def test_a_reader_that_is_looking_forgets_what_was_there_before(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log(tmp_path, ROWS)
    with Events(tmp_path) as found:
        found.update()
        reader = EventAccumulator(str(tmp_path / FOLDER / RUN)).Reload()
        log(tmp_path, [(2, "train", "loss", "", 1.5)])
        found.update()
    assert [(e.step, e.value) for e in reader.Reload().Scalars("train/loss")] == [(2, 1.5)]


def test_one_process_at_a_time_writes_and_the_next_takes_over(tmp_path: Path) -> None:
    log(tmp_path, ROWS)
    with Events(tmp_path) as second:
        with Events(tmp_path) as first:
            first.update()
            log(tmp_path, [*ROWS, (9, "train", "loss", "", 1.0)])
            second.update()
            assert shown(tmp_path)["train/loss"] == [(2, 2.5)]
        second.update()
        assert shown(tmp_path)["train/loss"] == [(2, 2.5), (9, 1.0)]


def test_a_sweep_is_followed_to_its_end_and_the_runs_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "PAUSE", 3600.0)
    with following(tmp_path):
        run = log(tmp_path, ROWS)
    assert len(shown(tmp_path)) == 3
    assert [path.name for path in run.iterdir()] == ["metrics.csv"]


def test_what_is_no_metrics_file_of_ours_stops_nothing(tmp_path: Path) -> None:
    log(tmp_path, ROWS)
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/metrics.csv").write_text("other,columns\n1,2\n")
    with Events(tmp_path) as found:
        found.update()
    assert len(shown(tmp_path)) == 3
    assert not (tmp_path / FOLDER / "a").exists()


def test_a_missing_tensorboard_is_asked_for_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[dashboard\]'$"), following(tmp_path / "study"):
        pass
    assert not (tmp_path / "study").exists()
