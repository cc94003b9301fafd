"""Where runs go, with made-up GPUs: the list of devices is all that the rest of the runner knows of them."""

import pytest
import torch

from ablations.devices import Device, cores_available, parse_devices, visible_gpus
from models.config import ConfigError

GPUS = ["2", "5", "GPU-7f"]


@pytest.mark.parametrize(
    ("text", "gpus", "expected"),
    [
        ("auto", GPUS, ["cuda 2", "cuda 5", "cuda GPU-7f"]),
        ("auto", [], ["cpu 0", "cpu 1", "cpu 2"]),
        ("cpu", GPUS, ["cpu 0", "cpu 1", "cpu 2"]),
        ("cpu:2", GPUS, ["cpu 0", "cpu 1"]),
        ("cpu:5", [], ["cpu 0", "cpu 1", "cpu 2", "cpu 3", "cpu 4"]),
        ("cuda", GPUS, ["cuda 2", "cuda 5", "cuda GPU-7f"]),
        ("cuda:0,2", GPUS, ["cuda 2", "cuda GPU-7f"]),
        ("cuda:1", GPUS, ["cuda 5"]),
    ],
)
def test_devices_are_those_that_are_named(text: str, gpus: list[str], expected: list[str]) -> None:
    assert [str(device) for device in parse_devices(text, gpus, cores=3)] == expected


@pytest.mark.parametrize(
    ("text", "gpus", "said"),
    [
        ("cuda", [], "no GPU is to be seen"),
        ("cuda:3", GPUS, "'3': the GPUs here are 0 to 2"),
        ("cuda:0,x", GPUS, "'x'"),
        ("cuda:0,00", GPUS, "twice"),
        ("cpu:0", GPUS, "at least 1"),
        ("cpu:two", GPUS, "at least 1"),
        ("cpu:", GPUS, "choose from auto, cpu, cpu:2"),
        ("auto:2", GPUS, "choose from auto, cpu, cpu:2"),
        ("mps", GPUS, "choose from auto, cpu, cpu:2"),
    ],
)
def test_other_devices_are_refused(text: str, gpus: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refusal:
        parse_devices(text, gpus, cores=3)
    assert str(refusal.value).startswith(f"--devices {text}: ")


@pytest.mark.parametrize(
    ("named", "count", "expected"),
    [(None, 2, ["0", "1"]), ("2,5", 2, ["2", "5"]), ("2, 5,9", 2, ["2", "5"]), ("", 0, []), ("2", 0, [])],
)
def test_visible_gpus_go_by_the_names_that_the_environment_gives(
    named: str | None, count: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    assert visible_gpus() == expected


def test_devices_of_one_name_are_one() -> None:
    assert len({Device("cuda", "2"), Device("cuda", "2"), Device("cpu", "2")}) == 2
    assert cores_available() >= 1
