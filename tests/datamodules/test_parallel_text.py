"""Bad files, each with its exact message; line ends that are none."""

import gzip
from pathlib import Path

import pytest

from datamodules.errors import DataError
from datamodules.parallel_text import contents, find, find_pair, read_aligned, read_columns, read_lines


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
    same = _file(tmp_path / "a.fr", b"un\ndeux\ntrois\n")
    assert read_aligned(source, same, source) == [
        ["eins", "zwei", "drei"],
        ["un", "deux", "trois"],
        ["eins", "zwei", "drei"],
    ]
    for others in ((target,), (same, target), (target, same)):
        with pytest.raises(DataError) as caught:
            read_aligned(source, *others)
        assert _message(caught) == f"{source} has 3 lines, {target} has 2: must be the same number"


def test_a_trailing_empty_line_on_one_side_is_noticed(tmp_path: Path) -> None:
    source, target = _file(tmp_path / "a.de", b"eins\nzwei\n\n"), _file(tmp_path / "a.en", b"one\ntwo\n")
    with pytest.raises(DataError, match=r"has 3 lines, .* has 2: must be the same number$"):
        read_aligned(source, target)


def test_the_two_sides_are_found_by_language_or_as_wmt_names_them(tmp_path: Path) -> None:
    wmt = [_file(tmp_path / f"news-deen-{side}", b"a\n") for side in ("src.de", "ref.en.gz")]
    assert find_pair(tmp_path, "news", "de", "en") == tuple(wmt)
    with pytest.raises(DataError) as caught:  # the other direction has files of its own in WMT
        find_pair(tmp_path, "news", "en", "de")
    assert _message(caught) == f"{tmp_path}/news.en: no such file, packed (.gz) or not"
    plain = [_file(tmp_path / f"news.{language}", b"a\n") for language in ("de", "en")]
    assert find_pair(tmp_path, "news", "de", "en") == tuple(plain)
    wmt[1].unlink()
    plain[0].unlink()
    with pytest.raises(DataError) as caught:
        find_pair(tmp_path, "news", "de", "en")
    assert _message(caught) == f"{tmp_path}/news-deen-ref.en: no such file, packed (.gz) or not"


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_columns_of_a_table(tmp_path: Path, name: str) -> None:
    data = '\ufeff\t1\t"eins\u2028" \tone\r\n\t\tzwei\t two\n'.encode()
    path = _file(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    assert read_columns(path, (4, 3)) == [["one", "two"], ['"eins\u2028"', "zwei"]]
    assert read_columns(path, (2,)) == [["1", ""]]
    with pytest.raises(DataError) as caught:
        read_columns(path, (1, 4))
    assert _message(caught) == f"{path}: column 1 has no text"
    with pytest.raises(DataError) as caught:  # two of four are not guessed
        read_columns(path, (1, 2), exactly=2)
    assert _message(caught) == f"{path}:1: columns=4 (by tabs): say which, as in {name}:1:2"


@pytest.mark.parametrize(("line", "count"), [(b"zwei", 1), (b"", 1), (b"a\tb", 2)])
def test_a_line_with_too_few_columns(tmp_path: Path, line: bytes, count: int) -> None:
    path = _file(tmp_path / "a.tsv", b"\teins\tone\n" + line + b"\n\tdrei\tthree\n")
    with pytest.raises(DataError) as caught:
        read_columns(path, (2, 3))
    assert _message(caught) == f"{path}:2: columns={count} (by tabs): must be at least 3"


def test_a_side_without_any_text(tmp_path: Path) -> None:
    path = _file(tmp_path / "a.de", b"\n \r\n\n")
    with pytest.raises(DataError) as caught:
        read_lines(path)
    assert _message(caught) == f"{path}: no line has any text"


@pytest.mark.parametrize("name", ["a.de", "a.de.gz"])
def test_invalid_utf_8_names_the_line(tmp_path: Path, name: str) -> None:
    data = b"eins\nzw\xc3\xb6lf\ngr\xf6\xdfer\n"
    path = _file(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(DataError) as caught:
        read_lines(path)
    assert _message(caught) == f"{path}:3: not UTF-8 (byte 0xf6)"


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_empty_file(tmp_path: Path, data: bytes) -> None:
    path = _file(tmp_path / "a.de", data)
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
