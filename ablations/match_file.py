"""What was found by timing training steps, kept: another measurement would find other widths, and so other runs."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock

from ablations.fairness import MatchConfig
from ablations.study import Experiment, Settings
from ablations.widths import Match
from models.config import ConfigError
from reports.rows import write_json

Find = Callable[[Experiment, str], Match]
"""The match of a variant of an experiment."""


@contextmanager
def kept_matches(folder: Path, find: Find, config: MatchConfig, kind: str) -> Iterator[Find]:
    """A function that finds what `find` does, but looks into `seconds.json` of a folder first and adds to it.

    One process at a time, so that the shards of a study find the same. Raises ConfigError for a file that is damaged.
    """
    path = folder / "seconds.json"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        known = _read(path)
        before = len(known)

        def find_once(origin: Experiment, variant: str) -> Match:
            key = _key(origin, variant, config, kind)
            if key not in known:
                print(f"{origin.name} / {variant}: timing training steps beside those of the base", file=sys.stderr)
                known[key] = {"experiment": origin.name, "variant": variant, **asdict(find(origin, variant))}
                write_json(path, known)
            return Match(**{name: known[key][name] for name in ("field", "value", "reason")})

        yield find_once
        if len(known) > before:  # by whatever command, `plan` too
            print(f"what was timed is kept in {path}, for all that follows", file=sys.stderr)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError(f"{path}: cannot be read ({error}); remove it, and steps are timed again") from error


def _key(origin: Experiment, variant: str, config: MatchConfig, kind: str) -> str:
    """Equal where the same would be timed and changed."""
    steps = [_timed(origin.variants[name]) for name in (origin.base, variant)]
    text = json.dumps([steps, sorted(origin.changes[variant]), config.widen, kind], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _timed(settings: Settings) -> dict[str, Any]:
    """What decides how long a step takes."""
    plain = settings.identity()
    batch = {name: plain["train"][name] for name in ("batch_size", "batch_tokens", "precision")}
    return {**{name: plain[name] for name in ("task", "model", "data")}, **batch}
