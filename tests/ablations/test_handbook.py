"""The pages of the docs about each component."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ablations import handbook as pages
from ablations.components import COMPONENTS
from ablations.handbook import Evidence, Page, handbook, index_text, main, page_text, texts
from ablations.listing import studies
from ablations.varied import Arm, read_arms
from reports.entries import registered
from reports.pages.recorded import read_records
from tests.recorded import condition, effect, fair, write_record

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "components"
RESULTS = ROOT / "docs" / "results"
NO_BREAK = "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    return texts(RESULTS, COMMITTED)


def test_the_committed_pages_are_what_is_made(generated: dict[Path, str]) -> None:
    """Renew them with: python -m ablations.handbook"""
    committed = {path: path.read_text(encoding="utf-8") for path in COMMITTED.glob("*.md")}
    assert {path.name for path in generated} == {path.name for path in committed}
    assert [path.name for path, text in generated.items() if committed[path] != text] == []


def test_links_of_the_pages_lead_somewhere(generated: dict[Path, str]) -> None:
    for path, text in generated.items():
        targets = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
        assert targets
        for target in targets:
            assert target.startswith("http") or (path.parent / target).exists(), f"{path.name}: {target}"


def test_commands_of_the_pages_can_be_typed(generated: dict[Path, str]) -> None:
    from ablations.cli import _parser

    known = {study["name"] for study in studies()}
    commands = {command for text in generated.values() for command in re.findall(r"`(ablations [^`]+)`", text)}
    for command in commands - {"ablations run STUDY"}:
        verb, *words = shlex.split(command)[1:]
        if verb != "train":  # tried in test_components
            _parser().parse_args([verb, *words])
        assert verb != "run" or words[0] in known


def test_every_component_has_one_page() -> None:
    names = [name for page in handbook() for name in page.names]
    assert sorted(names) == sorted(component.name for component in COMPONENTS)
    assert all(page.components for page in handbook())


CLAIM = {
    "id": "order",
    "kind": "speed",
    "statement": "It is | so.",
    "studies": ["lecture", "positions"],
    "changes": ["model.position"],
    "conditions": [{"experiment": "next"}, {"experiment": "reverse"}],
    "counter_evidence": "It is not so elsewhere.",
}
PAGE = Page(slug="position", title="Position", names=("position",))
MASKS = Page(slug="masks", title="Masks", names=("decoder_mask", "encoder_mask"))


def evidence(root: Path, claims: list[Mapping[str, Any]] | None = None, arms: list[Arm] | None = None) -> Evidence:
    return Evidence(
        claims=[CLAIM] if claims is None else claims, records=read_records(root), arms=arms or [], where="r"
    )


def test_a_claim_has_its_verdict_values_and_record(tmp_path: Path) -> None:
    claims = [condition("order", 1, "supported"), condition("order", 2, "supported", condition_value=0.125)]
    write_record(tmp_path, "lecture", claims=claims)
    text = page_text(PAGE, evidence(tmp_path))
    assert "1 of the register ([reports/claims](../../reports/claims)): 1 supported." in text
    assert f"### `order`: ✓{NO_BREAK}supported\n\nIt is \\| so. (speed; [`lecture`](r/lecture/))" in text
    assert "| ✓ | Accuracy | `next` | 0.500 (0.250 to 0.750) | at least 0.2 | 3 of 3 seeds |" in text
    assert "| ✓ | Accuracy | `reverse` | 0.125 (0.250 to 0.750) | at least 0.2 | 3 of 3 seeds |" in text
    assert "- `order`: It is not so elsewhere." in text


def test_a_claim_that_no_record_tests_has_its_command(tmp_path: Path) -> None:
    text = page_text(PAGE, evidence(tmp_path))
    assert "1 not run." in text
    assert "Not run for the record yet: `ablations run lecture`." in text
    assert "No claim of the register changes them." in page_text(MASKS, evidence(tmp_path))


def test_the_same_numbers_are_told_once_and_others_beside_them(tmp_path: Path) -> None:
    one, other = condition("order", 1, "supported"), condition("order", 1, "inconclusive", reason="Too few seeds")
    write_record(tmp_path, "lecture", claims=[one])
    write_record(tmp_path, "extrapolation", claims=[one])
    assert page_text(PAGE, evidence(tmp_path)).count("### `order`") == 1
    write_record(tmp_path, "lecture-real", claims=[other])
    text = page_text(PAGE, evidence(tmp_path))
    assert text.count("### `order`") == 2
    assert "Too few seeds" in text
    assert "1 supported." in text  # that of the first record


def test_effects_are_those_of_variants_that_change_the_component(tmp_path: Path) -> None:
    effects = [
        effect("multi30k", "no positions", "loss", 0.5, completed=2, diverged=1),
        effect("multi30k", "no mask", "loss", -0.75),
        effect("multi30k", "one head", "loss", 0.125),
    ]
    write_record(tmp_path, "multi30k", effects=effects)
    arms = [*read_arms("multi30k"), *read_arms("extrapolation")]
    text = page_text(PAGE, evidence(tmp_path, [], arms))
    assert "| no positions | +0.500 (0.000 to +1.000) | 3 of 3 seeds, 1 diverged |" in text
    assert "one head" not in text
    assert "[effects.csv](r/multi30k/effects.csv)" in text
    assert "`extrapolation` has not been run for the record yet: `ablations run extrapolation`." in text
    masks = page_text(MASKS, evidence(tmp_path, [], arms))
    assert "- no mask sees the words that it is to say: its better loss is no gain." in masks
    assert "extrapolation" not in masks


def test_effects_of_a_fair_comparison_stand_side_by_side(tmp_path: Path) -> None:
    rows = [fair("no positions", "bleu", "same", "worse"), fair("no positions", "bleu", "tuned", "worse")]
    effects = [effect("german", "no positions", "bleu", -9.0), effect("german (tuned)", "no positions", "bleu", -8.0)]
    write_record(tmp_path, "components", fairness=rows, effects=effects)
    text = page_text(PAGE, evidence(tmp_path, [], read_arms("components")))
    assert "| no positions | BLEU | −9.0 (−9.5 to −8.5) | −8.0 (−8.5 to −7.5) | 3 seeds | worse |" in text
    assert "[fairness.csv](r/components/fairness.csv)" in text


def test_of_the_lecture_the_translators_alone_are_shown(tmp_path: Path) -> None:
    effects = [effect("german", "no positions", "bleu", -9.0), effect("next", "position=none", "loss", 2.0)]
    write_record(tmp_path, "lecture", effects=effects)
    text = page_text(PAGE, evidence(tmp_path, [], read_arms("lecture")))
    assert "| no positions | −9.0" in text
    assert "position=none" not in text
    masks = page_text(MASKS, evidence(tmp_path, [], read_arms("lecture")))
    assert "The record has no effect of these variants on loss, BLEU or accuracy." in masks


def test_what_no_study_changes_is_said(tmp_path: Path) -> None:
    text = page_text(PAGE, evidence(tmp_path, []))
    assert "No shipped study does." in text
    assert "No study of record changes it alone." in text


def test_studies_are_listed_with_the_values_that_they_vary(tmp_path: Path) -> None:
    text = page_text(PAGE, evidence(tmp_path, [], [*read_arms("positions"), *read_arms("lecture")]))
    assert (
        "| `positions` | `next`, `reverse` | `position` | sinusoidal, none, learned, rotary, alibi, relative |" in text
    )
    assert "| `lecture` |" not in text


def test_the_index_links_each_component_and_counts_its_claims(tmp_path: Path) -> None:
    write_record(tmp_path, "lecture", claims=[condition("order", 1, "not supported")])
    text = index_text(handbook(), evidence(tmp_path))
    assert re.search(r"^\| \[`position`\]\(position.md\) \| `sinusoidal`, .* \| 1 not supported \|$", text, re.M)
    assert (
        "| [`d_head`](heads.md) | any whole number, or null: chosen to suit the rest; default `null` | none |" in text
    )
    assert len(re.findall(r"^\| \[`", text, re.M)) == len(COMPONENTS)


def test_conditions_of_the_register_are_counted_as_the_records_count_them() -> None:
    for claim in registered():
        assert all(part["experiment"] for part in claim["conditions"])


def test_the_command_writes_checks_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "studies", lambda: [{"name": "quick"}])
    command = ["--results", str(tmp_path / "results"), "--output", str(tmp_path / "deep" / "pages")]
    assert main(command) == 0
    assert main(["--check", *command]) == 0
    stale = tmp_path / "deep" / "pages" / "norm.md"
    stale.write_text("old", encoding="utf-8")
    capsys.readouterr()
    assert main(["--check", *command]) == 1
    assert capsys.readouterr().out.startswith(
        f"{stale}: differs from the results; renew it with: python -m ablations.h"
    )
    assert stale.read_text(encoding="utf-8") == "old"
    (write_record(tmp_path / "results", "lecture") / "record.json").write_text("{}", encoding="utf-8")
    assert main(command) == 2
    assert capsys.readouterr().err.count("\n") == 1
