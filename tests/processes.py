"""Commands of the suite as processes of their own, and the processes of runs, found by the log that they write."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def start(*arguments: str, quiet: bool = False, **options: Any) -> "subprocess.Popen[str]":
    """Begin `ablations ...` with its output piped, or thrown away."""
    to = subprocess.DEVNULL if quiet else subprocess.PIPE
    command = [sys.executable, "-m", "ablations", *arguments]
    return subprocess.Popen(command, stdout=to, stderr=to, text=True, cwd=ROOT, **options)


def end(process: "subprocess.Popen[str]") -> None:
    """Kill what is left of a command, and close its pipes."""
    process.kill()
    process.communicate()


def finish(process: "subprocess.Popen[str]", timeout: float = 240.0) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    try:
        out, error = process.communicate(timeout=timeout)
    except BaseException:
        end(process)
        raise
    return process.returncode, out, error


def of_runs(root: Path) -> list[int]:
    """Processes whose standard output is the log of a run below `root`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            target = os.readlink(folder / "fd/1")
        except OSError:  # it has ended, or is not ours
            continue
        if Path(target).is_relative_to(root) and Path(target).name.startswith("log"):
            found.append(int(folder.name))
    return found
