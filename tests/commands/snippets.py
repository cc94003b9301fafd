"""Blocks of Python and YAML: each is run or loaded as it stands, with few steps and seeds."""

import re
import shutil
from dataclasses import replace
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pytest
import torch
from torch import Tensor, nn

from ablations.load import make_study
from ablations.sections import load_yaml
from models import attention, feed_forwards, norms, positions
from models.build import build_model
from models.config import ModelConfig, TaskShape
from tests.commands.documented import ROOT
from tests.commands.workplace import Workplace

TABLES: dict[str, tuple[ModuleType, str, str]] = {
    "Position": (positions, "POSITIONS", "position"),
    "Attention": (attention, "ATTENTIONS", "attention"),
    "Norm": (norms, "NORMS", "norm"),
    "FeedForward": (feed_forwards, "FEED_FORWARDS", "feed_forward"),
}
"""Base class: its module, the table of its values, the field of the model."""


def python(text: str, place: Workplace, patch: pytest.MonkeyPatch) -> None:
    """A new value of a component makes another model; anything else runs through, in a folder that has `quick`."""
    found = re.search(r"^class (\w+)\((\w+)\)", text, re.M)
    if found and found[2] in TABLES:
        component(text, found[1], TABLES[found[2]], patch)
        return
    if results := re.search(r"docs/results/[\w-]+", text):
        shutil.copytree(ROOT / results[0], place.folder / results[0])
    mpl.use("Agg")
    before = set(place.folder.iterdir())
    exec(compile(text, "snippet", "exec"), {"__name__": "__main__"})
    for written in set(place.folder.iterdir()) - before:
        assert written.stat().st_size


def component(text: str, name: str, place_in_table: tuple[ModuleType, str, str], patch: pytest.MonkeyPatch) -> None:
    """The class put into its table under some name, in a small encoder, beside the base."""
    module, table, field = place_in_table
    names: dict[str, Any] = {**vars(module), "torch": torch, "nn": nn, "Tensor": Tensor}
    exec(compile(text, "snippet", "exec"), names)
    patch.setitem(getattr(module, table), "documented", names[name])
    shape = TaskShape(kind="tagging", input_sizes=(7,), output_size=7)
    base = ModelConfig(architecture="encoder", d_model=12, n_heads=3, position="none")
    changed: dict[str, Any] = {field: "documented"}
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    outputs = [build_model(config, shape, seed=0)(ids) for config in (base, replace(base, **changed))]
    assert outputs[0].shape == outputs[1].shape
    assert not torch.allclose(*outputs)


def yaml(text: str, place: Workplace) -> None:
    """A study, or a part of one: it is loaded, with every setting checked."""
    plain = load_yaml(text, "snippet")
    assert isinstance(plain, dict)
    if "experiments" in plain:
        study = make_study(plain, source="snippet")
        assert all(len(experiment.variants) > 1 for experiment in study.experiments)
    else:
        make_study({"name": "part", **whole(plain)}, source="snippet")


def whole(plain: dict[str, Any]) -> dict[str, Any]:
    """What lacks experiments is put beside one."""
    base = {"task": {"name": "order", "target": "next"}, "model": {"architecture": "decoder"}, "train": {}}
    keys = ("task", "model", "train", "decode", "vary", "variants", "ladder", "grid", "measure")
    own = {key: value for key, value in plain.items() if key in keys}
    rest = {key: value for key, value in plain.items() if key not in keys}
    return {**rest, "experiments": {"one": {**base, **own}}}
