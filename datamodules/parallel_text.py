"""Reading parallel text: two files whose lines correspond."""

import gzip
import zlib
from pathlib import Path

from datamodules.errors import DataError


def find(folder: Path, name: str) -> Path:
    """The file `name` of a folder, or else `name`.gz.

    Raises:
        DataError: if there is no such folder or file.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise DataError(f"{folder / name}: no such file, packed (.gz) or not")


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


def read_lines(path: Path) -> list[str]:
    """Lines of a UTF-8 text file without their outer blanks. Only a newline ends a line: others, such as U+0085 and
    U+2028, stand within the text of some corpora and would shift one side against the other.

    Raises:
        DataError: if it cannot be read, is empty, or is not UTF-8 (with the line's number).
    """
    data = contents(path)
    if not data:
        raise DataError(f"{path}: the file is empty")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8 (byte 0x{data[error.start]:02x})") from error
    lines = text.removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()  # what follows the last newline
    return [line.strip() for line in lines]


def read_pairs(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Lines of two files.

    Raises:
        DataError: as read_lines, and if the files differ in their number of lines.
    """
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise DataError(f"{source} has {len(sources)} lines, {target} has {len(targets)}: must be the same number")
    return sources, targets
