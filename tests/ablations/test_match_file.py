"""What was timed is found again, by what decides it and by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from ablations.load import make_study
from ablations.match_file import kept_matches
from ablations.study import Experiment
from ablations.widths import Match
from models.config import ConfigError
from tests.ablations import trained


class Finder:
    """Finds a number that is larger whenever it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, origin: Experiment, variant: str) -> Match:
        self.asked.append(variant)
        return Match("d_ff", 100 + len(self.asked)) if variant != "no" else Match(reason="none")


def found(root: Path, finder: Finder, variant: str = "v", kind: str = "cpu", **given: dict[str, Any]) -> Match:
    """The match of one variant, in a process that does nothing else."""
    model = {**trained.MODEL, **given.get("model", {})}
    train = {"steps": 7, "batch_size": 4, **given.get("train", {})}
    variants = {"v": {"model.query_key": "tied"}, "w": {"model.norm": "rms"}, "no": {"model.feed_forward": "none"}}
    experiment = {"task": {**trained.TASK, **given.get("task", {})}, "model": model, "train": train}
    plain = {"name": "tiny", "seeds": 1, "experiments": {"e": {**experiment, "variants": variants}}}
    study = make_study({**plain, "match": {"by": "seconds", **given.get("match", {})}})
    with kept_matches(root / "match", finder, study.match, kind) as find:
        return find(study.experiments[0], variant)


def test_each_variant_is_found_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finder = Finder()
    first = [found(tmp_path, finder, variant) for variant in ("v", "w", "no")]
    assert first == [Match("d_ff", 101), Match("d_ff", 102), Match(reason="none")]
    assert [found(tmp_path, finder, variant) for variant in ("v", "w", "no")] == first
    assert finder.asked == ["v", "w", "no"]
    said = capsys.readouterr().err.splitlines()
    kept = f"what was timed is kept in {tmp_path / 'match/seconds.json'}, for all that follows"
    assert said[:2] == ["e / v: timing training steps beside those of the base", kept]
    assert len(said) == 6


def test_a_reader_sees_what_was_found(tmp_path: Path) -> None:
    found(tmp_path, Finder())
    (entry,) = json.loads((tmp_path / "match/seconds.json").read_text()).values()
    assert entry == {"experiment": "e", "variant": "v", "field": "d_ff", "value": 101, "reason": ""}


@pytest.mark.parametrize(
    ("given", "again"),
    [
        ({"model": {"d_ff": 30}}, True),
        ({"train": {"batch_size": 5}}, True),
        ({"task": {"train_size": 41}}, True),
        ({"match": {"widen": ["model.d_head"]}}, True),
        ({"train": {"steps": 9}}, False),
        ({"train": {"lr": 0.01}}, False),
    ],
    ids=str,
)
def test_it_is_found_anew_only_where_a_step_or_what_may_change_is_another(
    given: dict[str, Any], again: bool, tmp_path: Path
) -> None:
    finder = Finder()
    found(tmp_path, finder)
    found(tmp_path, finder, **given)
    assert len(finder.asked) == 1 + again


def test_another_kind_of_device_is_timed_too(tmp_path: Path) -> None:
    finder = Finder()
    assert found(tmp_path, finder) != found(tmp_path, finder, kind="cuda")


def test_what_was_found_before_an_interruption_is_there(tmp_path: Path) -> None:
    finder = Finder()

    def interrupted() -> None:
        with kept_matches(tmp_path, finder, make().match, "cpu") as find:
            find(make().experiments[0], "v")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with kept_matches(tmp_path, finder, make().match, "cpu") as find:
        assert find(make().experiments[0], "v") == Match("d_ff", 101)


def make() -> Any:
    model, train = trained.MODEL, {"steps": 7, "batch_size": 4}
    experiment = {"task": trained.TASK, "model": model, "train": train, "variants": {"v": {"model.norm": "rms"}}}
    return make_study({"name": "tiny", "seeds": 1, "experiments": {"e": experiment}})


def test_one_process_at_a_time_measures(tmp_path: Path) -> None:
    with kept_matches(tmp_path, Finder(), make().match, "cpu"), pytest.raises(Timeout):
        FileLock(tmp_path / ".lock").acquire(timeout=0)
    FileLock(tmp_path / ".lock").acquire(timeout=0).lock.release()


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    found(tmp_path, Finder())
    (tmp_path / "match/seconds.json").write_text('{"a": ')
    with pytest.raises(ConfigError, match=r"match/seconds\.json: cannot be read \(.*\); remove it"):
        found(tmp_path, Finder())
