"""What the pages tell a reader to type, and the blocks that they show as code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = (
    "ablations",
    "make",
    ".venv/bin/",
    ".ci/run",
    "pip",
    "python",
    "export",
    "sbatch",
    "ray",
    "apt",
    "chmod",
    "git",
    "chromium",
)
"""What a command begins with, after settings such as OMP_NUM_THREADS=1."""
SHELLS = ("sh", "shell", "console", "bash")
BEGINS = re.compile(r"(?:[A-Z_]+=\S+ )*(?:" + "|".join(re.escape(name) for name in PROGRAMS) + r")(?:(?<=/)|(?=\s))")
FORMULA = re.compile(r"[^=]+ = .+")
"""What stands in an indented block and is nothing to type; an assignment of the shell has no blanks."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where it stands."""

    language: str
    text: str
    place: str


@dataclass(frozen=True)
class Command:
    """What is typed, without the remark behind it, and where it stands: page:line, with the remark if there is one."""

    text: str
    place: str
    remark: str = ""


def pages() -> list[Path]:
    """All pages of the project in Markdown, the README first."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.joinpath("docs").rglob("*.md"))]


def place(page: Path, line: int) -> str:
    """Where something stands, for the name of a test."""
    return f"{page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name}:{line}"


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([\w-]*)\n(.*?)^```$", text, re.M | re.S)
    return [Block(m[1], m[2], place(page, text.count("\n", 0, m.start(2)) + 1)) for m in found]


def commands(page: Path) -> list[Command]:
    """All lines of indented blocks and of fenced ones for a shell, then the code within sentences that is a command."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    found = [*_shell_blocks(page), *_indented(page, prose), *_inline(page, prose)]
    return sorted(found, key=lambda command: int(command.place.rpartition(":")[2]))


def _shell_blocks(page: Path) -> Iterator[Command]:
    """A script (it begins with #!) is one command; of other blocks every line is, with those that a backslash joins."""
    for block in blocks(page):
        if block.language in SHELLS:
            first = int(block.place.rpartition(":")[2])
            if block.text.startswith("#!"):
                yield Command(block.text, block.place)
            else:
                yield from _lines(page, block.text, first)


def _indented(page: Path, prose: str) -> Iterator[Command]:
    for match in re.finditer(r"(?:\A|\n)\n((?:    \S.*(?:\n|\Z)|\n(?=    ))+)", prose):
        yield from _lines(page, match[1], prose.count("\n", 0, match.start(1)) + 1)


def _lines(page: Path, text: str, first: int) -> Iterator[Command]:
    """The lines of a block; what stands behind two blanks and # is a remark."""
    joined = re.sub(r"\\\n\s*", "", text)
    for line in joined.splitlines():
        command, _, remark = line.strip().partition(" #")
        is_formula = FORMULA.fullmatch(command) and not BEGINS.match(command)
        if command.strip() and not command.startswith("#") and not is_formula:
            at = first + text[: text.index(line.strip()[:20])].count("\n")
            yield Command(command.strip(), place(page, at), remark.strip())


def _inline(page: Path, prose: str) -> Iterator[Command]:
    """Code within sentences and tables; it may go on on the next line."""
    plain = re.sub(r"^    \S.*$", "", prose, flags=re.M)
    for match in re.finditer(r"(?<!`)`([^`]+)`(?!`)", plain):
        code = " ".join(match[1].split())
        if BEGINS.match(code):
            yield Command(code, place(page, plain.count("\n", 0, match.start()) + 1))
