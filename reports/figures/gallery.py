"""Where the figures of a report go: files on disk, and pictures on the page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from markupsafe import Markup
from matplotlib.figure import Figure

from reports.figures.svg import inline, save

Kind = Literal["effects", "distance", "curve", "setting", "ladder", "factorial", "cost", "growth", "measured", "claim"]

WITHOUT_PIXELS: tuple[Kind, ...] = ("curve", "cost", "measured")
"""Kinds of figures that say how results were come by: many, and nobody's slide. They have no PNG file."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure on the page."""

    title: str
    svg: Markup
    width: int
    """Natural width in CSS pixels."""
    caption: str
    alt: str
    """What is to be seen, in one sentence, for those who do not see it."""
    kind: Kind
    name: str
    """File name without suffix."""


class Gallery:
    """Saves figures of the report and hands them on for the page."""

    def __init__(self, folder: Path, *, pixels: bool = True) -> None:
        self.folder = folder
        self.pixels = pixels
        """Whether there are PNG files beside the SVG files: drawing them takes most of the time."""
        self.names: set[str] = set()
        self.kept: set[str] = set()
        """Names of files."""
        folder.mkdir(parents=True, exist_ok=True)

    def of_vectors(self) -> "Gallery":
        """The same gallery, in which what is hung has no PNG file."""
        found = Gallery(self.folder, pixels=False)
        found.names, found.kept = self.names, self.kept
        return found

    def hang(self, figure: Figure, name: str, title: str, caption: str, *, alt: str, kind: Kind) -> Picture:
        """Save a figure under a file name, which is made unique in the report."""
        name = f"{name}-{len(self.names)}" if name in self.names else name
        self.names.add(name)
        pixels = self.pixels and kind not in WITHOUT_PIXELS
        self.kept |= {f"{name}.svg", f"{name}.png"} if pixels else {f"{name}.svg"}
        svg = Markup(inline(save(figure, self.folder, name, pixels=pixels), f"f{len(self.names)}", alt))
        width = round(figure.get_figwidth() * 96)
        return Picture(title=title, svg=svg, width=width, caption=caption, alt=alt, kind=kind, name=name)

    def clear(self) -> None:
        """Remove figures of earlier reports that this one does not have."""
        for path in (*self.folder.glob("*.png"), *self.folder.glob("*.svg")):
            if path.name not in self.kept:
                path.unlink()


def slug(text: str) -> str:
    """A name as part of a file's name."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower()).strip("-")[:40]
