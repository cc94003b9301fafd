"""Which code has been loaded."""

import hashlib
from pathlib import Path

PACKAGES = ("ablations", "models", "datamodules")


def digest() -> str:
    """Hash of the source of all that a run is made from, as it lies on disk."""
    root = Path(__file__).parents[1]
    files = sorted(path for package in PACKAGES for path in (root / package).glob("*.py"))
    content = hashlib.sha256()
    for path in files:
        content.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()[:16]


CODE = digest()
"""Taken when this is imported, with the rest: a file that is changed later is not the code that runs."""
