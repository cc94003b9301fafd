"""Every claim of the register can be put to the test: by studies that are shipped, on what they vary and measure."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ablations.components import COMPONENTS
from ablations.load import load_study
from ablations.study import Experiment, Settings, Study
from ablations.train import task_shape
from models.build import build_model
from models.probes import PROBES, Measurement
from reports.plans import flat
from reports.register import Claim, Condition, read_register
from tests.ablations.test_load import write_corpus, write_news, write_texts

Test = tuple[Claim, Condition, Study, list[Experiment]]
"""A condition in one of its studies, with the experiment there, or the points of the grid."""

NEEDS_DATA = {"lecture-real", "multi30k", "agreement"}
"""Studies that read a folder which is not shipped."""


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Study]]:
    """All studies that the register names, on made-up data where they need some."""
    folder = tmp_path_factory.mktemp("data")
    write_corpus(folder / "multi30k", "ein satz")
    write_news(folder)
    write_texts(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABLATIONS_DATA", str(folder))
        names = {name for claim in read_register() for name in claim.studies}
        yield {name: load_study(name) for name in sorted(names)}


@pytest.fixture(scope="module")
def every(studies: dict[str, Study]) -> list[Test]:
    """Every condition of every claim in every study that the claim names."""
    return [
        (claim, condition, studies[name], points(studies[name], condition.experiment))
        for claim in read_register()
        for condition in claim.conditions
        for name in claim.studies
    ]


def points(study: Study, name: str) -> list[Experiment]:
    named = [experiment for experiment in study.experiments if experiment.name == name]
    return named or [experiment for experiment in study.experiments if experiment.family == name]


def variant(experiment: Experiment, changes: Mapping[str, Any]) -> Settings | None:
    """The variant with exactly these changes; the base for none."""
    if not changes:
        return experiment.variants[experiment.base]
    names = (name for name, of_it in experiment.changes.items() if dict(flat(of_it)) == dict(flat(changes)))
    return next((experiment.variants[name] for name in names), None)


def test_every_condition_names_an_experiment_or_a_grid_that_each_study_has(every: list[Test]) -> None:
    absent = [(claim.id, study.name, condition.experiment) for claim, condition, study, found in every if not found]
    assert not absent
    for claim, _, study, _ in every:
        assert points(study, claim.experiment), f"{claim.id}: no {claim.experiment} in {study.name}"


def test_a_grid_is_named_for_a_curve_over_its_axis_and_for_nothing_else(every: list[Test]) -> None:
    for claim, condition, study, experiments in every:
        where = f"{claim.id} in {study.name}"
        if condition.over_a_setting:
            places = [experiment.grid.get(condition.over) for experiment in experiments]
            assert len(places) >= 2, f"{where}: a curve has two points"
            assert all(isinstance(place, int | float) for place in places), f"{where}: {places}"
            assert len(set(places)) == len(places), f"{where}: one point at each {condition.over}"
        else:
            assert len(experiments) == 1, f"{where}: {condition.experiment} is a grid"


def test_every_side_is_a_variant_of_every_point(every: list[Test]) -> None:
    for claim, condition, study, experiments in every:
        for experiment in experiments:
            for changes in condition.sides:
                assert variant(experiment, changes), f"{claim.id}: {experiment.name} of {study.name} has no {changes}"


def test_sides_differ_from_each_other(every: list[Test]) -> None:
    for claim, condition, _, experiments in every:
        sides = [variant(experiments[0], changes) for changes in condition.sides[:2]]
        assert len(sides) < 2 or sides[0] != sides[1], f"{claim.id}: {condition.text}"


def test_the_settings_of_a_claim_are_those_of_the_base(every: list[Test]) -> None:
    for claim, condition, study, experiments in every:
        for experiment in experiments:
            base = dict(flat(experiment.variants[experiment.base].as_dict()))
            for path, value in claim.settings.items():
                if path != condition.over:
                    assert base[path] == value, f"{claim.id}: {path} of {experiment.name} in {study.name}"


def test_there_are_as_many_seeds_as_decide_a_claim(every: list[Test]) -> None:
    for claim, _, study, experiments in every:
        for experiment in experiments:
            seeds = {run.seed for run in study.runs() if run.experiment == experiment.name}
            assert len(seeds) >= claim.seeds, f"{claim.id}: {experiment.name} of {study.name}"


def test_all_claims_have_a_study_that_needs_no_data_or_one_that_says_so() -> None:
    for claim in read_register():
        real = claim.id.endswith("-multi30k") or claim.id in (
            *("heads-loss", "heads-bleu", "mt-quality", "mt-cost", "mt-data", "agreement"),
        )
        named = set(claim.studies)
        assert named <= NEEDS_DATA if real else {"lecture", "lecture-quick"} <= named, claim.id
        assert not real or "lecture-real" in named, claim.id


def test_every_claim_belongs_to_a_part_of_the_model() -> None:
    """By what it changes or else by what it is about; so that no claim is missing from the pages of components."""
    names = {f"model.{component.name}" for component in COMPONENTS}
    for claim in read_register():
        assert claim.paths & names, claim.id
        assert {*claim.about} <= names, claim.id
        assert not {*claim.about} & {path for condition in claim.conditions for path in condition.paths}, claim.id


def test_runs_that_a_claim_measures_before_training_have_no_steps(every: list[Test]) -> None:
    """And those that end at a target have one."""
    for claim, condition, _, experiments in every:
        trains = {settings.train.steps > 0 for one in experiments for settings in one.variants.values()}
        if condition.split in ("test", "train", "validation"):
            assert trains == {True}, claim.id
        if condition.compare == "times":
            for settings in (variant(one, side) for one in experiments for side in condition.sides):
                assert settings is not None
                assert settings.train.until_accuracy or settings.train.until_loss, claim.id


def test_metrics_are_those_of_the_task_or_of_the_probes_that_are_named(every: list[Test]) -> None:
    """Each probe is run on the condition's own models, untrained, at the first point of a grid."""
    known: dict[str, list[Measurement]] = {}
    for claim, condition, study, experiments in every:
        if condition.split == "probe" and study.name == "lecture":
            for changes in condition.sides:
                settings = variant(experiments[0], changes)
                assert settings is not None
                rows = known.setdefault(repr(settings), [])
                rows += [] if rows else measured(settings)
                where = f"{claim.id}: {condition.metric} of {experiments[0].name}, {changes}"
                at = [row.coordinate for row in rows if row.metric == condition.metric]
                assert at, where
                wanted = condition.at if not condition.over or condition.over_a_setting else ()
                assert set(wanted) <= set(at), f"{where}: {wanted}"
                if condition.over and not condition.over_a_setting:
                    assert len([name for name in at if name.startswith(f"{condition.over}=")]) >= 3, where


