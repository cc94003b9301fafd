"""Identity of a run: what decides its result, and nothing else."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ablations.listing import folder_name
from ablations.load import make_study
from ablations.study import TrainConfig
from models.config import ConfigError


def ids(plain: dict[str, Any]) -> list[str]:
    return [run.id for run in make_study(plain).runs()]


def shuffled(value: Any) -> Any:
    """The same plain values with every mapping in reverse order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return value


def test_ids_do_not_depend_on_names_or_the_order_of_keys(tiny: dict[str, Any]) -> None:
    renamed = copy.deepcopy(tiny)
    renamed["name"] = "other"
    renamed["experiments"] = {"another": renamed["experiments"]["copy"]}
    assert ids(renamed) == ids(shuffled(tiny)) == ids(tiny)
    assert len(set(ids(tiny))) == 4


@pytest.mark.parametrize(
    ("section", "field", "value"), [("task", "data_seed", 1), ("model", "gain", 2.0), ("train", "lr", 1e-4)]
)
def test_every_setting_that_decides_a_result_changes_the_id(
    tiny: dict[str, Any], section: str, field: str, value: Any
) -> None:
    changed = copy.deepcopy(tiny)
    changed["experiments"]["copy"][section][field] = value
    assert not set(ids(changed)) & set(ids(tiny))


def test_the_search_decides_what_a_translator_is_found_to_be_worth() -> None:
    def study(**decode: Any) -> dict[str, Any]:
        model = {"architecture": "encoder-decoder", "d_model": 12, "n_heads": 3}
        return {"name": "s", "experiments": {"german": {"task": {"name": "german"}, "model": model, "decode": decode}}}

    beam, longer = ids(study(beam=4)), ids(study(beam=4, length_penalty=1.4))
    assert len({*ids(study()), *beam, *longer}) == 9
    assert ids(study(beam=1)) == ids(study())
    assert ids(study(beam=4, length_penalty=1)) == beam


@pytest.mark.parametrize(("field", "value"), [("keep_checkpoints", True), ("log_every", 3)])
def test_what_is_only_kept_or_shown_does_not(tiny: dict[str, Any], field: str, value: Any) -> None:
    changed = copy.deepcopy(tiny)
    changed["experiments"]["copy"]["train"][field] = value
    assert ids(changed) == ids(tiny)


def test_a_path_counts_by_what_lies_there(tiny: dict[str, Any], tmp_path: Path) -> None:
    def study(folder: Path, line: str) -> dict[str, Any]:
        folder.mkdir()
        for split in ("train", "val", "test_2016_flickr"):
            for language in ("de", "en"):
                (folder / f"{split}.{language}").write_text(f"{split} {line}\n" * 3, encoding="utf-8")
        spec = {"task": {"name": "translation", "root": str(folder)}, "model": {"architecture": "encoder-decoder"}}
        return {"name": "real", "seeds": 1, "experiments": {"mt": spec}}

    here, there, other = (ids(study(tmp_path / name, line)) for name, line in (("a", "x"), ("b", "x"), ("c", "y")))
    assert here == there
    assert here != other


def test_ids_are_the_same_in_every_process(tiny: dict[str, Any]) -> None:
    code = (
        "import json, sys; from ablations.load import make_study;"
        "print([run.id for run in make_study(json.load(sys.stdin)).runs()])"
    )
    for seed, plain in (("1", tiny), ("2", shuffled(tiny))):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(plain),
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert ran.stdout.strip() == str(ids(tiny))


def test_the_first_seed_of_all_variants_comes_before_the_second(tiny: dict[str, Any]) -> None:
    assert [(run.seed, run.variant) for run in make_study(tiny).runs()] == [
        (0, "base"),
        (0, "position=none"),
        (1, "base"),
        (1, "position=none"),
    ]


def test_runs_never_share_a_folder(tiny: dict[str, Any]) -> None:
    folders = [run.folder for run in make_study(tiny).runs()]
    assert len(set(folders)) == 4
    assert folders[0].startswith("copy/base/seed-0-")


@pytest.mark.parametrize("name", ["a/b", "a<b & c", "..", "C:\\x", "über", "a\nb"])
def test_hostile_names_are_one_harmless_path_component(name: str) -> None:
    assert not set('/\\<>:"|?*\n ') & set(folder_name(name))


@pytest.mark.parametrize(
    ("field", "value"), [("batch_size", 0), ("batch_tokens", -1), ("validate_every", -1), ("log_every", 0)]
)
def test_training_settings_out_of_range_are_refused(field: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{field}={value}"):
        TrainConfig(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "every", "interval"), [(250, 0, 50), (250, 40, 40), (3, 0, 1), (10, 99, 10), (0, 0, 1)]
)
def test_validation_interval(steps: int, every: int, interval: int) -> None:
    assert TrainConfig(steps=steps, validate_every=every).validate_every == interval


def test_batches_have_one_size() -> None:
    assert TrainConfig().batch_size == 32
    assert TrainConfig(batch_tokens=64).batch_size is None
    with pytest.raises(ConfigError, match="batch_size=8: has no effect beside batch_tokens=64"):
        TrainConfig(batch_size=8, batch_tokens=64)
