"""Bad files, each with its exact message; line ends that are none."""

import gzip
from pathlib import Path

import pytest

from datamodules.errors import DataError
from datamodules.parallel_text import contents, find, read_lines, read_pairs


def _file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _message(caught: pytest.ExceptionInfo[DataError]) -> str:
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    text = "one\u0085two\u2028three\x0bfour\n five \r\nsix\u00a0seven\n"
    path = _file(tmp_path / "a.en", text.encode())
    assert read_lines(path) == ["one\u0085two\u2028three\x0bfour", "five", "six\u00a0seven"]


def test_the_last_newline_makes_no_line_but_empty_lines_count(tmp_path: Path) -> None:
    assert read_lines(_file(tmp_path / "a.en", b"one\n\ntwo")) == ["one", "", "two"]
    assert read_lines(_file(tmp_path / "a.en", b"one\n\ntwo\n")) == ["one", "", "two"]
    assert read_lines(_file(tmp_path / "a.en", b"one\n\ntwo\n\n")) == ["one", "", "two", ""]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert read_lines(_file(tmp_path / "a.en", b"\xef\xbb\xbfone\n")) == ["one"]


def test_packed_and_plain_files_read_alike(tmp_path: Path) -> None:
    plain = _file(tmp_path / "a.en", "größer\nals\n".encode())
    packed = _file(tmp_path / "b.en.gz", gzip.compress(plain.read_bytes()))
    assert read_lines(plain) == read_lines(packed) == ["größer", "als"]
    assert find(tmp_path, "a.en") == plain
    assert find(tmp_path, "b.en") == packed
    assert find(tmp_path, "b.en.gz") == packed


def test_different_numbers_of_lines(tmp_path: Path) -> None:
    source, target = _file(tmp_path / "a.de", b"eins\nzwei\ndrei\n"), _file(tmp_path / "a.en", b"one\ntwo\n")
    with pytest.raises(DataError) as caught:
        read_pairs(source, target)
    assert _message(caught) == f"{source} has 3 lines, {target} has 2: must be the same number"


@pytest.mark.parametrize("name", ["a.de", "a.de.gz"])
def test_invalid_utf_8_names_the_line(tmp_path: Path, name: str) -> None:
    data = b"eins\nzw\xc3\xb6lf\ngr\xf6\xdfer\n"
    path = _file(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(DataError) as caught:
        read_lines(path)
    assert _message(caught) == f"{path}:3: not UTF-8 (byte 0xf6)"


def test_empty_file(tmp_path: Path) -> None:
    path = _file(tmp_path / "a.de", b"")
    with pytest.raises(DataError) as caught:
        read_lines(path)
    assert _message(caught) == f"{path}: the file is empty"


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        find(tmp_path, "train.de")
    assert _message(caught) == f"{tmp_path}/train.de: no such file, packed (.gz) or not"
    with pytest.raises(DataError) as caught:
        find(tmp_path / "nowhere", "train.de")
    assert _message(caught) == f"{tmp_path}/nowhere: no such folder"


def test_torn_and_false_gzip_files(tmp_path: Path) -> None:
    torn = _file(tmp_path / "a.de.gz", gzip.compress(bytes(range(256)) * 40)[:-20])
    with pytest.raises(DataError, match=r"a\.de\.gz: not a complete gzip file \(.+\)$"):
        contents(torn)
    false = _file(tmp_path / "b.de.gz", b"eins\n")
    with pytest.raises(DataError, match=r"b\.de\.gz: not a complete gzip file \(.+\)$"):
        contents(false)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        contents(tmp_path)
    assert _message(caught) == f"{tmp_path}: Is a directory"
