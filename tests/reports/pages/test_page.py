"""The page, as a whole: it says what there is, opens without a network, and repeats itself."""

import base64
import csv
import hashlib
import html
import importlib
import io
import itertools
import json
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import reports
from reports.claims import verdicts
from reports.pages.page import build
from reports.pages.verdicts import told_by_claims
from reports.rows import RowsError, read_study
from reports.table import make_tables
from reports.wording import estimate, outcomes
from tests.reports.pages.parsed import Page

Maker = Callable[..., Any]
HOSTILE = ["<img src=x onerror=alert(1)>", "a<b & c", "_x", "None", "null", "$x$", '"><script>alert(2)</script>']


@pytest.fixture(scope="module")
def report(quick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report of the quick study, in a copy of its folder."""
    folder = tmp_path_factory.mktemp("copy") / "quick"
    shutil.copytree(quick, folder)
    return build(folder).parent


def test_the_page_answers_at_a_glance(report: Path) -> None:
    page = Page(report / "index.html")
    before_figures = page.text[: page.text.index("What each change does")]
    assert "Loss rises most with no-residual: +2.9" in before_figures
    assert "BLEU falls most with no-residual: −9" in before_figures
    assert "long-range accuracy falls most with lstm: −0.3" in before_figures
    assert before_figures.count("95 % interval") == 3
    assert "27 runs planned: 27 completed." in before_figures
    parts = ["What each change does", "Claims", "What the seeds can show", "Accuracy by distance"]
    parts += ["Loss while training", "BLEU while training", "Variants", "Parts of the model"]
    parts += ["Cost What the runs took", "Where the numbers come from"]
    body = page.text[page.text.index("What each change does") :].replace(" ".join(CONTENTS), "")
    assert [body.index(part) for part in parts] == sorted(body.index(part) for part in parts)
    for text in (
        "longest third of the distances: 12 to 17",
        "500 test items",
        "study.yaml",
        "Training seconds: validation not counted.",
        "tok:13a",
        "bench-1",
    ):
        assert text in page.text
    assert "3adf61e154c3fe3fca428ad6bc3818b27a3b8291" in page.text
    assert "model.decoder_mask causal" in page.text
    assert not page.tags.count(("a", {"href": "#unfinished"}))


CONTENTS = ["Claims", "german", "Parts of the model", "Cost", "How to repeat it"]


def test_the_page_asks_for_nothing_outside_itself(report: Path) -> None:
    page = Page(report / "index.html")
    assert not page.count("link")
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "action", "data"):
            target = attributes.get(name) or ""
            assert not re.match(r"(https?:)?//", target), (tag, target)
            if target and not target.startswith("#"):
                assert (report / unquote(target)).exists(), target
    assert "@import" not in page.source
    assert not re.search(r"url\(['\"]?(?!#)", page.source)
    assert "default-src 'none'" in page.source


def test_the_page_runs_one_script_and_allows_no_other(report: Path) -> None:
    source = (report / "index.html").read_text("utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in source
    assert not re.search(r"\bon\w+=|fetch|XMLHttp|import\(|https?:", script)
    assert 'http-equiv="refresh"' not in source


def test_a_page_that_is_watched_loads_itself_anew(make: Maker) -> None:
    page = Page(build(make("live").write(), refresh=7))
    assert ("meta", {"http-equiv": "refresh", "content": "7"}) in page.tags


def test_every_table_has_headers_with_a_scope_and_a_caption_and_every_figure_a_text(report: Path) -> None:
    page = Page(report / "index.html")
    assert page.count("table") == page.count("caption") > 5
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")
    regions = [attributes for _, attributes in page.tags if attributes.get("role") == "region"]
    labels = [attributes["aria-label"] for attributes in regions]
    assert len(set(labels)) == len(labels)
    assert all(attributes["tabindex"] == "0" for attributes in regions)
    images = [attributes for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]
    assert len(images) == page.count("figure") >= 4
    assert all(attributes["aria-label"] for attributes in images)
    assert all(
        attributes.get("aria-hidden") for tag, attributes in page.tags if tag == "svg" and "role" not in attributes
    )


def texts_of(html: str) -> list[str]:
    """Texts of the cells of a row of which the first tag may be cut."""
    return [text for cell in html.split("</t") if (text := cell.rpartition(">")[2].strip())]


def test_variants_lead_to_their_settings_and_to_a_run(report: Path) -> None:
    page = Page(report / "index.html")
    label = "settings of no-scale"
    (target,) = [attributes["href"] for _, attributes in page.tags if attributes.get("aria-label") == label]
    assert target is not None
    shown = page.source[page.source.index(f'id="{target[1:]}"') :]
    assert texts_of(shown[: shown.index("</tr>")]) == ["no-scale", "model.scale", "sqrt-head", "none"]
    (base,) = [a["href"] for _, a in page.tags if a.get("aria-label") == "settings of base"]
    assert base is not None
    shown = page.source[page.source.index(f'id="{base[1:]}"') :]
    assert "model.scale: sqrt-head" in shown[: shown.index("</pre>")]
    (file,) = [a["href"] for _, a in page.tags if a.get("aria-label") == "run.json of no-scale"]
    assert file is not None
    run = json.loads((report / unquote(file)).read_text("utf-8"))
    assert (run["variant"], run["config"]["model"]["scale"]) == ("no-scale", "none")


def test_claims_are_judged_on_the_page(report: Path) -> None:
    page, found = Page(report / "index.html"), verdicts(make_tables(read_study(report.parent)))
    tally = outcomes([verdict.outcome for verdict in found])
    claims = page.text[page.text.index(f"Claims {tally}. ") : page.text.index("Task german (translation)")]
    assert found
    for verdict in found:
        assert verdict.statement in claims
        for judged in verdict.conditions:
            assert f"{estimate(judged.value, judged.low, judged.high)} , wanted: {judged.region}; {judged.n}." in claims
            assert f"Held equal: {judged.held_equal}." in claims
    assert claims.count("wanted: ") == sum(len(verdict.conditions) for verdict in found)
    assert "false ones are to be expected by chance alone" in claims


def test_a_study_of_many_claims_is_told_by_them(quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "quick"
    shutil.copytree(quick, folder)
    assert 'id="effects"' in build(folder).read_text("utf-8")
    monkeypatch.setattr("reports.pages.verdicts.FEW", 3)
    page = build(folder).read_text("utf-8")
    assert '<p class="headline">4 of 4 claims supported.</p>' in page
    assert 'id="effects"' not in page


def test_identifiers_are_unique_and_links_within_the_page_lead_somewhere(report: Path) -> None:
    page = Page(report / "index.html")
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    links = {attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(identifiers)


def test_tables_and_figures_are_files_too(report: Path) -> None:
    texts = {name: (report / f"{name}.csv").read_text(encoding="utf-8") for name in TABLES}
    rows = {name: list(csv.DictReader(io.StringIO(text))) for name, text in texts.items()}
    assert {name: len(found) for name, found in rows.items()} == {
        "runs": 27,
        "metrics": 27 * 22,
        "curves": 27 * 15,
        "variants": 9,
        "effects": 8 * 4,
    }
    assert rows["variants"][0]["variant"] == "base"
    assert rows["effects"][0]["n_seeds"] == "3"
    names = {path.stem for path in (report / "figures").iterdir()}
    assert names >= {
        f"01-german-{name}" for name in ("effects", "accuracy-by-distance", "loss-by-step", "bleu-by-step")
    }


TABLES = ("runs", "metrics", "curves", "variants", "effects")
"""Among others."""


def test_two_builds_from_the_same_rows_are_the_same_bytes(report: Path, quick: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    shutil.copytree(quick, folder)
    again = build(folder).parent
    files = sorted(path.relative_to(report) for path in report.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    for file in files:  # only the command that repeats the study names its folder
        moved = (again / file).read_bytes().replace(bytes(folder), bytes(report.parent))
        assert (report / file).read_bytes() == moved, file
    assert (again / "index.html").read_bytes().count(bytes(folder)) == 1


def odd_study(make: Maker) -> Any:
    """Hostile names; runs diverged, failed, missing, in conflict and foreign; two commits."""
    study = make("odd & <b>", seeds=(0, 1))
    study.experiment('e "<i>"', {name: {"model.position": name} for name in HOSTILE}, design="one-at-a-time")
    for variant in ("base", *HOSTILE[:-1]):
        for seed in study.seeds:
            fields: dict[str, Any] = {}
            if (variant, seed) == ("_x", 1):
                fields = {"status": "diverged", "reason": "loss is not finite at step 31"}
            if (variant, seed) == ("None", 0):
                fields = {"status": "failed", "reason": "<script>alert(3)</script> out of memory"}
            if (variant, seed) == ("null", 1):
                fields = {"commit": "feedface-dirty", "signatures": {"bleu": "tok:none"}}
            values = [("test", "loss", "", 0.5 + 0.1 * seed), ("probe", "rank", "", 3.0)]
            study.run('e "<i>"', variant, seed, [] if fields.get("status") == "failed" else values, **fields)
    study.run('e "<i>"', "$x$", 0, [("test", "loss", "", 0.1)], folder="e1/copy/seed-0")
    study.experiment("gone", {"x": {"model.norm": "none"}})
    study.run("gone", "x", 0, [("test", "loss", "", 0.1)])
    del study.plan["experiments"]["gone"]
    study.plan["runs"] = [run for run in study.plan["runs"] if run["experiment"] != "gone"]
    return study


def test_hostile_names_are_shown_as_they_are_and_every_run_is_accounted_for(make: Maker) -> None:
    page = Page(build(odd_study(make).write()))
    assert not {"img", "i"} & {tag for tag, _ in page.tags}
    assert page.count("script") == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    for name in HOSTILE:
        assert name in page.text
    assert "16 runs planned: 11 completed, 1 diverged, 1 failed, 2 missing, 1 conflict." in page.text
    assert "1 other run in this folder is not part of the current plan." in page.text
    assert "1 run with two results: neither is counted." in page.text
    assert "<script>alert(3)</script> out of memory" in page.text
    assert "loss is not finite at step 31" in page.text
    assert "e1/copy/seed-0" in page.text
    assert "2 of 2, 1 diverged" in page.text
    assert "Runs come from different commits" in page.text
    assert "a checkout with changes that no commit holds" in page.text
    assert "BLEU: computed in different ways" in page.text
    assert "feedface-dirty (1 run)" in page.text


def test_an_empty_study_says_so(make: Maker) -> None:
    study = make("empty")
    study.experiment("e", {"x": {"model.norm": "none"}})
    folder = study.write()
    old = folder / "report" / "figures" / "old.svg"
    old.parent.mkdir(parents=True)
    old.touch()
    page = Page(build(folder))
    assert not old.exists()
    assert "Nothing has finished yet." in page.text
    assert "No run of this experiment has finished." in page.text
    assert "6 runs planned: 6 missing." in page.text
    assert "0 of 3, 3 missing" in page.text
    assert page.count("figure") == 0
    assert all((folder / "report" / f"{name}.csv").is_file() for name in TABLES)


@pytest.mark.parametrize("name", ["quick", "train"])
def test_the_command_repeats_the_study_as_it_was_run_and_not_the_one_of_that_name(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = make(name).write()
    folder.rename(tmp_path / "it's <mine>")
    monkeypatch.chdir(tmp_path)
    page = Page(build(Path("it's <mine>")))
    (command,) = re.findall(r"Repeat with (.*) Tables", page.text)
    assert shlex.split(command) == ["ablations", "run", "it's <mine>/study.yaml"]


def test_the_description_stands_under_the_title(make: Maker) -> None:
    study = make("plain")
    assert 'class="description"' not in build(study.write()).read_text("utf-8")
    study.plan["description"] = "What <b>order</b> costs"
    page = Page(build(study.write()))
    assert "plain What <b>order</b> costs Nothing has finished" in page.text


def grid_study(make: Maker, **arguments: Any) -> Any:
    """`far`, a grid over the distance, planned out of order, between two other experiments."""
    study = make(**arguments)
    study.experiment("near", {"x": {"model.norm": "none"}})
    for distance in (16, 2, 64):
        planned = {"family": "far", "grid": {"task.distance": distance}}
        study.experiment(f"far@distance={distance}", {"x": {"model.norm": "none"}}, headline=["accuracy"], **planned)
    study.experiment("alone", {"x": {"model.norm": "none"}}, family="alone", grid={})
    return study


def test_a_grid_has_a_section_before_its_points_once_it_is_a_curve(make: Maker) -> None:
    study = grid_study(make, seeds=(0,))
    study.run("far@distance=2", "base", 0, [("test", "accuracy", "", 1.0)])
    names = ["near", "far@distance=16", "far@distance=2", "far@distance=64", "alone"]
    folder = study.write()
    assert sections_of(Page(build(folder))) == names
    study.run("far@distance=64", "base", 0, [("test", "accuracy", "", 0.5)])
    page = Page(build(folder))
    assert sections_of(page) == [names[0], "far", *names[1:]]
    assert "far Task german (translation) · 3 values of task.distance: 2, 16, 64 Accuracy by task.distance" in page.text
    assert ("a", {"href": "#grid-2"}) in page.tags
    assert folded(page) == names[1:4]
    contents = page.source[page.source.index("<nav") : page.source.index("</nav>")]
    assert [name for name in names if f">{name}</a>" in contents] == ["near", "alone"]
    assert (folder / "report" / "figures" / "02-far-accuracy-by-task-distance.png").is_file()


def folded(page: Page) -> list[str]:
    """Names of the sections that are closed."""
    found = page.source.split('<details class="fold')[1:]
    names = [re.findall("<h2>(.*?)</h2>", text[: text.index("</summary>")]) for text in found]
    return [html.unescape(name) for found in names for name in found if name != "What the columns mean"]


def test_of_many_experiments_each_is_a_line_that_says_what_it_found(make: Maker) -> None:
    study = make(seeds=(0, 1))
    for number in range(5):
        study.experiment(f"e{number}", {"x": {"model.norm": "none"}}, headline=["loss", "bleu"][: 1 + (number == 2)])
        for variant in ("base", "x"):
            for seed in study.seeds:
                both = [("test", "loss", "", 1.0 + (variant == "x") + seed / 9), ("test", "bleu", "", 30.0 - seed)]
                study.run(f"e{number}", variant, seed, both[: 1 + (number == 2)])
    page = Page(build(study.write()))
    assert folded(page) == ["e0", "e1", "e3", "e4"], "the one that speaks for the study stands open"
    lines = re.findall(r"<summary><h2>e\d</h2> <span>(.*?)</span></summary>", page.source)
    assert len(lines) == 4
    assert all("oss" in line and "+1" in line for line in lines)
    assert [page.source.count(f"<h2>e{number}</h2>") for number in range(5)] == [1] * 5
    few = make(seeds=(0, 1))
    for number in range(4):
        few.experiment(f"e{number}", {"x": {"model.norm": "none"}}, headline=["loss"])
        few.run(f"e{number}", "base", 0, [("test", "loss", "", 1.0)])
    assert folded(Page(build(few.write()))) == []


def test_learning_curves_are_drawn_of_experiments_that_are_no_points_of_a_grid(make: Maker) -> None:
    study = grid_study(make, seeds=(0,))
    for name in ("near", "far@distance=2", "far@distance=64"):
        curve = [(10, "accuracy", 0.25), (15, "accuracy", 0.4), (20, "accuracy", 0.5)]
        study.run(name, "base", 0, [("test", "accuracy", "", 0.5)], curve=curve)
    build(study.write())
    drawn = {path.name for path in (study.folder / "report" / "figures").glob("*by-step.svg")}
    assert drawn == {"01-near-accuracy-by-step.svg"}


def test_points_of_a_grid_leave_the_figure_of_effects_to_the_grid(make: Maker) -> None:
    """But for the experiment that speaks for the study: its figure stands at the head of the page."""
    study = make(seeds=(0, 1))
    for distance in (2, 64):
        changes = {"x": {"model.position": "none"}}
        study.experiment(f"far@distance={distance}", changes, family="far", grid={"task.distance": distance})
    for name in study.plan["experiments"]:
        for variant in ("base", "x"):
            for seed in study.seeds:
                study.run(name, variant, seed, [("test", "accuracy", "", 0.5 + (seed + (variant == "x")) / 8)])
    page = Page(build(study.write()))
    drawn = {path.name for path in (study.folder / "report" / "figures").iterdir()}
    assert drawn == {f"01-far-{n}.{kind}" for n in ("accuracy-by-task-distance",) for kind in ("png", "svg")} | {
        "01-far-distance-2-effects.png",
        "01-far-distance-2-effects.svg",
    }
    assert page.text.count("Every effect in numbers") == 2


def test_a_study_that_trains_nothing_begins_with_what_its_claims_come_to(report: Path) -> None:
    found = verdicts(make_tables(read_study(report.parent)))[:2]
    assert told_by_claims(found) == ""
    assert told_by_claims(found, always=True).endswith(".")
    assert "of 2 claims supported" in told_by_claims(found, always=True)
    assert told_by_claims([], always=True) == ""


STUDY_PARTS = (
    "What the columns mean",
    "Claims",
    "Parts of the model",
    "Cost",
    "What did not complete",
    "Where the numbers come from",
)


def sections_of(page: Page) -> list[str]:
    found = page.source.split("<h2>")[1:]
    names = [html.unescape(text[: text.index("</h2>")]) for text in found]
    return [
        name for name in names if name not in ("What did not complete", "Where the numbers come from", *STUDY_PARTS)
    ]


def test_an_experiment_without_variants_has_its_values_and_nothing_to_compare(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {}, headline=["loss"])
    study.run("e", "base", 0, [("test", "loss", "", 0.125)])
    page = Page(build(study.write()))
    assert "no experiment has a variant beside its base" in page.text
    assert "0.125" in page.text


def test_a_plan_without_experiments_is_no_error(make: Maker) -> None:
    page = Page(build(make("void").write()))
    assert "No run is planned." in page.text


def test_without_its_base_an_experiment_shows_values_only(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}})
    for seed in study.seeds:
        study.run("e", "x", seed, [("test", "loss", "", 0.5 + seed / 8)])
    page = Page(build(study.write()))
    assert "The base, base, has no finished run" in page.text
    assert "Nothing to compare yet" in page.text
    assert "0.625" in page.text
    assert "What each change does" not in page.text


def test_one_seed_has_no_interval_and_twenty_variants_all_their_rows(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("heads", {f"h{n}": {"model.n_heads": n} for n in range(20, 0, -1)}, design="one-at-a-time")
    for i, variant in enumerate(study.plan["experiments"]["heads"]["variants"]):
        study.run("heads", variant, 0, [("test", "loss", "", 0.1 + i / 100)])
    page = Page(build(study.write()))
    assert "(one seed: no interval)" in page.text
    assert "One seed gives no interval" in page.text
    labels = [word for word in page.words if re.fullmatch(r"h\d+", word)]
    assert labels[:20] == [f"h{n}" for n in range(1, 21)]
    assert "interval of" not in page.text[: page.text.index("Variants")]


def test_secondary_scores_and_categories_have_tables_and_signatures_but_no_figures(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.decoder_mask": "none"}}, headline=["bleu"])
    signatures = {"bleu": "case:mixed|tok:13a", "bleu-lower": "case:lc|tok:13a", "chrf": "nc:6|nw:0"}
    for variant, seed in (("base", 0), ("base", 1), ("x", 0)):
        secondary = [("test", name, "", 31.5 + seed) for name in ("chrf", "exposure-gap", "bleu-lower")]
        by_name = [("test", "accuracy", "category=noun", 0.75), ("test", "accuracy", "category=verb", 0.5)]
        values = [("test", "bleu", "", 30.0 + seed), *secondary, *by_name]
        study.run("e", variant, seed, values, signatures=signatures)
    study.run("e", "x", 1, [("test", "bleu", "", 0.0)], status="diverged", reason="not finite", signatures={})
    page = Page(build(study.write()))
    assert page.count("figure") == 1
    assert "Variant BLEU, lower case chrF Exposure gap base (causal) 32.0 32.0 32.0 x 31.5 n = 1" in page.text
    assert "Only runs that completed have these values." in page.text
    assert "tens of points show that the target leaks" in page.text
    assert (
        "Accuracy by category Accuracy by category in e Category Test items base (causal) x noun – 0.750 0.750 n = 1 "
        "verb" in page.text
    )
    for name, signature in {"BLEU": "bleu", "BLEU, lower case": "bleu-lower", "chrF": "chrf"}.items():
        assert f"{name} {signatures[signature]}" in page.text


def test_a_study_of_measurements_says_what_it_measured(make: Maker) -> None:
    study = make()
    study.experiment("depth", {"bare": {"model.residual": "none"}}, headline=["loss"])
    for variant in ("base", "bare"):
        for seed in study.seeds:
            study.run("depth", variant, seed, [("probe", "gradient_norm", f"layer={k}", 0.1**k) for k in (1, 2)])
    page = Page(build(study.write()))
    assert "Measured: gradient norm by layer." in page.text
    assert "Nothing to compare" not in page.text
    markdown = (study.folder / "report" / "report.md").read_text("utf-8")
    assert "Measured: gradient norm by layer." in markdown


def test_each_experiment_shows_what_it_has(make: Maker) -> None:
    study = make()
    study.experiment("order", {"x": {"model.position": "none"}}, kind="tagging", headline=["accuracy"])
    study.experiment("probes", {"y": {"model.residual": "none"}}, headline=[])
    for seed in study.seeds:
        for variant in ("base", "x"):
            study.run("order", variant, seed, [("test", "accuracy", "", 0.9 - 0.1 * seed * (variant == "x"))])
        for variant in ("base", "y"):
            layers = [("probe", "gradient_norm", f"layer={k}", 0.1**k) for k in (1, 2)]
            study.run("probes", variant, seed, [*layers, ("probe", "rank", "", 4.0 + seed)])
    page = Page(build(study.write()))
    first, second = page.text.split("probes Task", 1)
    assert "In order, no variant has a worse accuracy" in first
    assert "BLEU" not in first
    assert "Gradient norm by layer" in second
    assert "Measurements" in second
    assert ("a", {"href": "#experiment-2"}) in page.tags


def test_a_folder_without_a_plan_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"plan\.json"):
        build(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_module_says_what_it_is_for() -> None:
    modules = [importlib.import_module(f"reports.{module.name}") for module in pkgutil.iter_modules(reports.__path__)]
    assert len(modules) > 10
    assert all(module.__doc__ for module in (reports, *modules))


def test_the_report_needs_no_torch() -> None:
    code = "import sys, reports.pages.page; print([m for m in ('torch', 'lightning', 'models') if m in sys.modules])"
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_findings_stand_before_any_number_of_files_that_cannot_be_read(make: Maker) -> None:
    study = make(seeds=(0, 1, 2, 3))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    for variant in ("base", "x"):
        for seed in study.seeds:
            folder = study.run("e", variant, seed, [("test", "loss", "", 1.0 + seed / 8 + (variant == "x"))])
            (folder / "metrics.csv").write_text("a,b\n", encoding="utf-8")
    folder = study.write()
    page = Page(build(folder))
    for text in (page.text, (folder / "report" / "report.md").read_text("utf-8")):
        assert text.count("the columns must be") == 3
        assert "And 5 other files cannot be read." in text


def test_files_of_others_in_the_folder_do_not_change_the_page(make: Maker) -> None:
    folder = make("plain").write()
    first = build(folder).read_bytes()
    (folder / "report" / "notes #1.md").touch()
    assert build(folder).read_bytes() == first
    assert b'href="report.md"' in first


def test_headings_go_down_one_step_at_a_time(report: Path) -> None:
    levels = [int(tag[1]) for tag, _ in Page(report / "index.html").tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))
    assert len(levels) > 10


def test_intervals_that_may_be_wrong_are_counted_with_the_level_of_each(make: Maker) -> None:
    """Two experiments of 2 intervals: 4 * 0.05 = 0.2, a limit where looks share the 5 % of an interval."""
    texts = []
    for looks in ([], [5, 10, 20]):
        study = make()
        for name, of_name in (("plain", []), ("other", looks)):
            study.experiment(name, {v: {"model.norm": v} for v in ("x", "y")}, headline=["loss"], looks=of_name)
            for variant, seed in itertools.product(("base", "x", "y"), study.seeds):
                study.run(name, variant, seed, [("test", "loss", "", ord(variant[0]) * (1 + seed) ** 2 / 100)])
        texts.append(Page(build(study.write())).text.replace("\N{NO-BREAK SPACE}", " "))
    assert "This page has 4 intervals of 95 %, on metrics that go together. About 0.2 of them" in texts[0]
    assert (
        "This page has 4 intervals of 95 % (98.3 % where seeds were added), on metrics that go together. "
        "At most about 0.2 of them"
    ) in texts[1]


def test_the_head_of_several_experiments_speaks_of_all_and_names_whose_figure_it_has(make: Maker) -> None:
    study = make(seeds=(0, 1))
    for name, harm in (("one", 0.5), ("two", 0.0)):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"], chance={})
        for seed in study.seeds:
            study.run(name, "base", seed, [("test", "loss", "", 1.0)])
            study.run(name, "x", seed, [("test", "loss", "", 1.0 + harm * (1 + seed / 97))])
    page = Page(build(study.write()))
    head, sections = page.text.split("Cost How to repeat it", 1)
    assert "In 2 experiments, 1 of 2 differences from the base in loss is clear, 1 worse" in head
    assert "What each change does in one" in head
    assert sections.count("Loss rises most with x") == 1
    assert "No variant differs from the base in loss." in sections


def test_the_head_says_that_a_base_has_not_learned(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy"], chance={"accuracy": 0.5})
    for seed in study.seeds:
        study.run("e", "base", seed, [("test", "accuracy", "", 0.5 + seed / 97)])
        study.run("e", "x", seed, [("test", "accuracy", "", 0.25)])
    page = Page(build(study.write()))
    said = "The base has not learned the task: accuracy 0.505, where guessing gives 0.500."
    assert page.text.count(said) == 2, "at the head and in the section"
    assert "falls most" not in page.text
