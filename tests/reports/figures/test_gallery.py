"""Where figures go."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from reports.figures.gallery import Gallery, slug
from reports.figures.theme import theme


def test_pictures_say_what_they_are_and_files_lie_beside_the_page(tmp_path: Path) -> None:
    with theme():
        gallery = Gallery(tmp_path / "figures")
        picture = gallery.hang(Figure(figsize=(5, 2)), "name", "Title", "Caption.", alt="a < b", kind="claim")
    assert (picture.title, picture.caption, picture.alt, picture.kind) == ("Title", "Caption.", "a < b", "claim")
    assert (picture.name, picture.width) == ("name", 480)
    assert 'role="img" aria-label="a &lt; b"' in picture.svg
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"name.png", "name.svg"}


def test_figures_of_earlier_reports_go_and_names_stay_unique(tmp_path: Path) -> None:
    (tmp_path / "old.png").touch()
    (tmp_path / "notes.txt").touch()
    with theme():
        gallery = Gallery(tmp_path)
        names = [
            gallery.hang(Figure(figsize=(2, 1)), "same", "title", "caption", alt="", kind="effects").name
            for _ in range(2)
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


def test_a_gallery_of_vectors_writes_no_pixels_and_shares_names(tmp_path: Path) -> None:
    with theme():
        gallery = Gallery(tmp_path)
        vectors = gallery.of_vectors()
        for place in (gallery, vectors):
            place.hang(Figure(figsize=(2, 1)), "same", "title", "caption", alt="", kind="effects")
        (tmp_path / "same-1.png").touch()  # of an earlier report
        gallery.clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["same-1.svg", "same.png", "same.svg"]


def test_of_how_results_were_come_by_there_are_vectors_alone(tmp_path: Path) -> None:
    with theme():
        Gallery(tmp_path).hang(Figure(figsize=(2, 1)), "a", "title", "caption", alt="", kind="curve")
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
