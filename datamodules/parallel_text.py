"""Reading parallel text: files whose lines correspond, or one file with a sentence and its translation on a line."""

import gzip
import os
import zlib
from pathlib import Path

from datamodules.errors import DataError


def seek(folder: Path, name: str) -> Path | None:
    """The file `name` of a folder, or else `name`.gz, or else None."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def find(folder: Path, name: str) -> Path:
    """The file `name` of a folder, or else `name`.gz.

    Raises:
        DataError: if there is no such folder or file.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    if path := seek(folder, name):
        return path
    raise DataError(f"{folder / name}: no such file, packed (.gz) or not")


def locate(name: str, root: str, corpus: str) -> Path:
    """Where the files of a name lie: the path itself, or below `root`, or below $ABLATIONS_DATA/`corpus`.

    Raises:
        DataError: if it is none of these.
    """
    if Path(name).is_absolute():
        return Path(name)
    if root:
        return Path(root) / name
    if data := os.environ.get("ABLATIONS_DATA"):
        return Path(data) / corpus / name
    place = Path(corpus) / name
    raise DataError(f"root='': must be the folder of {name}, or set ABLATIONS_DATA to the folder that holds {place}")


def find_pair(folder: Path, name: str, source: str, target: str) -> tuple[Path, Path]:
    """The two sides of a corpus: NAME.de and NAME.en, or NAME-deen-src.de and NAME-deen-ref.en as WMT names its tests.

    Raises:
        DataError: if there is no such folder or file.
    """
    wmt = f"{name}-{source}{target}"
    if not seek(folder, f"{name}.{source}") and seek(folder, f"{wmt}-src.{source}"):
        return find(folder, f"{wmt}-src.{source}"), find(folder, f"{wmt}-ref.{target}")
    return find(folder, f"{name}.{source}"), find(folder, f"{name}.{target}")


def contents(path: Path) -> bytes:
    """Bytes of a file, unpacked if its name ends in .gz.

    Raises:
        DataError: if it cannot be read or unpacked.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: not a complete gzip file ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error


def read_text(path: Path) -> str:
    """Contents of a UTF-8 text file, without a byte order mark.

    Raises:
        DataError: if it cannot be read, is empty, or is not UTF-8 (with the line's number).
    """
    data = contents(path)
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8 (byte 0x{data[error.start]:02x})") from error
    if not text:
        raise DataError(f"{path}: the file is empty")
    return text


def split_lines(text: str) -> list[str]:
    """Lines of a text. Only a newline ends a line: others, such as U+0085 and U+2028, stand within the text of some
    corpora and would shift one side against the other."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]  # nothing follows the last newline


def read_lines(path: Path) -> list[str]:
    """Lines of a file without their outer blanks.

    Raises:
        DataError: as read_text, and if no line has any text.
    """
    lines = [line.strip() for line in split_lines(read_text(path))]
    if not any(lines):
        raise DataError(f"{path}: no line has any text")
    return lines


def read_aligned(first: Path, *others: Path) -> list[list[str]]:
    """Lines of several files that correspond.

    Raises:
        DataError: as read_lines, and if the files differ in their number of lines.
    """
    sides = [read_lines(path) for path in (first, *others)]
    for path, lines in zip(others, sides[1:], strict=True):
        if len(lines) != len(sides[0]):
            raise DataError(f"{first} has {len(sides[0])} lines, {path} has {len(lines)}: must be the same number")
    return sides


def read_columns(path: Path, columns: tuple[int, ...], exactly: int | None = None) -> list[list[str]]:
    """Columns (counted from 1) of a file with tabs between them, no header and no quotation; outer blanks are dropped.

    Raises:
        DataError: as read_text; if a line has too few columns or, where it is given, not `exactly` so many (with the
            line's number), or a column has no text.
    """
    rows = [line.split("\t") for line in split_lines(read_text(path))]
    for number, row in enumerate(rows, start=1):
        if len(row) < max(columns):
            raise DataError(f"{path}:{number}: columns={len(row)} (by tabs): must be at least {max(columns)}")
        if exactly not in (None, len(row)):
            raise DataError(f"{path}:{number}: columns={len(row)} (by tabs): say which, as in {path.name}:1:2")
    sides = [[row[column - 1].strip() for row in rows] for column in columns]
    for column, side in zip(columns, sides, strict=True):
        if not any(side):
            raise DataError(f"{path}: column {column} has no text")
    return sides
