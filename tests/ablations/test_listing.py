"""The lists of what there is."""

import re
from pathlib import Path

import pytest
import yaml

from ablations import listing
from ablations.listing import SHIPPED, STUDIES, show, studies


def test_every_shipped_study_has_its_place_quick_first_and_real_text_last() -> None:
    assert set(STUDIES) == {path.stem for path in SHIPPED.glob("*.yaml")}
    assert [entry["name"] for entry in studies()] == list(STUDIES)
    assert next(iter(STUDIES)) == "quick"
    needs = [bool(of.data) for of in STUDIES.values()]
    assert needs == sorted(needs)
    assert any(needs)


def test_a_study_that_nobody_has_placed_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*STUDIES, "a-new-one"):
        text = yaml.safe_dump({"name": name, "description": f"`{name}`, 3 seeds"})
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(listing, "SHIPPED", tmp_path)
    *known, new = studies()
    assert [entry["name"] for entry in known] == list(STUDIES)
    assert new == {"name": "a-new-one", "runs": None, "minutes": None, "data": "", "description": "a-new-one, 3 seeds"}
    show("studies", [new])


@pytest.mark.parametrize(("minutes", "told"), [(1, "1 min"), (89, "89 min"), (90, "1.5 h"), (120, "2 h")])
def test_a_study_is_shown_with_runs_time_and_data(minutes: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"name": "one", "runs": 1430, "minutes": minutes, "data": "some text", "description": "It is so."}
    show("studies", [entry])
    head, _, row, *notes = capsys.readouterr().out.splitlines()
    assert head.split() == ["study", "runs", "takes", "needs", "what"]
    assert re.split("  +", row) == ["one", "1,430", told, "some text", "It is so."]
    assert notes[0].startswith("Takes: about as long on two cores")
