"""What is said of a study as a whole."""

import shlex
from collections.abc import Callable
from typing import Any

from reports.pages import summary
from reports.rows import StudyRows, read_study

Maker = Callable[..., Any]


def mixed(make: Maker) -> StudyRows:
    """Two seeds of three variants: completed from two commits, diverged, failed, missing, in conflict."""
    study = make("mixed", seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}, "y": {"model.norm": "rms"}}, headline=["loss"])
    loss = [("test", "loss", "", 0.5)]
    study.run("e", "base", 0, loss, commit="aaaa")
    study.run("e", "base", 1, loss, commit="bbbb-dirty", signatures={"bleu": "tok:none"})
    study.run("e", "x", 0, loss, status="diverged", reason="not finite")
    study.run("e", "x", 1, [], status="failed", reason="out of memory")
    study.run("e", "y", 0, loss)
    study.run("e", "y", 0, [("test", "loss", "", 0.75)], folder="e1/copy/seed-0")
    return read_study(study.write())


def test_progress_counts_every_run(make: Maker) -> None:
    assert summary.progress(mixed(make)) == "6 runs planned: 2 completed, 1 diverged, 1 failed, 1 missing, 1 conflict."
    assert summary.progress(read_study(make("void").write())) == "No run is planned."


def test_warnings_name_what_makes_rows_doubtful(make: Maker) -> None:
    assert summary.warnings(mixed(make)) == [
        "1 run with two results: neither is counted.",
        "Runs come from different commits: what differs may not be the variants alone.",
        "Some runs come from a checkout with changes that no commit holds.",
        "BLEU: computed in different ways, the numbers cannot be compared.",
    ]


def test_what_did_not_complete_is_grouped_and_the_worst_comes_first(make: Maker) -> None:
    found = [(run.variant, run.seeds, run.state, run.reason) for run in summary.unfinished(mixed(make))]
    assert [state for _, _, state, _ in found] == ["conflict", "failed", "diverged", "missing"]
    assert found[1] == ("x", "1", "failed", "out of memory")
    assert found[2] == ("x", "0", "diverged", "not finite")
    assert found[3] == ("y", "1", "missing", "not run yet")
    assert "e1/copy/seed-0" in found[0][3]


def test_seeds_of_one_reason_stand_together(make: Maker) -> None:
    study = make("empty", seeds=(3, 5, 8))
    study.experiment("e", {}, headline=["loss"])
    (run,) = summary.unfinished(read_study(study.write()))
    assert (run.variant, run.seeds, run.state) == ("base", "3, 5, 8", "missing")


def test_origin_says_how_many_runs_where_they_differ(make: Maker) -> None:
    lines = dict(summary.origin(mixed(make)))
    assert lines["Commit"].startswith("aaaa (1 run), bbbb-dirty (1 run), 3adf61e1")
    assert lines["torch"] == "2.13.0+cpu"
    assert lines["Hardware"] == "cpu on bench-1"
    assert lines["Data"] == "e: 9f2c41d0"
    assert "tok:none (1 run)" in lines["BLEU"]


def test_the_command_survives_any_folder(make: Maker) -> None:
    study = mixed(make)
    words = shlex.split(summary.command(study))
    assert words == ["ablations", "run", str(study.folder / "study.yaml")]


def test_of_many_files_that_cannot_be_read_the_first_are_named_and_the_others_counted() -> None:
    problems = [f"file {n}" for n in range(5)]
    assert summary.unreadable(problems[:3]) == ["file 0", "file 1", "file 2"]
    assert summary.unreadable(problems[:4]) == ["file 0", "file 1", "file 2", "And 1 other file cannot be read."]
    assert summary.unreadable(problems)[3:] == ["And 2 other files cannot be read."]
    assert summary.unreadable([]) == []


def test_what_stands_in_place_of_a_finding(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {})
    assert summary.instead(read_study(study.write()), []) == "Nothing has finished yet."
    study.run("e", "base", 0, [("test", "loss", "", 0.5)])
    alone = read_study(study.write())
    assert summary.instead(alone, []) == "Nothing to compare: no experiment has a variant beside its base."
    assert summary.instead(alone, ["Norm", "BLEU"]) == "Measured: norm, BLEU."


def test_a_study_whose_runs_have_no_steps_trains_nothing(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {})
    assert not summary.trains_nothing(read_study(study.write())), "not started: not known"
    for seed in study.seeds:
        run = study.run("e", "base", seed, [("probe", "rank", "", 3.0)]) / "run.json"
        run.write_text(run.read_text("utf-8").replace('"steps": 250', '"steps": 0'), "utf-8")
        assert summary.trains_nothing(read_study(study.write()))
    assert summary.instead(read_study(study.folder), ["Rank"]) == "Measured, nothing trained: rank."
    run.write_text(run.read_text("utf-8").replace('"steps": 0', '"steps": 250'), "utf-8")
    assert not summary.trains_nothing(read_study(study.folder))


def test_a_run_that_two_experiments_share_counts_once(make: Maker) -> None:
    study = make(seeds=(0, 1))
    for name in ("e", "f"):
        study.experiment(name, {"x": {"model.norm": "none"}})
    for run in study.plan["runs"]:
        run["id"] = f"{run['variant']}-{run['seed']}"
    study.run("e", "x", 1, [])
    study.plan["runs"] = [{**run, "folder": run["folder"].replace("e2/", "e1/")} for run in study.plan["runs"]]
    found = read_study(study.write())
    assert [row.experiment for row in summary.once(found)] == ["e"] * 4
    assert summary.progress(found) == (
        "4 runs planned: 1 completed, 3 missing. They stand for 8 pairs of variant and seed: where settings are the "
        "same a run is shared. It counts once here, and below in each experiment that has it."
    )


def test_other_runs_in_the_folder_are_counted(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}, "y": {"model.norm": "rms"}})
    study.write()
    assert summary.foreign(read_study(study.folder)) == ""
    for variant in ("x", "y"):
        study.run("e", variant, 0, [])
        study.plan["runs"] = [run for run in study.plan["runs"] if run["variant"] != variant]
        study.plan["experiments"]["e"]["variants"].remove(variant)
        found = summary.foreign(read_study(study.write()))
        are = "1 other run in this folder is" if variant == "x" else "2 other runs in this folder are"
        assert found == f"{are} not part of the current plan."
