"""The table of what matters in a factorial design."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from reports import importance as measures
from reports.experiment import Experiment
from reports.pages.importance import importance_caption, importance_grid
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]

LEVELS = {"model.norm": ("layer", "rms"), "model.n_heads": (4, 1)}


def experiment(folder: Path) -> Experiment:
    return Experiment(make_tables(read_study(folder)), "e")


def two_by_two(
    make: Maker, *name: str, design: str = "factorial", skip: str = "", spread: float = 0.01, looks: Sequence[int] = ()
) -> Path:
    """Losses 1, 2, 4 and 9: shares of norm, heads and both are 4 : 6 : 2 squared, that is 16, 36 and 4 of 56."""
    study = make(*name)
    cells = [c for c in product(*LEVELS.values()) if c != ("layer", 4)]
    changes = {f"{norm},{heads}": {"model.norm": norm, "model.n_heads": heads} for norm, heads in cells}
    study.experiment("e", changes, design=design, headline=["loss", "rank"], looks=list(looks))
    losses = {"base": 1.0, "rms,4": 3.0, "layer,1": 5.0, "rms,1": 11.0}
    for variant, loss in losses.items():
        for seed in study.seeds:
            if variant != skip:
                noise = spread * (seed + len(variant) * seed % 3)
                study.run("e", variant, seed, [("test", "loss", "", loss + noise), ("test", "rank", "", loss)])
    return Path(study.write())


def test_every_factor_and_pair_has_its_share(make: Maker) -> None:
    pytest.importorskip("sklearn")
    grid = importance_grid(experiment(two_by_two(make, spread=0.0)))
    assert grid is not None
    assert grid.columns == ["Metric", "Settings", "Share of the differences", "F", "p", "fANOVA", "PED-ANOVA"]
    texts = [[cell.text for cell in row] for row in grid.rows]
    assert [row[:5] for row in texts[:3]] == [  # the seeds leave no error, so that there is no test
        ["Loss", "norm", "29\N{NO-BREAK SPACE}%", "–", "–"],
        ["Loss", "n_heads", "64\N{NO-BREAK SPACE}%", "–", "–"],
        ["Loss", "norm × n_heads", "7\N{NO-BREAK SPACE}%", "–", "–"],
    ]
    assert texts[2][5:] == ["–", "–"]
    assert all(text.endswith("%") for row in texts[:2] for text in row[5:])
    assert [row[1] for row in texts[3:]] == ["norm", "n_heads", "norm × n_heads"]
    assert {row[-1] for row in texts[3:]} == {"–"}  # of a metric without a better side
    assert "random forest" in importance_caption(grid)


def test_noise_gives_tests(make: Maker) -> None:
    grid = importance_grid(experiment(two_by_two(make)))
    assert grid is not None
    f, p = (grid.rows[0][grid.columns.index(name)] for name in ("F", "p"))
    assert p.text == "< 0.001"
    assert (f.value or 0.0) > 1000


def test_without_the_forest_its_column_is_gone_and_the_caption_says_how_to_get_it(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "find_spec", lambda name: None)
    grid = importance_grid(experiment(two_by_two(make)))
    assert grid is not None
    assert "fANOVA" not in grid.columns
    assert {len(row) for row in grid.rows} == {len(grid.columns)}
    assert "pip install -e '.[importance]'" in importance_caption(grid)


def test_other_designs_have_none(make: Maker) -> None:
    assert importance_grid(experiment(two_by_two(make, design="variants"))) is None


def test_a_combination_without_a_run_leaves_none(make: Maker) -> None:
    assert importance_grid(experiment(two_by_two(make, skip="rms,1"))) is None


def test_where_seeds_were_added_p_values_are_those_of_a_look(make: Maker) -> None:
    found = {}
    for name, looks in (("plain", []), ("looked", [5, 10, 20])):
        grid = importance_grid(experiment(two_by_two(make, name, spread=1.0, looks=looks)))
        assert grid is not None
        found[name] = [float(row[grid.columns.index("p")].value or 0.0) for row in grid.rows[:3]]
    assert 0 < min(found["plain"]) < 1 / 3
    assert found["looked"] == pytest.approx([min(1.0, 3 * p) for p in found["plain"]])
