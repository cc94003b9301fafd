"""Captions of lines."""

import pandas as pd
import pytest

from reports.figures.captions import joined, lines_alt, lines_caption, listed


def frame(seeds: dict[str, int], values: tuple[float, float] = (1.0, 2.0)) -> pd.DataFrame:
    return pd.DataFrame(
        {"variant": v, "seed": s, "step": step, "value": value + i}
        for i, (v, n) in enumerate(seeds.items())
        for s in range(n)
        for step, value in zip((10, 20), values, strict=True)
    )


@pytest.mark.parametrize(
    ("seeds", "caption"),
    [
        ({"base": 1}, "One seed each: no bands. Black: base."),
        ({"base": 1, "x": 2}, "Thin lines: single seeds, where there are two. Black: base."),
        (
            {"x": 3},
            "Lines are means over seeds, bands their 95\N{NO-BREAK SPACE}% t intervals (no wider than the line where "
            "all seeds agree).",
        ),
    ],
)
def test_captions_say_what_bands_there_are(seeds: dict[str, int], caption: str) -> None:
    assert lines_caption("base", frame(seeds), "bleu") == caption


def test_captions_say_where_means_are_those_of_logarithms() -> None:
    assert "of the logarithms" in lines_caption("base", frame({"base": 2}, (0.01, 2.0)), "loss")
    assert "of the logarithms" not in lines_caption("base", frame({"base": 1}, (0.01, 2.0)), "loss")


def test_alternative_texts_name_the_extremes_at_the_end() -> None:
    data = frame({"base": 2, "_x": 1, "y": 1})
    assert lines_alt("Loss", data, "step") == (
        "Loss: 3 lines from 10 to 20; at the end base is lowest (2) and y highest (4)."
    )
    data.loc[data["variant"] == "y", "value"] = float("nan")
    assert lines_alt("Loss", data, "step").endswith("and _x highest (3).")
    assert lines_alt("Loss", frame({"base": 1}), "step") == "Loss: 1 line from 10 to 20."


def test_lists() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert joined(["A.", "", "B."]) == "A. B."
