"""The page in a real browser: nothing is asked for, nothing fails, tables can be worked, and all sizes can be read."""

import gzip
import io
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from reports.pages.page import build
from tests.reports.conftest import MadeUpStudy

sync_api = pytest.importorskip("playwright.sync_api")

Maker = Callable[..., Any]
CHROMIUM = shutil.which("chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-quic"),
]
HOSTILE = ["<img src=x onerror=alert(1)>", "a<b & c", "_x", "None", "a|b", "50%", "x_1$", "long " + "name" * 40]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser; skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip("no chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


class Visit:
    """One page, with all that went wrong on it."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def _dialog(self, dialog: Any) -> None:
        self.messages.append(dialog.message)
        dialog.dismiss()

    def column(self, place: int) -> list[str]:
        """Texts of one column of the first table of variants that can be seen, first line of each."""
        cells = self.page.locator(f"table.variants >> nth=0 >> tbody tr:visible > :nth-child({place})")
        return [text.strip().split("\n")[0].strip() for text in cells.all_inner_texts()]

    def style(self, selector: str, name: str) -> str:
        """A computed property of the first element."""
        found = self.page.locator(selector).first.evaluate(f"e => getComputedStyle(e).getPropertyValue('{name}')")
        return str(found)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Open a page; closed after the test."""
    opened: list[Visit] = []

    def open_page(path: Path, **options: Any) -> Visit:
        opened.append(Visit(browser, path, **options))
        return opened[-1]

    yield open_page
    for one in opened:
        one.context.close()


@pytest.fixture(scope="module")
def page(quick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page of the quick study, in a copy of its folder."""
    folder = tmp_path_factory.mktemp("browser") / "quick"
    shutil.copytree(quick, folder)
    return build(folder)


def test_nothing_fails_and_nothing_is_asked_for(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    assert seen.messages == []
    assert seen.requests == [page.as_uri()]


def test_no_other_script_may_run(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    seen.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img id=i src=x onerror=alert(1)>')")
    seen.page.locator("#i").evaluate("e => new Promise(r => setTimeout(r, 50))")
    assert any("Content Security Policy" in message for message in seen.messages)
    assert "1" not in seen.messages


def test_every_image_has_a_size_and_a_text(page: Path, visit: Callable[..., Visit]) -> None:
    images = visit(page).page.locator("svg[role=img], img")
    assert images.count() >= 4
    for image in images.all():
        box = image.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 50
        assert len(image.get_attribute("aria-label") or image.get_attribute("alt") or "") > 20


def test_tables_sort_by_a_click_and_back(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    header = seen.page.get_by_role("columnheader", name="BLEU").first
    before = seen.column(3)
    numbers = [float(text) for text in before]
    assert header.get_attribute("aria-sort") == "none"
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in seen.column(3)] == sorted(numbers)
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert [float(text) for text in seen.column(3)] == sorted(numbers, reverse=True)
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "none"
    assert seen.column(3) == before
    assert numbers not in (sorted(numbers), sorted(numbers, reverse=True))


def test_tables_sort_by_the_keyboard_and_one_column_at_a_time(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    header = seen.page.get_by_role("columnheader", name="Variant").first
    header.get_by_role("button").focus()
    seen.page.keyboard.press("Enter")
    names = seen.column(1)
    assert names == sorted(names)
    assert names[0] == "base"
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Space")
    assert [h.get_attribute("aria-sort") for h in seen.page.locator("table.variants th[scope=col]").all()[:2]] == [
        "none",
        "ascending",
    ]
    assert seen.style(".variants thead button >> nth=1", "outline-style") == "solid"


def test_rows_are_filtered_by_all_words_with_a_live_count(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    field = seen.page.get_by_role("searchbox", name="Filter: Variants of german")
    count = seen.page.locator("output").first
    assert count.inner_text() == "9 rows"
    field.focus()
    seen.page.keyboard.type("MODEL none norm")
    assert seen.column(1) == ["no-norm"]
    assert count.inner_text() == "1 of 9 rows"
    seen.page.get_by_role("columnheader", name="Loss").first.get_by_role("button").click()
    assert seen.column(1) == ["no-norm"]
    field.fill("")
    assert len(seen.column(1)) == 9
    field.fill("<b>")
    assert seen.column(1) == []
    assert count.inner_text() == "0 of 9 rows"
    field.fill("run.json")  # a link of every row says nothing of the row
    assert seen.column(1) == []
    shown = next(text for text in seen.page.locator("table.variants td small").all_inner_texts() if "−" in text)
    field.fill(shown.replace("−", "-").replace("\N{NO-BREAK SPACE}", " "))  # as one types it
    assert len(seen.column(1)) >= 1
    assert seen.messages == []


def test_what_has_no_value_is_last_either_way_and_equals_keep_their_order(
    make: Maker, visit: Callable[..., Visit]
) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {name: {"model.norm": name} for name in "dcba"}, design="ladder", headline=["m", "bleu"])
    values = {"base": -2.0, "d": 15e5, "c": None, "b": -2.0, "a": 1e-7}
    for variant, value in values.items():
        known = [] if value is None else [("test", "m", "", value)]
        study.run("e", variant, 0, [*known, ("test", "bleu", "", 30.0)], cost={"parameters": 2000 * len(variant)})
    seen = visit(build(study.write()))
    button = seen.page.get_by_role("columnheader", name="M", exact=True).first.get_by_role("button")
    assert seen.column(2) == ["−2", "1,500,000", "–", "−2", "1e−07"]
    button.click()
    assert seen.column(1) == ["base", "b", "a", "d", "c"]
    button.click()
    assert seen.column(1) == ["d", "a", "base", "b", "c"]


def test_a_watched_page_loads_itself_anew_but_not_under_the_hands_of_a_reader(
    make: Maker, visit: Callable[..., Visit]
) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    for variant in ("base", "x"):
        study.run("e", variant, 0, [("test", "loss", "", 0.5)])
    seen = visit(build(study.write(), refresh=1))
    with seen.page.expect_navigation(timeout=5000):
        pass
    seen.page.locator("summary", has_text="Every effect in numbers").click()
    loaded = len(seen.requests)
    seen.page.wait_for_timeout(1500)
    assert len(seen.requests) == loaded
    assert seen.page.get_by_role("button", name="Unpaired (Welch)").is_visible()
    plain = visit(study.folder / "report" / "index.html", java_script_enabled=False)
    plain.page.wait_for_timeout(1500)
    assert len(plain.requests) > 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(page: Path, visit: Callable[..., Visit], scheme: str) -> None:
    seen = visit(page, viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True)
    seen.page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
    regions = seen.page.get_by_role("region").all()
    wide = [region for region in regions if region.evaluate("e => e.scrollWidth > e.clientWidth")]
    assert wide
    for region in wide:
        region.focus()
        assert region.evaluate("e => e === document.activeElement")


def test_dark_changes_the_page_and_its_figures(page: Path, visit: Callable[..., Visit]) -> None:
    light, dark = (visit(page, color_scheme=scheme) for scheme in ("light", "dark"))
    for selector, name in (("html", "background-color"), ("html", "color"), (".chip path", "stroke")):
        assert light.style(selector, name) != dark.style(selector, name), selector
    inks = [seen.style("figure svg text >> nth=0", "fill") for seen in (light, dark)]
    assert inks[0] != inks[1]
    assert dark.style("html", "background-color") == "rgb(22, 24, 28)"


def test_paper_is_light_and_has_everything_open(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page, color_scheme="dark")
    hidden = seen.page.locator("th", has_text="Unpaired (Welch)")
    assert not hidden.is_visible()
    seen.page.emulate_media(media="print", color_scheme="dark")
    box = hidden.bounding_box()
    assert box is not None
    assert box["height"] > 5
    assert seen.style("html", "background-color") == "rgb(255, 255, 255)"
    assert not seen.page.locator(".tools").first.is_visible()
    assert seen.style(".variants thead button", "display") == "contents"  # or the header is on the first sheet alone


def test_a_link_opens_the_settings_of_a_variant(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    for name, shown in {
        "no-scale": seen.page.get_by_role("cell", name="model.scale", exact=True, include_hidden=True),
        "base": seen.page.locator("pre", has_text="model.scale: sqrt"),
    }.items():
        assert not shown.is_visible()
        seen.page.get_by_role("link", name=f"settings of {name}", exact=True).click()
        shown.wait_for(state="visible", timeout=2000)


def test_the_keyboard_reaches_the_results_at_once(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    seen.page.keyboard.press("Tab")
    skip = seen.page.get_by_role("link", name="Skip to the results")
    assert skip.evaluate("e => e === document.activeElement")
    assert (skip.bounding_box() or {"width": 0})["width"] > 50
    assert seen.page.get_by_role("main").count() == seen.page.get_by_role("navigation").count() == 1
    levels = seen.page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1


def test_hostile_names_are_text(make: Maker, visit: Callable[..., Visit]) -> None:
    study = make("<script>alert(0)</script>", seeds=(0, 1))
    study.experiment("e <i>", {name: {"model.norm": name} for name in HOSTILE}, headline=["loss", "bleu"])
    for place, variant in enumerate(["base", *HOSTILE]):
        for seed in study.seeds:
            values = [("test", "loss", "", 1.0 + place / 8 + seed / 16), ("test", "bleu", "", 30.0 - place - seed)]
            folder = study.run("e <i>", variant, seed, values, notes=["warning: <b>note</b>"])
            outputs = folder / "outputs"
            outputs.mkdir()
            lines = f"set,source,reference,hypothesis,forced,nats,tokens\n,a,b,<u>{place}</u> b,b,1.0,2\n"
            (outputs / "translations.csv.gz").write_bytes(gzip.compress(lines.encode()))
    seen = visit(build(study.write()))
    assert sorted(seen.column(1)) == sorted(["base", *HOSTILE])
    assert seen.page.locator("h1").inner_text() == "<script>alert(0)</script>"
    assert seen.page.locator("h2", has_text="e <i>").count() == 1
    assert seen.page.get_by_text("warning: <b>note</b>").count() == 1
    shown = seen.page.locator("figure svg text").all_text_contents()
    assert {"a<b & c", "_x", "None", "a|b", "50%", "x_1$"} <= {text.strip() for text in shown}
    assert seen.page.locator("script").count() == 1
    assert seen.page.locator("main img, main i, main u").count() == 0
    assert (seen.messages, len(seen.requests)) == ([], 1)
    seen.page.set_viewport_size({"width": 390, "height": 844})
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 390


def test_translations_mark_what_differs_without_colour(make: Maker, visit: Callable[..., Visit]) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    for variant, words in {"base": "der alte Hund schläft", "x": "der Hund bellt"}.items():
        folder = study.run("e", variant, 0, [("test", "loss", "", 1.0)])
        (folder / "outputs").mkdir()
        lines = f"set,source,reference,hypothesis,forced,nats,tokens\n,the dog,der Hund,{words},{words},1.0,2\n"
        (folder / "outputs" / "translations.csv.gz").write_bytes(gzip.compress(lines.encode()))
    seen = visit(build(study.write()))
    summary = seen.page.get_by_text(re.compile("translated by the base"))
    summary.click()
    marks = seen.page.locator("mark")
    assert marks.first.is_visible()
    assert "bellt" in marks.all_inner_texts()
    assert "der" not in marks.all_inner_texts()
    assert "underline" in seen.style("mark", "text-decoration-line")


def test_a_page_without_script_is_whole(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page, java_script_enabled=False)
    assert len(seen.page.locator("table.variants tbody tr").all()) == 9
    assert seen.page.locator("input, button").count() == 0


def test_a_row_of_the_claims_leads_to_its_article_though_it_is_closed(page: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(page)
    seen.page.evaluate("document.querySelectorAll('details.claim').forEach((part) => (part.open = false))")
    link = seen.page.locator("table.claims th a").last
    target = seen.page.locator(str(link.get_attribute("href")))
    assert not target.is_visible()
    link.click()
    target.locator("p").first.wait_for(state="visible")
    assert seen.messages == []


def test_a_watched_page_is_not_kept_by_the_articles_that_stand_open(
    quick: Path, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    shutil.copytree(quick, tmp_path / "quick")
    seen = visit(build(tmp_path / "quick", refresh=1))
    assert seen.page.locator("details.claim[open]").count() > 0
    seen.page.wait_for_timeout(2500)
    assert len(seen.requests) > 1


@pytest.fixture(scope="module")
def folds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page of a study of many experiments."""
    study = MadeUpStudy(tmp_path_factory.mktemp("folds") / "many", "many", (0, 1))
    for number in range(6):
        study.experiment(f"e{number}", {"x": {"model.norm": "none"}}, headline=["loss"])
        for place, variant in enumerate(("base", "x")):
            for seed in study.seeds:
                study.run(f"e{number}", variant, seed, [("test", "loss", "", 1.0 + place + seed / 9)])
    return build(study.write())


@pytest.mark.parametrize("with_script", [True, False])
def test_a_link_opens_the_section_it_leads_to(folds: Path, visit: Callable[..., Visit], with_script: bool) -> None:
    seen = visit(folds, java_script_enabled=with_script)
    target = seen.page.locator("#experiment-4")
    assert not target.is_visible()
    link = seen.page.locator('nav a[href="#experiment-4"]')
    link.click()
    target.wait_for(state="visible", timeout=2000)
    box = target.bounding_box()
    assert box is not None
    assert 0 < box["y"] < 300, "its name is not above the window"
    if with_script:
        seen.page.locator("summary", has_text="e3").click()
        seen.page.locator("summary", has_text="e4").click()
        assert not target.is_visible()
        link.click()
        target.wait_for(state="visible", timeout=2000)
    assert seen.messages == []


def test_an_address_with_a_place_opens_it(folds: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(folds)
    seen.page.goto("about:blank")
    seen.page.goto(f"{folds.as_uri()}#columns")
    assert seen.page.locator("#columns dt").first.is_visible()


def test_a_button_opens_all_sections_and_closes_them(folds: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(folds)
    folded = seen.page.locator("details.fold")
    n = folded.count()
    assert n == 6, "five experiments and the columns"
    button = seen.page.get_by_role("button", name="Open all sections")
    button.click()
    assert seen.page.locator("details.fold[open]").count() == n
    seen.page.get_by_role("button", name="Close all sections").click()
    assert seen.page.locator("details.fold[open]").count() == 0


def test_what_is_closed_is_printed_and_closed_again(folds: Path, visit: Callable[..., Visit]) -> None:
    seen = visit(folds)
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert seen.page.locator("details:not([open])").count() == 0
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert seen.page.locator("details.fold[open]").count() == 0
    seen.page.emulate_media(media="print")
    assert (seen.page.locator("#experiment-5 h3").first.bounding_box() or {"height": 0})["height"] > 5
    assert seen.style(".scroll", "background-image") == "none"
    assert not seen.page.get_by_role("button", name="Open all sections").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_shadow_stands_at_the_side_where_there_is_more(page: Path, visit: Callable[..., Visit], scheme: str) -> None:
    seen = visit(page, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    box = seen.page.locator("table.variants").first.locator("..")
    box.scroll_into_view_if_needed()
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")

    def ends() -> list[tuple[int, ...]]:
        """The colours that are most of the left and of the right end of the box."""
        pixels = np.asarray(Image.open(io.BytesIO(box.screenshot())).convert("RGB"))
        middle = pixels[len(pixels) // 2 - 60 : len(pixels) // 2 + 60]
        counted = [Counter(map(tuple, middle[:, x].tolist())) for x in (0, -1)]
        return [count.most_common(1)[0][0] for count in counted]

    before = ends()
    assert before[0] != before[1]
    box.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
    after = ends()
    assert max(abs(a - b) for a, b in zip(after[0], before[1], strict=True)) < 4, "now at the other side"
    assert after[1] == before[0]
    seen.page.set_viewport_size({"width": 1800, "height": 844})
    assert len(set(ends())) == 1, "where all is shown there is none"
