"""Where figures go."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from reports.figures.gallery import Gallery, slug
from reports.figures.theme import theme


def test_pictures_say_what_they_are_and_files_lie_beside_the_page(tmp_path: Path) -> None:
    with theme():
        gallery = Gallery(tmp_path / "figures")
        picture = gallery.hang(Figure(figsize=(5, 2)), "name", "Title", "Caption.", alt="a < b", kind="curve")
    assert (picture.title, picture.caption, picture.alt, picture.kind) == ("Title", "Caption.", "a < b", "curve")
    assert (picture.name, picture.width) == ("name", 480)
    assert 'role="img" aria-label="a &lt; b"' in picture.svg
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"name.png", "name.svg"}


def test_figures_of_earlier_reports_go_and_names_stay_unique(tmp_path: Path) -> None:
    (tmp_path / "old.png").touch()
    (tmp_path / "notes.txt").touch()
    with theme():
        gallery = Gallery(tmp_path)
        names = [
            gallery.hang(Figure(figsize=(2, 1)), "same", "title", "caption", alt="", kind="cost").name for _ in range(2)
        ]
        gallery.clear()
    assert names == ["same", "same-1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("notes.txt", "same-1.png", "same-1.svg", "same.png", "same.svg"),
    ]


@pytest.mark.parametrize(
    ("text", "name"), [("German", "german"), ("a/../b <c>", "a----b--c"), ("名前", ""), ("x" * 99, "x" * 40)]
)
def test_slugs_are_safe_file_names(text: str, name: str) -> None:
    assert slug(text) == name
