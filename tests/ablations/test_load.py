"""From YAML to a checked study."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ablations.listing import SHIPPED, STUDIES
from ablations.load import load_study, make_study
from models.config import RECURRENT, ConfigError, TaskShape
from models.size import parameter_count

SHIPPED_NAMES = sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def test_a_study_has_its_variants_the_base_first(tiny: dict[str, Any]) -> None:
    study = make_study(tiny)
    (experiment,) = study.experiments
    assert list(experiment.variants) == ["base", "position=none"]
    assert experiment.changes == {"base": {}, "position=none": {"model.position": "none"}}
    assert experiment.variants["base"].model.position == "sinusoidal"
    assert experiment.variants["position=none"].model.position == "none"
    assert study.seeds == (0, 1)
    assert len(study.runs()) == 4


@pytest.mark.parametrize(("design", "count"), [("one-at-a-time", 3), ("factorial", 4)])
def test_the_base_value_among_those_varied_is_the_base_itself(tiny: dict[str, Any], design: str, count: int) -> None:
    spec = tiny["experiments"]["copy"]
    spec["vary"] = {"model.position": ["sinusoidal", "none"], "model.n_heads": [3, 2]}
    spec["design"] = design
    assert len(make_study(tiny).experiments[0].variants) == count


def test_an_empty_section_takes_the_defaults(tiny: dict[str, Any]) -> None:
    del tiny["experiments"]["copy"]["train"]
    assert make_study(tiny).experiments[0].variants["base"].train.steps == 1000


def test_a_grid_repeats_the_experiment_at_each_point(tiny: dict[str, Any]) -> None:
    tiny["experiments"]["copy"]["grid"] = {"task.length": [5, 9]}
    study = make_study(tiny)
    assert [experiment.name for experiment in study.experiments] == ["copy@length=5", "copy@length=9"]
    assert [experiment.family for experiment in study.experiments] == ["copy", "copy"]
    assert [experiment.variants["position=none"].as_dict()["task"]["length"] for experiment in study.experiments] == [
        5,
        9,
    ]


def test_an_experiment_may_have_seeds_of_its_own(tiny: dict[str, Any]) -> None:
    tiny["experiments"]["more"] = {**tiny["experiments"]["copy"], "seeds": [5, 0, 3]}
    runs = make_study(tiny).runs()
    assert [(run.experiment, run.seed) for run in runs[::2]] == [
        *(("copy", 0), ("more", 5)),
        *(("copy", 1), ("more", 0)),
        ("more", 3),
    ]
    everywhere = make_study(tiny, seeds=1)
    assert {run.seed for run in everywhere.runs()} == {0}
    assert [run.id for run in make_study(everywhere.source).runs()] == [run.id for run in everywhere.runs()]


@pytest.fixture
def shipped(tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shipped studies with `tiny` in it."""
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    monkeypatch.setattr("ablations.study_file.SHIPPED", tmp_path)
    return tmp_path


def test_a_study_takes_experiments_of_others_and_may_change_parts_of_them(tiny: dict[str, Any], shipped: Path) -> None:
    taker = {"name": "taker", "take": {"tiny": "all"}, "seeds": 1}
    assert [run.id for run in make_study(taker).runs()] == [run.id for run in make_study(tiny, seeds=1).runs()]
    changed = make_study({**taker, "experiments": {"copy": {"vary": {"model.n_heads": [2]}}}})
    assert list(changed.experiments[0].variants) == ["base", "n_heads=2"]
    assert "take" not in changed.source
    assert [run.id for run in make_study(changed.source).runs()] == [run.id for run in changed.runs()]


@pytest.mark.parametrize(
    ("take", "message"),
    [
        ({"none": "all"}, "study.take.none: no shipped study"),
        ({"../tiny": "all"}, "study.take.../tiny: no shipped study"),
        ({"tiny": ["copies"]}, "study.take.tiny: it has no experiment 'copies'; choose from copy"),
        ({"tiny": ["copy", "copy"]}, "study.take.tiny: 'copy' is taken twice"),
        ({"tiny": []}, "study.take.tiny=\\[\\]: expected `all` or a list of experiments"),
        ({"tiny": [{"copy": 1}]}, "study.take.tiny=.*: expected `all` or a list of experiments"),
        ({"loop": "all"}, "loop.take.loop: takes from itself"),
    ],
)
def test_what_cannot_be_taken_is_refused(take: dict[str, Any], message: str, shipped: Path) -> None:
    (shipped / "loop.yaml").write_text("{name: loop, take: {loop: all}}")
    with pytest.raises(ConfigError, match=message):
        make_study({"name": "taker", "take": take})


