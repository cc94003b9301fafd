"""A study from a YAML file (or a shipped name), with overrides from the command line."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ablations.designs import DESIGNS, Named, apply, combination_name, grid_points, has_field, point_name
from ablations.fairness import MatchConfig, TuneConfig
from ablations.listing import SHIPPED, folder_name
from ablations.sections import load_yaml, parse_section, read_yaml
from ablations.study import SECTIONS, Comparison, Experiment, Sections, Settings, Study, resolve, section_fields
from ablations.study_file import ExperimentFile, StudyFile, all_experiments
from datamodules import TASKS
from models.config import ConfigError
from reports.rows import NOT_RUNS

# what else lies beside the experiments' folders, and what the paths of overrides begin with
RESERVED = (*NOT_RUNS, *SECTIONS, "plan.json", "study.yaml")
BASE = "base"
MOST_SEEDS = 10_000


def find_study(name: str) -> Path:
    """The file of a shipped study or a path. Raises ConfigError naming the shipped ones."""
    shipped = SHIPPED / f"{name}.yaml"
    path = shipped if shipped.is_file() else Path(name)
    if not path.is_file():
        shipped_ones = sorted(file.stem for file in SHIPPED.glob("*.yaml"))
        hint = f"{_near(name, shipped_ones)} ({', '.join(shipped_ones)})"
        raise ConfigError(f"study {name!r}: neither a file nor a shipped study{hint}")
    return path


def load_study(
    name: str,
    overrides: Sequence[str] = (),
    seeds: int | None = None,
    *,
    comparison: Sequence[str] | None = None,
    match: str | None = None,
) -> Study:
    """Read, override and check a study. Raises ConfigError or DataError in one line; nothing is written.

    Args:
        name: of a shipped study, or a path.
        overrides: `path=value`, for every experiment that has the field.
        seeds: so many in place of the study's own.
        comparison: in place of the study's own.
        match: in place of `match.by`.
    """
    path = find_study(name)
    return make_study(_fair(read_yaml(path), comparison, match), overrides, seeds, source=str(path))


def _fair(plain: Any, comparison: Sequence[str] | None, match: str | None) -> Any:
    """The plain study with what the command line says of comparison."""
    if not isinstance(plain, dict):
        return plain  # refused where it is parsed
    compared = {} if comparison is None else {"comparison": list(comparison)}
    own = plain.get("match", {})
    matched = {} if match is None or not isinstance(own, dict) else {"match": {**own, "by": match}}
    return {**plain, **compared, **matched}


def make_study(plain: Any, overrides: Sequence[str] = (), seeds: int | None = None, source: str = "study") -> Study:
    """A study from the plain values of its YAML."""
    top = parse_section(StudyFile, plain, source)
    given_experiments = all_experiments(top, source)
    if not given_experiments:
        raise ConfigError(f"{source}.experiments: empty; a study needs at least one experiment")
    _check_name("name", top.name)
    specs = {name: parse_section(ExperimentFile, spec, name) for name, spec in given_experiments.items()}
    bases = {
        name: _override({section: getattr(s, section) for section in SECTIONS}, name, overrides)
        for name, s in specs.items()
    }
    _check_overrides(overrides, specs, bases)
    chosen = _seeds(top.seeds if seeds is None else seeds)
    own = {name: chosen if seeds is not None or s.seeds is None else _seeds(s.seeds) for name, s in specs.items()}
    experiments = [point for name, spec in specs.items() for point in _experiments(name, spec, bases[name], own[name])]
    refuse_one_folder(experiments)
    comparisons: tuple[Comparison, ...] = tuple(name for name in dict.fromkeys(top.comparison) if name != "same")
    return Study(
        name=top.name,
        description=top.description,
        seeds=chosen,
        source={
            **{key: value for key, value in plain.items() if key != "take"},
            "seeds": list(chosen),
            "experiments": {name: _source(given_experiments[name], bases[name], seeds) for name in specs},
        },
        experiments=tuple(experiments),
        comparisons=comparisons,
        tune=parse_section(TuneConfig, top.tune, f"{source}.tune"),
        match=parse_section(MatchConfig, top.match, f"{source}.match"),
    )


def _source(spec: dict[str, Any], base: Sections, seeds: int | None) -> dict[str, Any]:
    """An experiment as `study.yaml` has it: with the overrides, and without seeds of its own where all were set."""
    kept = {key: value for key, value in spec.items() if seeds is None or key != "seeds"}
    return {**kept, **given(base)}


def given(sections: Sections) -> Sections:
    """Without the sections that are left to their defaults."""
    return {name: fields for name, fields in sections.items() if fields}


def refuse_one_folder(experiments: Iterable[Experiment]) -> None:
    """Two experiments whose names are one folder could have two processes write one run."""
    owners: dict[str, str] = {}
    for experiment in experiments:
        folder = folder_name(experiment.name)
        if other := owners.get(folder):
            raise ConfigError(f"experiment={experiment.name!r}: has the folder of {other!r}; choose another name")
        owners[folder] = experiment.name


def _seeds(seeds: int | list[int]) -> tuple[int, ...]:
    chosen = tuple(range(min(seeds, MOST_SEEDS + 1))) if isinstance(seeds, int) else tuple(seeds)
    fits = 0 < len(chosen) <= MOST_SEEDS and len(set(chosen)) == len(chosen)
    if not fits or min(chosen) < 0 or max(chosen) >= 2**32:
        raise ConfigError(
            f"seeds={seeds!r}: give a number from 1 to {MOST_SEEDS}, or a list of different whole numbers from 0"
        )
    return chosen


def _experiments(family: str, spec: ExperimentFile, base: Sections, seeds: tuple[int, ...]) -> list[Experiment]:
    _check_name("experiment", family, RESERVED)
    for path, values in {**spec.vary, **spec.grid}.items():
        if not isinstance(path, str):
            raise ConfigError(f"{family}: {path!r}: a path is text, such as model.n_heads")
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{family}: {path}={values!r}: expected a list of values")
        if len({str(value) for value in values}) < len(values):
            raise ConfigError(f"{family}: {path}={values!r}: a value stands there twice")
    for name, changes in {**spec.ladder, **spec.variants}.items():
        if not isinstance(changes, dict) or not changes:
            raise ConfigError(f"{family}, {name}: expected a mapping of dotted paths to values, got {changes!r}")
    return [_experiment(family, spec, base, point, seeds) for point in grid_points(spec.grid)]


def _experiment(
    family: str, spec: ExperimentFile, base: Sections, point: dict[str, Any], seeds: tuple[int, ...]
) -> Experiment:
    name = point_name(family, point)
    _check_name("experiment", name)
    design, named = _design(family, spec)
    sections = apply(point, base, f"{name}: ")
    measure = tuple(spec.measure)
    settings = {BASE: resolve(sections, measure, f"{name}, {BASE}: ")}
    changes: Named = {BASE: {}}
    for full_name, change in named.items():
        own = _own(change, settings[BASE])
        is_own = bool(spec.vary) and len(own) == len(change)  # the base's own value, listed with others
        variant = combination_name(change, own) if design == "factorial" and not is_own else full_name
        where = f"{name}, {variant}: "
        _check_name(f"{name}: variant", variant)
        if variant == BASE:
            raise ConfigError(f"{where}this name is the base's own; choose another")
        made = resolve(apply(change, sections, where), measure, where)
        if TASKS[made.task_name].kind != TASKS[settings[BASE].task_name].kind:
            raise ConfigError(f"{where}task.name={made.task_name!r}: is of another kind than the base's task")
        twin = _twin(made, settings)
        if twin == BASE and is_own:
            continue
        if twin is not None:  # two names for one configuration would be counted as two variants
            raise ConfigError(f"{where}{'changes nothing in the base' if twin == BASE else f'is the same as {twin!r}'}")
        settings[variant], changes[variant] = made, change
    return Experiment(
        name=name, base=BASE, design=design, variants=settings, changes=changes, grid=point, family=family, seeds=seeds
    )


def _own(change: dict[str, Any], base: Settings) -> set[str]:
    """The paths that a change sets to the value that they have in the base."""
    plain = base.as_dict()
    paths = ((path, *path.partition(".")[::2], value) for path, value in change.items())
    return {path for path, section, field, value in paths if field and plain.get(section, {}).get(field) == value}


def _twin(made: Settings, others: dict[str, Settings]) -> str | None:
    """Name of the variant that has the very same settings."""
    return next((name for name, settings in others.items() if settings.identity() == made.identity()), None)


def _design(family: str, spec: ExperimentFile) -> tuple[str, Named]:
    """The one design that the experiment uses, and the changes that it makes of what is given."""
    given = {key: value for key in ("vary", "ladder", "variants") if (value := getattr(spec, key))}
    if len(given) > 1:
        raise ConfigError(f"{family}: {' and '.join(given)}: an experiment has one design")
    if not given:
        return "grid" if spec.grid else "variants", {}
    key, value = next(iter(given.items()))
    fitting = ("one-at-a-time", "factorial") if key == "vary" else (key,)
    design = spec.design or fitting[0]
    if design not in fitting:
        raise ConfigError(f"{family}.design={design!r}: with {key!r} it can be {' or '.join(fitting)}")
    return design, DESIGNS[design](value)


def _check_name(what: str, name: Any, reserved: Sequence[str] = ()) -> None:
    if not isinstance(name, str) or not name.strip() or name.startswith(".") or len(folder_name(name)) > 120:
        raise ConfigError(f"{what}={name!r}: give a name of 1 to 120 characters that does not begin with a dot")
    if name in reserved:
        raise ConfigError(f"{what}={name!r}: {', '.join(reserved)} mean other things in a study; choose another")


def _override(base: Sections, experiment: str, overrides: Sequence[str]) -> Sections:
    """The experiment's sections with those of the overrides that it has the field for."""
    for text in overrides:
        path, value = _split(text)
        if path.startswith(f"{experiment}."):
            base = apply({path.removeprefix(f"{experiment}."): value}, base, f"--set {text}: ")
        elif has_field(path, base):
            base = apply({path: value}, base, f"--set {text}: ")
    return base


def _check_overrides(overrides: Sequence[str], specs: dict[str, ExperimentFile], bases: dict[str, Sections]) -> None:
    """Refuse an override that nothing would come of."""
    for text in overrides:
        path, _ = _split(text)
        if not any(has_field(path.removeprefix(f"{name}."), base) for name, base in bases.items()):
            raise ConfigError(f"--set {text}: no experiment has the field {path!r}{_hint(path, bases.values())}")
        for name, spec in specs.items():
            if path.removeprefix(f"{name}.") in spec.grid:
                raise ConfigError(f"--set {text}: {name} has a grid over this field")


def _hint(path: str, bases: Iterable[Sections]) -> str:
    return _near(
        path, {f"{section}.{name}" for base in bases for section in SECTIONS for name in section_fields(section, base)}
    )


def _near(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`; empty where nothing is like the name."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _split(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: expected PATH=VALUE, such as model.n_heads=8")
    return path.strip(), load_yaml(value, f"--set {path}")
