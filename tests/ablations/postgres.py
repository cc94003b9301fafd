"""A PostgreSQL server for tests: that of $POSTGRES_URL, else one that is started here and reached by a socket alone."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

DEBIAN = Path("/usr/lib/postgresql")


@contextmanager
def server() -> Iterator[str]:
    """URL of an empty database. Skips the test where there is no server, or no driver for it."""
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    if url := os.environ.get("POSTGRES_URL"):
        yield url
        return
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed, and POSTGRES_URL is not set")
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        yield from _started(programs, Path(folder))


def _programs() -> Path | None:
    """Folder of initdb and pg_ctl, which Debian keeps off the path."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    return max(DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name), default=None)


def _started(programs: Path, folder: Path) -> Iterator[str]:
    """The server refuses to run as root, and is run as the user `postgres` of its package then."""
    user = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def call(program: str, *arguments: str) -> None:
        command = [*user, str(programs / program), "-D", str(folder / "data"), *arguments]
        # no pipe, which the server would inherit and keep open
        with (folder.parent / f"{folder.name}.log").open("ab") as log:
            done = subprocess.run(
                command, cwd="/", stdout=log, stderr=log, env={**os.environ, "LC_ALL": "C"}, check=False
            )
        assert done.returncode == 0, Path(log.name).read_text()

    try:
        call("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        call("pg_ctl", "-w", "-o", options, "-l", str(folder / "server.log"), "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        (folder.parent / f"{folder.name}.log").unlink(missing_ok=True)
