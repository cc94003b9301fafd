"""A trained run, back from its folder."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ablations.find import WEIGHTS
from ablations.kept import keep_subwords
from ablations.restore import restore
from datamodules.errors import DataError
from models.config import ConfigError
from reports.rows import RowsError, read_run
from tests.ablations.trained import MODEL, TRAIN, trained
from tests.datamodules.samples import write_corpus

LSTM = {"architecture": "lstm", "d_model": 10, "d_hidden": 7, "n_layers": 1, "cross_attention": "dot"}
LEARNED = {**MODEL, "position": "learned", "norm": "none", "feed_forward": "none", "max_length": 33}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("runs"))


def copied(folder: Path, target: Path) -> Path:
    """A copy of a run's folder, to be spoilt."""
    for name in ("run.json", str(WEIGHTS)):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes((folder / name).read_bytes())
    return target


def change(folder: Path, **fields: Any) -> None:
    """Change what run.json holds at its top level."""
    content = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**content, **fields}))


@pytest.mark.parametrize("model", [MODEL, LSTM, LEARNED], ids=["base", "lstm", "learned"])
def test_settings_and_weights_are_those_that_were_trained(model: dict[str, Any], tmp_path: Path) -> None:
    folder = trained(tmp_path, model=model)
    run = restore(folder)
    file = read_run(folder)
    assert file is not None
    resolved = {name: file["config"][name] for name in ("task", "model", "train", "decode", "measure")}
    assert run.settings.as_dict() == resolved
    assert run.file == file
    state = torch.load(folder / WEIGHTS, weights_only=True)["state_dict"]
    parameters = dict(run.model.named_parameters())
    assert {f"model.{name}" for name in parameters} <= set(state)
    assert all(torch.equal(parameter, state[f"model.{name}"]) for name, parameter in parameters.items())
    assert not run.model.training


def test_the_weights_are_not_those_before_training(folder: Path, tmp_path: Path) -> None:
    untrained = trained(tmp_path, train={**TRAIN, "lr": 1e-12})
    before, after = (list(restore(place).model.parameters()) for place in (untrained, folder))
    assert not any(torch.allclose(first, second) for first, second in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("train", "study", "remedy"),
    [
        ({"keep_checkpoints": False}, "mine", "ablations run mine --set train.keep_checkpoints=true --redo"),
        ({"keep_checkpoints": False}, "train", "train it again with --train.keep_checkpoints true --redo"),
        ({"keep_checkpoints": True}, "mine", "not got as far as a validation with a finite loss"),
        ({"steps": 0}, "mine", "trains nothing"),
    ],
)
def test_a_run_without_weights_says_how_to_get_them(
    train: dict[str, Any], study: str, remedy: str, folder: Path, tmp_path: Path
) -> None:
    copied(folder, tmp_path)
    (tmp_path / WEIGHTS).unlink()
    file = read_run(folder)
    assert file is not None
    config = copy.deepcopy(file["config"])
    config["train"].update(train)
    change(tmp_path, config=config, study=study)
    with pytest.raises(ConfigError, match=f"run {file['id']}: no weights in .*{remedy}"):
        restore(tmp_path)


def test_weights_that_are_no_numbers_are_refused(folder: Path, tmp_path: Path) -> None:
    copied(folder, tmp_path)
    state = torch.load(tmp_path / WEIGHTS, weights_only=True)
    next(iter(state["state_dict"].values())).view(-1)[0] = torch.nan
    torch.save(state, tmp_path / WEIGHTS)
    with pytest.raises(ConfigError, match="weights that are no numbers; the run diverged"):
        restore(tmp_path)


def test_the_remedy_names_the_study_with_its_overrides(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "mine/german/base/seed-0"
    place.mkdir(parents=True)
    copied(folder, place)
    (place / WEIGHTS).unlink()
    (tmp_path / "mine/study.yaml").write_text("name: mine")
    file = read_run(folder)
    assert file is not None
    config = copy.deepcopy(file["config"])
    config["train"]["keep_checkpoints"] = False
    change(place, config=config, study="mine")
    with pytest.raises(ConfigError, match=r"ablations run \S*mine/study.yaml --set train.keep_checkpoints=true --redo"):
        restore(place)


def test_files_that_do_not_belong_together_are_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"no run\.json"):
        restore(tmp_path)
    copied(folder, tmp_path)
    weights = (tmp_path / WEIGHTS).read_bytes()
    for half in (b"", weights[:9], weights[: len(weights) // 2], b"not a checkpoint"):
        (tmp_path / WEIGHTS).write_bytes(half)
        with pytest.raises(ConfigError, match="not a whole checkpoint"):
            restore(tmp_path)
    (tmp_path / WEIGHTS).write_bytes(weights)
    config = json.loads((folder / "run.json").read_text())["config"]
    change(tmp_path, config={**config, "model": {**config["model"], "d_ff": 11}})
    with pytest.raises(ConfigError, match="does not fit the model") as caught:
        restore(tmp_path)
    assert "\n" not in str(caught.value)
    change(tmp_path, config={**config, "model": {**config["model"], "colour": "red"}})
    with pytest.raises(ConfigError, match=r"run.json: config.model.colour='red': no such field"):
        restore(tmp_path)
    change(tmp_path, config={**config, "task": {"name": "ordr"}})
    with pytest.raises(ConfigError, match=r"config.task.name='ordr': choose from"):
        restore(tmp_path)


def test_generated_data_of_another_version_are_refused(folder: Path, tmp_path: Path) -> None:
    copied(folder, tmp_path)
    config = json.loads((folder / "run.json").read_text())["config"]
    change(tmp_path, config={**config, "data": "german-0"})
    with pytest.raises(DataError, match="trained on other data \\(german-0\\) than are there now"):
        restore(tmp_path)


def test_data_are_needed_only_where_no_subwords_were_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    corpus = tmp_path / "corpus"
    write_corpus(corpus)
    task = {"name": "translation", "root": str(corpus), "test": "test", "vocabulary": 90}
    folder = trained(tmp_path / "runs", task=task)
    checkpoints = (folder / WEIGHTS).parent
    for path in checkpoints.glob("*.model"):
        path.unlink()
    run = restore(folder)
    ids = run.data.source_vocabulary.encode(["ein hund"])[0].tolist()  # type: ignore[attr-defined]
    test = corpus / "test.de"
    test.write_bytes(test.read_bytes().replace(b"a", b"e"))
    with pytest.raises(DataError, match="trained on other data"):
        restore(folder)
    test.unlink()
    with pytest.raises(DataError, match="kept no subword models, and its data cannot be read: "):
        restore(folder)
    keep_subwords(run.data, checkpoints)
    again = restore(folder)
    assert again.data.source_vocabulary.encode(["ein hund"])[0].tolist() == ids  # type: ignore[attr-defined]
    assert (again.data.input_sizes, again.data.output_size) == ((90,), 90)