def test_a_whole_section_can_be_replaced(tiny: dict[str, Any]) -> None:
    spec = tiny["experiments"]["copy"]
    del spec["vary"]
    spec["variants"] = {"lstm": {"model": {"architecture": "lstm", "d_model": 12}}}
    assert make_study(tiny).experiments[0].variants["lstm"].model.architecture == "lstm"


def test_overrides_reach_every_experiment_with_the_field_or_the_one_named(tiny: dict[str, Any]) -> None:
    spec = tiny["experiments"]["copy"]
    tiny["experiments"]["recall"] = {**spec, "task": {"name": "recall"}}
    study = make_study(tiny, ["train.lr=1e-4", "task.vocabulary=8", "recall.train.steps=9"])
    copy, recall = (experiment.variants["base"] for experiment in study.experiments)
    assert copy.train.lr == recall.train.lr == 1e-4
    assert copy.as_dict()["task"]["vocabulary"] == 8
    assert (copy.train.steps, recall.train.steps) == (4, 9)


def test_the_search_is_set_where_there_is_one(tiny: dict[str, Any]) -> None:
    german = {"task": {"name": "german"}, "model": {"architecture": "gru"}, "vary": {"decode.beam": [2, 3]}}
    tiny["experiments"]["german"] = german
    plain, translated = make_study(tiny, ["decode.length_penalty=0.5", "decode.beam=2"]).experiments
    assert {settings.decode.beam for settings in plain.variants.values()} == {1}
    assert {name: one.decode.length_penalty for name, one in translated.variants.items()} == {
        "base": 0.5,
        "beam=3": 0.5,
    }
    assert [one.decode.beam for one in translated.variants.values()] == [2, 3]


def test_the_source_of_an_overridden_study_makes_the_same_study(tiny: dict[str, Any]) -> None:
    study = make_study(tiny, ["train.lr=1e-4"], seeds=3)
    again = make_study(yaml.safe_load(yaml.safe_dump(study.source)))
    assert [run.id for run in again.runs()] == [run.id for run in study.runs()]


