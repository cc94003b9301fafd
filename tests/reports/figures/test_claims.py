"""Pictures of claims: all conditions, in words too, as files that follow the colours of the page."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.figures.claims import MOST_CONDITIONS, claim_caption, claim_figure, claim_pictures, once
from reports.figures.gallery import Gallery
from reports.figures.shown import Shown
from reports.figures.theme import COLOURS, INK, WIDTH, Style, theme
from reports.regions import Region
from reports.verdicts import Judged, Side, Verdict
from tests.reports.figures.drawn import check_texts
from tests.reports.figures.made_up import EVERY

LOOKS = {"e": {"base": Style(INK, "-", "o"), "none": Style(COLOURS[3], "-", "s")}}


@pytest.fixture(autouse=True)
def themed() -> Iterator[None]:
    with theme():
        yield


def judged(number: int = 0, **fields: Any) -> Judged:
    known: dict[str, Any] = {
        "text": f"Quantity {number}", "value": 0.2, "low": 0.1, "high": 0.3, "region": "at least 0.1",
        "outcome": "supported", "reason": "", "n": "2 of 2 seeds", "held_equal": "", "bounds": Region(low=0.1),
        "per_seed": {0: 0.1, 1: 0.3}, "compare": "difference", "metric": "loss",
        "sides": (
            Side(label="none", experiment="e", variant="none", values={0: 1.1, 1: 1.3}),
            Side(label="base", experiment="e", variant="base", values={0: 1.0, 1: 1.0}, references={"floor": 0.9}),
        ),
    }  # fmt: skip
    return Judged(**known | fields)


def verdict(*conditions: Judged, **fields: Any) -> Verdict:
    known: dict[str, Any] = {
        "id": "order-blind", "section": "", "statement": "Order <matters>", "outcome": "supported", "reason": "",
        "provisional": False, "counter_evidence": "", "kind": "speed", "experiment": "e", "task": "order",
    }  # fmt: skip
    return Verdict(conditions=conditions, **known | fields)


def test_conditions_are_stacked_and_fit_a_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ["difference", "exact", "not-run", "curve"]
    figure = claim_figure([EVERY[kind] for kind in kinds])
    texts = check_texts(figure, monkeypatch, least=30)
    assert {EVERY[kind].text for kind in kinds} <= set(texts)
    assert figure.get_figwidth() == WIDTH
    assert figure.get_figheight() == pytest.approx(sum(claim_figure([EVERY[k]]).get_figheight() for k in kinds))
    assert figure.get_figheight() < 10


def test_many_conditions_are_spread_over_pictures(tmp_path: Path) -> None:
    gallery = Gallery(tmp_path)
    found = claim_pictures(verdict(*(judged(i) for i in range(MOST_CONDITIONS + 1))), LOOKS, gallery)
    assert [picture.name for picture in found] == ["claim-order-blind-part-1", "claim-order-blind-part-2"]
    assert [picture.svg.count("Quantity") for picture in found] == [2 * MOST_CONDITIONS, 2]  # drawn, and in words
    (one,) = claim_pictures(verdict(judged()), LOOKS, gallery)
    assert (one.name, one.kind, one.width) == ("claim-order-blind", "claim", round(WIDTH * 96))
    assert (tmp_path / "claim-order-blind.png").is_file()


def test_a_picture_says_in_words_what_is_to_be_seen(tmp_path: Path) -> None:
    (picture,) = claim_pictures(verdict(judged()), LOOKS, Gallery(tmp_path), "250")
    assert picture.alt == "Order <matters>. Quantity 0: supported, 0.200 (0.100 to 0.300), wanted at least 0.1."
    assert 'aria-label="Order &lt;matters&gt;' in picture.svg
    assert picture.caption == ("2 of 2 seeds. Speed: holds within 250 steps, and a longer run may undo it. Task order.")


@pytest.mark.parametrize(
    ("kind", "text"),
    [("exact", "Exact: an identity"), ("structural", "Structural: should hold"), ("hardware", "Hardware: seconds")],
)
def test_a_caption_tells_the_kind(kind: str, text: str) -> None:
    assert text in claim_caption(verdict(judged(n="3 of 3 seeds"), judged(n="5 of 5 seeds"), kind=kind))
    assert claim_caption(verdict(judged(), judged(n="5 of 5 seeds"))).startswith("2 of 2 seeds and 5 of 5 seeds.")


def test_without_a_value_there_is_no_picture(tmp_path: Path) -> None:
    nothing = judged(value=None, low=None, high=None, outcome="not run", per_seed={})
    assert claim_pictures(verdict(nothing, nothing), LOOKS, Gallery(tmp_path)) == []
    (picture,) = claim_pictures(verdict(nothing, judged()), LOOKS, Gallery(tmp_path))
    assert "– not run" in picture.svg
    assert "✓ supported" in picture.svg


def test_every_colour_follows_the_page(tmp_path: Path) -> None:
    (picture,) = claim_pictures(verdict(judged()), LOOKS, Gallery(tmp_path))
    assert "var(--fig-3," in picture.svg
    plain = re.findall(r": (#[0-9a-f]{6})", picture.svg)
    assert plain == []


def test_what_was_measured_is_drawn_once_in_a_picture(tmp_path: Path) -> None:
    other = judged(2, sides=tuple(reversed(judged().sides)))
    (picture,) = claim_pictures(verdict(judged(0), judged(1), other), LOOKS, Gallery(tmp_path))
    assert picture.svg.count(">Loss (nats per token): as above, condition 1<") == 1
    assert picture.svg.count("✓ supported: 0.200") == 3, "each quantity is drawn"
    assert picture.svg.count(">base<") == 2
    single = judged(0, sides=judged().sides[:1], per_seed={0: 1.1, 1: 1.3})
    (picture,) = claim_pictures(verdict(single, single), LOOKS, Gallery(tmp_path))
    assert "as above" not in picture.svg, "there the quantity is what was measured"


def test_a_curve_is_drawn_once_whatever_is_made_of_it() -> None:
    curve = EVERY["curve"]
    other = replace(curve, per_seed=(7.0, 8.0, 9.0), sides=tuple(replace(s, values=(7.0,)) for s in curve.sides))
    found = once([curve, other, replace(other, logs=(True, True))], {}, "one")
    assert [part.measured_in for part in found] == [0, 1, 0]
    assert claim_figure(found[:2]).get_figheight() < claim_figure([curve, other]).get_figheight() - 1


def test_measurements_of_another_picture_are_drawn_again(tmp_path: Path) -> None:
    found = claim_pictures(verdict(*(judged(i) for i in range(MOST_CONDITIONS + 2))), LOOKS, Gallery(tmp_path))
    assert [picture.svg.count("as above") for picture in found] == [MOST_CONDITIONS - 1, 1]
    assert f">Loss (nats per token): as above, condition {MOST_CONDITIONS + 1}<" in found[1].svg


def test_a_condition_that_another_claim_has_too_is_a_line_that_says_where(tmp_path: Path) -> None:
    gallery, drawn = Gallery(tmp_path), dict[Shown, str]()
    other = judged(1, value=0.4, low=0.2, high=0.6, per_seed={0: 0.3, 1: 0.5})
    first, *_ = claim_pictures(verdict(judged(), id="one"), LOOKS, gallery, drawn=drawn)
    second, *_ = claim_pictures(verdict(other, judged(text="As before"), id="two"), LOOKS, gallery, drawn=drawn)
    assert "drawn with" not in first.svg
    assert second.svg.count(">✓ supported: 0.200 (0.100 to 0.300), drawn with claim one<") == 1
    assert second.svg.count("agrees with the claim") == 1
    assert ">As before<" in second.svg
    assert set(drawn.values()) == {"one", "two"}