def measured(settings: Settings) -> list[Measurement]:
    data = settings.data(0)
    data.setup()
    model, batches = build_model(settings.model, task_shape(data), 0), data.held("validation")[0]
    return [row for name in settings.measure if name in PROBES for row in PROBES[name](model, batches)]


def test_the_studies_of_a_condition_measure_alike(every: list[Test]) -> None:
    """So that what holds of `lecture` above holds of the others."""
    found: dict[tuple[str, str], set[str]] = {}
    for claim, condition, _, experiments in every:
        if condition.split == "probe":
            probes = {name for one in experiments for name in one.variants[one.base].measure}
            assert found.setdefault((claim.id, condition.text), probes) == probes, claim.id


HEADLINE = {"loss", "accuracy", "bleu", "chrf", "perplexity"}


def test_what_is_not_a_probe_is_a_metric_of_the_task(every: list[Test]) -> None:
    for claim, condition, _, experiments in every:
        if condition.split == "probe":
            continue
        settings = experiments[0].variants[experiments[0].base]
        kind = settings.data(0).kind
        if condition.compare == "times":
            continue
        assert condition.metric in HEADLINE, claim.id
        if condition.metric == "bleu":
            assert kind == "translation", claim.id
        if condition.less:
            assert (condition.less, kind) == ("bleu-shuffled", "translation"), claim.id
        if condition.split == "train":
            assert condition.metric == "loss", claim.id


def test_oracles_are_references_of_their_tasks(every: list[Test]) -> None:
    names: dict[str, Mapping[str, Mapping[str, float]]] = {}
    for claim, condition, _, experiments in every:
        if condition.oracle is not None:
            settings = experiments[0].variants[experiments[0].base]
            key = repr(settings.as_dict()["task"])
            if key not in names:
                data = settings.data(0)
                data.setup()
                names[key] = data.references()
            assert condition.oracle in names[key].get(condition.metric, {}), claim.id


def test_coordinates_of_the_test_set_are_there(every: list[Test]) -> None:
    """Those of held-out data: further lengths, and the distances at which a task asks."""
    for claim, condition, study, experiments in every:
        wanted = {at for at in (*condition.at, condition.minus_at, condition.over_at) if at}
        if condition.split != "test" or not wanted or study.name in NEEDS_DATA:
            continue
        data = experiments[0].variants[experiments[0].base].data(0)
        data.setup()
        main, *more = data.held("test")
        found = {f"distance={int(at)}" for batch in main if "distance" in batch for at in batch["distance"].unique()}
        found |= {str(batch["coordinate"]) for batches in more for batch in batches}
        assert wanted <= found, f"{claim.id}: {wanted - found}"