def change(plain: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    for parent in parents:
        plain = plain[parent]
    plain[last] = value


BAD = [
    ("experiments", {}, "experiments: empty"),
    ("experiments/copy/model/n_head", 3, "copy, base: model.n_head=3: no such field; did you mean 'n_heads'?"),
    ("experiments/copy/model/n_heads", "three", "copy, base: model.n_heads='three': expected int"),
    ("experiments/copy/model/n_heads", 5, "copy, base: model.d_model=12: must be divisible by n_heads=5"),
    ("experiments/copy/model/norm", "lair", "copy, base: model.norm='lair': choose from"),
    ("experiments/copy/task/target", "nxt", "copy, base: task.target"),
    ("experiments/copy/task/name", "ordr", "copy, base: task.name='ordr': choose from"),
    ("experiments/copy/train/lr", -1, "copy, base: train.lr=-1"),
    ("experiments/copy/train/batch_tokens", 64, "copy, base: train.batch_size=3: has no effect beside batch_tokens"),
    ("experiments/copy/train", {"batch_tokens": 64}, "copy, base: train.batch_tokens=64: must be 0 for kind tagging"),
    ("experiments/copy/vary", {"model.position": ["nowhere"]}, "copy, position=nowhere: model.position='nowhere'"),
    ("experiments/copy/vary", {"model.position": "none"}, "copy: model.position='none': expected a list"),
    ("experiments/copy/vary", {"modell.position": ["none"]}, "copy, position=none: modell.position: a path is"),
    ("experiments/copy/model/architecture", "encoder-decoder", "copy, base: model.architecture"),
    ("experiments/copy/measure", ["gradeint"], "copy, base: measure: 'gradeint': choose from reach, gradient-norm, "),
    ("experiments/copy/varry", {}, "copy.varry={}: no such field; did you mean 'vary'?"),
    ("experiments/copy/design", "ladder", "copy.design='ladder': with 'vary' it can be one-at-a-time or factorial"),
    ("experiments/copy/vary", {"model.position": ["none", "none"]}, "a value stands there twice"),
    ("experiments/copy/variants", {"x": {"model.n_heads": 1}}, "copy: vary and variants: an experiment has one design"),
    ("seeds", 0, "seeds=0"),
    ("seeds", 10_001, "seeds=10001: give a number from 1 to 10000"),
    ("seeds", 10**20, "seeds=1"),
    ("seeds", ["0", "1"], r"seeds=\['0', '1'\]: expected int or list"),
    ("seeds", [2**64], "seeds="),
    (
        "experiments",
        {"a b": {"task": {"name": "order"}}, "a_b": {"task": {"name": "order"}}},
        "has the folder of 'a b'",
    ),
    ("experiments/copy/vary", None, "copy.vary=None: expected a mapping"),
    ("experiments/copy/task/name", ["order"], "copy, base: task.name="),
    (
        "experiments/copy",
        {
            "task": {"name": "order"},
            "model": {"architecture": "lstm"},
            "vary": {"task": [{"name": "german"}]},
        },
        "task.name='german': is of another kind than the base's task",
    ),
    ("seeds", [1, 1], r"seeds=\[1, 1\]"),
    ("name", "", "name=''"),
    ("experiments", {False: {"task": {"name": "order"}}}, "experiment=False: give a name"),
    ("experiments", {"report": {"task": {"name": "order"}}}, "experiment='report'"),
    ("experiments", {"train": {"task": {"name": "order"}}}, "experiment='train'"),
    ("experiments/copy/vary", {False: ["none"]}, "copy: False: a path is text"),
    ("experiments/copy/grid", {1: ["none"]}, "copy: 1: a path is text"),
    ("experiments/copy/vary", {"model.window": [4, 16]}, "copy, window=4: changes nothing in the base"),
    ("experiments/copy/vary", {"train.log_every": [3]}, "copy, log_every=3: changes nothing in the base"),
    (
        "experiments/copy/decode",
        {"beam": 3},
        "copy, base: decode={'beam': 3}: task order translates nothing, leave it out",
    ),
    ("experiments/copy/decode", {"beem": 3}, "copy, base: decode.beem=3: no such field; did you mean 'beam'?"),
    ("experiments/copy/train/steps", "4", "copy, base: train.steps='4': expected int"),
    ("experiments/copy/decode", {"beam": "5"}, "copy, base: decode.beam='5': expected int"),
    ("experiments/copy/seeds", ["0"], r"copy.seeds=\['0'\]: expected int or list"),
    ("experiments/copy/train/steps", 0, "copy, base: train.steps=0: trains nothing, so name what to measure"),
    ("experiments/copy/measure", ["gradient-norm", "gradient-norm"], "a probe stands there twice"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_wrong_input_is_refused_in_one_line(tiny: dict[str, Any], path: str, value: Any, message: str) -> None:
    change(tiny, path, value)
    with pytest.raises(ConfigError, match=message.replace("?", r"\?").replace("{", r"\{")) as caught:
        make_study(tiny)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ({"same": {"model.n_heads": 3}}, "copy, same: changes nothing in the base"),
        ({"resolved": {"model.d_head": 4}}, "copy, resolved: changes nothing in the base"),
        ({"a": {"model.n_heads": 1}, "b": {"model.n_heads": 1}}, "copy, b: is the same as 'a'"),
        ({"a": {}}, "copy, a: expected a mapping of dotted paths"),
        ({"base": {"model.n_heads": 1}}, "copy, base: this name is the base's own"),
        ({".hidden": {"model.n_heads": 1}}, "variant='.hidden'"),
    ],
)
def test_variants_that_are_no_variants_are_refused(tiny: dict[str, Any], variants: Any, message: str) -> None:
    del tiny["experiments"]["copy"]["vary"]
    tiny["experiments"]["copy"]["variants"] = variants
    with pytest.raises(ConfigError, match=message):
        make_study(tiny)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.stepz=1", r"no experiment has the field 'train.stepz'; did you mean 'train.steps'\?"),
        ("other.train.steps=1", "no experiment has the field"),
        ("train.steps", "expected PATH=VALUE"),
        ("train.steps=five", "train.steps='five': expected int"),
        ("task.vocabulary=9", "copy has a grid over this field"),
        ("copy.task.vocabulary=9", "copy has a grid over this field"),
    ],
)
def test_wrong_overrides_are_refused(tiny: dict[str, Any], override: str, message: str) -> None:
    tiny["experiments"]["copy"]["grid"] = {"task.vocabulary": [7, 8]}
    with pytest.raises(ConfigError, match=message):
        make_study(tiny, [override])


def test_paths_make_variants_where_other_data_lie_there(tmp_path: Path) -> None:
    for folder, text in (("a", "x"), ("b", "y"), ("c", "x")):
        write_corpus(tmp_path / folder, text)
    task = {"name": "translation", "root": str(tmp_path / "a")}
    spec = {"task": task, "model": {"architecture": "encoder-decoder"}}

    def variants(folder: str) -> list[str]:
        other = {"other": {"task.root": str(tmp_path / folder)}}
        return list(
            make_study({"name": "x", "experiments": {"e": {**spec, "variants": other}}}).experiments[0].variants
        )

    assert variants("b") == ["base", "other"]
    with pytest.raises(ConfigError, match="e, other: changes nothing in the base"):
        variants("c")


