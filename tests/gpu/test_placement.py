"""Which GPU a run gets: its own alone, by whatever name it goes, and two of them for one run."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from ablations import child
from ablations.devices import visible_gpus
from ablations.local import Local
from ablations.runner import run_all
from ablations.study import Run
from reports.rows import read_result
from tests import processes
from tests.gpu import seen
from tests.gpu.gpus import KINDS, gpus, needs, runs_of, study_of

pytestmark = needs(1)


@pytest.fixture(autouse=True)
def seeing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "main", seen.main)


def results(runs: list[Run], root: Path, number: int, per_device: int = 1) -> list[Any]:
    with Local(root, gpus(number), per_device=per_device) as executor:
        outcomes = list(run_all(runs, root, executor))
    assert [(outcome.status, outcome.reason) for outcome in outcomes] == [("completed", None)] * len(runs)
    return [read_result(root / run.folder) for run in runs]


def test_packed_runs_see_one_gpu_each_and_give_what_single_ones_give(tmp_path: Path) -> None:
    runs = runs_of("tagger", seeds=4)
    single = results(runs, tmp_path / "single", number=1)
    packed = results(runs, tmp_path / "packed", number=1, per_device=2)
    for run, one, other in zip(runs, single, packed, strict=True):
        assert len(seen.by(tmp_path / "packed" / run.folder)) == 1
        assert other["device"] == torch.cuda.get_device_name()
        assert [row["metric"] for row in other["metrics"]] == [row["metric"] for row in one["metrics"]]
        assert losses(other) == pytest.approx(losses(one), rel=1e-3)


@needs(2)
def test_runs_go_to_different_gpus(tmp_path: Path) -> None:
    runs = runs_of("tagger", seeds=2)
    results(runs, tmp_path, number=2)
    used = [seen.by(tmp_path / run.folder) for run in runs]
    assert sorted(used) == sorted([identity] for identity in identities()[:2])


def test_a_gpu_may_go_by_its_identity(tmp_path: Path) -> None:
    """The form of CUDA_VISIBLE_DEVICES that some schedulers use."""
    study, name = tmp_path / "study.yaml", f"GPU-{identities()[-1]}"
    study.write_text(json.dumps(study_of("tagger")))
    command = ("run", str(study), "--devices", "cuda", "--output", str(tmp_path))
    code, _, error = processes.finish(processes.start(*command, env=os.environ | {"CUDA_VISIBLE_DEVICES": name}))
    assert code == 0, error
    result = read_result(tmp_path / "tiny" / runs_of("tagger")[0].folder)
    assert result is not None
    assert result["device"] == torch.cuda.get_device_name(torch.cuda.device_count() - 1)


def test_names_are_as_many_as_gpus() -> None:
    assert len(visible_gpus()) == torch.cuda.device_count()


@needs(2)
@pytest.mark.parametrize("kind", KINDS)
def test_two_gpus_give_what_one_gives(kind: str, tmp_path: Path) -> None:
    """NCCL takes no two ranks on one GPU, so that one will not do."""
    (one,) = results(runs_of(kind), tmp_path / "one", number=1)
    runs = runs_of(kind, devices=2)
    (two,) = results(runs, tmp_path / "two", number=2)
    assert two["device"] == f"2 x {torch.cuda.get_device_name()}"
    assert two["cost"]["training_flops"] == one["cost"]["training_flops"]
    assert [row["metric"] for row in two["metrics"]] == [row["metric"] for row in one["metrics"]]
    assert losses(two) == pytest.approx(losses(one), rel=1e-3)
    assert [seen.by(tmp_path / "two" / runs[0].folder, rank) for rank in range(2)] == [identities()[:2]] * 2


def losses(result: Any) -> dict[str, float]:
    return {f"{row['split']} {row['coordinate']}": row["value"] for row in result["metrics"] if row["metric"] == "loss"}


def identities() -> list[str]:
    """UUIDs of all GPUs that are to be seen here."""
    return [str(torch.cuda.get_device_properties(number).uuid) for number in range(torch.cuda.device_count())]