def test_an_unknown_study_names_the_shipped_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"neither a file nor a shipped study; did you mean 'quick'\? \(.*quick"):
        load_study("quik")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"name: caf\xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_study(str(path))


def write_corpus(folder: Path, text: str) -> None:
    folder.mkdir()
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en"):
            (folder / f"{name}.{language}").write_text(f"{text}\n", encoding="utf-8")


def write_texts(root: Path) -> None:
    for split in ("train", "valid", "test"):
        write_line(root / f"wikitext-2/{split}.txt", "a b c")
    write_line(root / "tinyshakespeare/input.txt", "a\n" * 40)
    write_line(root / "agreement_en/linzen_filtered/s.text", "it runs")
    write_line(root / "agreement_en/linzen_filtered/s.gold", "1\truns\trun\t0")
    rows = ["pattern\tconstr_id\tsent_id\tclass\tform\ttype\tprefix\tn_attr\tlen_context"]
    rows += [f"A\t0\t0\t{kind}\t{form}\toriginal\tit\t0\t1" for kind, form in (("correct", "is"), ("wrong", "are"))]
    write_line(root / "agreement_en/colorless_green/generated.tab", "\n".join(rows))


def write_news(root: Path) -> None:
    for year in (2008, 2009, 2015, 2017, 2018, 2019, 2020):
        for language in ("en", "de"):
            write_line(root / f"wmt_newstest/newstest{year}.{language}", f"{language} {year}")
    write_line(root / "tatoeba_deu_eng/deu.txt", "Hi.\tHallo!")
    write_line(root / "libreoffice_help/help.en-de.tsv", "page\tid\tclass\tOpen it.\tÖffnen.")
    for side in ("src.en", "tgt.correct.de", "tgt.incorrect.de"):
        write_line(root / "distil_lingeval/nicht" / side, side)


def write_line(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{line}\n", encoding="utf-8")


@pytest.mark.parametrize("name", SHIPPED_NAMES)
def test_every_shipped_study_is_sound(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path / "multi30k", "ein satz")
    write_news(tmp_path)
    write_texts(tmp_path)
    monkeypatch.setenv("ABLATIONS_DATA", str(tmp_path))
    study = load_study(name)
    assert study.name == name
    assert study.description
    assert all(experiment.variants for experiment in study.experiments)
    runs = len({run.id for run in study.runs()})
    assert runs <= STUDIES[name].runs if study.comparisons else runs == STUDIES[name].runs  # a comparison adds some


@pytest.mark.parametrize("name", SHIPPED_NAMES)
def test_a_study_that_needs_data_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABLATIONS_DATA", raising=False)
    if STUDIES[name].data:
        with pytest.raises(ConfigError, match="ABLATIONS_DATA"):
            load_study(name)
    else:
        load_study(name)


def test_recurrent_nets_of_the_budgets_have_the_size_of_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule: everything else equal, the d_hidden whose parameters come closest to the base's."""
    write_corpus(tmp_path / "multi30k", "ein satz")
    monkeypatch.setenv("ABLATIONS_DATA", str(tmp_path))
    shape = TaskShape(kind="translation", input_sizes=(4000,), output_size=4000, shared_vocabulary=True, start=1, end=2)
    variants = load_study("multi30k-budgets").experiments[0].variants
    wanted = parameter_count(variants["base"].model, shape)
    recurrent = [settings.model for settings in variants.values() if settings.model.architecture in RECURRENT]
    assert len(recurrent) == 2
    for model in recurrent:
        sizes = {width: parameter_count(replace(model, d_hidden=width), shape) for width in range(100, 260)}
        assert model.d_hidden == min(sizes, key=lambda width: abs(sizes[width] - wanted))
        assert sizes[model.d_hidden] == pytest.approx(wanted, rel=0.01)


def test_quick_is_what_the_demo_promises() -> None:
    study = load_study("quick")
    (experiment,) = study.experiments
    assert len(study.seeds) == 3
    assert len(experiment.variants) == 9


def test_a_combination_is_named_by_what_it_changes_in_the_base(tiny: dict[str, Any]) -> None:
    experiment = tiny["experiments"]["copy"]
    experiment.update(design="factorial", vary={"model.norm": ["layer", "rms"], "model.residual": ["add", "none"]})
    experiment.pop("variants", None)
    (made,) = make_study(tiny).experiments
    assert list(made.variants) == ["base", "residual=none", "norm=rms", "norm=rms,residual=none"]
    assert made.changes["norm=rms"] == {"model.norm": "rms", "model.residual": "add"}
