"""Speed of our translator in training and decoding against other toolkits: same architecture, vocabulary, one thread.

Run: ABLATIONS_DATA=... python tests/benchmarks/translation.py

All have an encoder-decoder of d = 128, 2 + 2 layers, 4 heads, d_ff = 512, pre-norm, sinusoidal, with tied embeddings
of 4,000 pieces. All translate with the same trained weights: those of the base of `multi30k-quick`, which is trained
first (about 2 minutes), or of --run, a run's folder with its weights (train.keep_checkpoints). The share of sentences
with the very same tokens as ours is the proof. It is 100 % in greedy search but for ties of rounding; beam searches
differ in when they stop and how they rank.

Each system runs in a process of its own, the peers' in environments of their own (--peers; pip makes what is missing,
2.6 GB in all). In each round every system is asked for every measurement in turn, so that what else the machine does
hits all; time is the CPU time of the process with all its threads. Shown are the median over the rounds, the least
and the most.

Training: full steps (forward, smoothed loss, backward, clipping, AdamW) with dropout 0.1; real target tokens are
counted. Batches have 1,024 target tokens in sentences of like length. Through its own loop JoeyNMT makes its own
batches of 1,024 tokens, half of them padding, for it does not sort by length; our own loop is Lightning's Trainer.
The peers' models differ from ours in biases in attention; torch.nn.Transformer and JoeyNMT also drop hidden units and
attention weights. Each is run as its users run it: what we do for our speed (ablations.allocation, models.linear)
stays ours.

Decoding: batches of 100 test sentences of like length, greedy and beam 5, from ids to ids.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # this file is run as a script

from tests.benchmarks.peers.environments import python  # noqa: E402
from tests.benchmarks.peers.prepare import prepare  # noqa: E402
from tests.benchmarks.peers.protocol import Round  # noqa: E402


@dataclass(frozen=True)
class Row:
    """A system in a table."""

    name: str
    peer: str
    """Module in tests.benchmarks.peers."""
    request: str
    target: float | None = None
    """How many times as fast we want to be."""


TABLES = {
    "Training on the same batches, target tokens/s": (
        Row("this project", "ours", "training"),
        Row("Hugging Face MBart", "huggingface", "training", 1.2),
        Row("torch.nn.Transformer", "torch_transformer", "training", 1.4),
        Row("  without attention dropout", "torch_transformer", "training-without-attention-dropout"),
        Row("JoeyNMT", "joey", "training"),
    ),
    "Training through the own loop, target tokens/s": (
        Row("this project", "ours", "loop"),
        Row("JoeyNMT", "joey", "loop", 3.5),
    ),
    "Greedy decoding, sentences/s": (
        Row("this project", "ours", "greedy"),
        Row("Hugging Face generate", "huggingface", "greedy", 2.0),
        Row("CTranslate2 float32", "ctranslate", "greedy", 0.9),
        Row("JoeyNMT", "joey", "greedy"),
    ),
    "Beam 5, sentences/s": (
        Row("this project", "ours", "beam"),
        Row("Hugging Face generate", "huggingface", "beam", 3.0),
        Row("CTranslate2 float32", "ctranslate", "beam", 0.9),
        Row("JoeyNMT", "joey", "beam"),
    ),
}
"""We stand first in each."""
ROWS = [row for table in TABLES.values() for row in table]
PEERS = sorted({row.peer for row in ROWS} - {"ours"})
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}


class Worker:
    """A system in its own process, which waits for requests."""

    def __init__(self, peer: str, interpreter: Path, folder: Path) -> None:
        self.peer, self.log = peer, folder / f"{peer}.log"
        read, write = os.pipe()
        self.answers = os.fdopen(read)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [interpreter, "-m", f"tests.benchmarks.peers.{peer}", str(folder), str(write)],
                cwd=ROOT,
                env=os.environ | ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(write,),
                text=True,
            )
        os.close(write)
        self.description: str = json.loads(self._answer())

    def ask(self, request: str) -> Round:
        """One round."""
        assert self.process.stdin is not None
        print(request, file=self.process.stdin, flush=True)
        return Round(**json.loads(self._answer()))

    def close(self) -> None:
        """End the process."""
        self.process.communicate()

    def _answer(self) -> str:
        line = self.answers.readline()
        if not line:
            self.process.wait()
            raise SystemExit(f"{self.peer} has ended; its log:\n{self.log.read_text()[-3000:]}")
        return line


def measure(workers: dict[str, Worker], rounds: int) -> dict[Row, list[Round]]:
    """Every row in every round, in turn, after one round to warm up."""
    results: dict[Row, list[Round]] = {row: [] for row in ROWS if row.peer in workers}
    for number in range(rounds + 1):
        for row, measured in results.items():
            measured.append(workers[row.peer].ask(row.request))
        print(f"round {number} of {rounds}" if number else "warmed up", file=sys.stderr)
    return {row: measured[1:] for row, measured in results.items()}


def show(title: str, rows: Sequence[Row], results: dict[Row, list[Round]]) -> None:
    """A table: speeds, ratios of ours to theirs, targets, share of the same translations."""
    ours, *_ = rows
    print(f"\n{title}\n{'':<30}{'median (least to most)':<26}{'ours / theirs':<22}{'target':<14}same outputs")
    for row in (row for row in rows if row in results):
        speeds, reference = ([r.count / r.seconds for r in results[which]] for which in (row, ours))
        line = f"{row.name:<30}{spread(speeds, 0):<26}"
        if row != ours:
            ratios = [mine / theirs for mine, theirs in zip(reference, speeds, strict=True)]
            line += (
                f"{spread(ratios, 2):<22}{verdict(row, ratios):<14}{same_outputs(results[row][0], results[ours][0])}"
            )
        print(line.rstrip())


def spread(values: Sequence[float], digits: int) -> str:
    """Median, least, most."""
    least, middle, most = (f"{f(values):,.{digits}f}" for f in (min, statistics.median, max))
    return f"{middle} ({least} to {most})"


def verdict(row: Row, ratios: Sequence[float]) -> str:
    """The target, and whether the median reaches it."""
    if row.target is None:
        return ""
    return f"{row.target} {'reached' if statistics.median(ratios) >= row.target else 'MISSED'}"


def same_outputs(theirs: Round, ours: Round) -> str:
    """Share of the sentences with the same tokens."""
    if not theirs.outputs:
        return ""
    same = sum(a == b for a, b in zip(theirs.outputs, ours.outputs, strict=True))
    return f"{100 * same / len(ours.outputs):.1f} %"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="folder of a trained run in place of the base of multi30k-quick")
    parser.add_argument("--peers", type=Path, default=ROOT / "runs" / ".peers", help="where the environments lie")
    parser.add_argument(
        "--only", nargs="+", default=sorted({row.peer for row in ROWS}), help="of the systems, beside us"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=16, help="training steps a round")
    parser.add_argument("--batches", type=int, default=3, help="batches of 100 sentences a round")
    return parser.parse_args()


def main() -> None:
    """Install, prepare, measure, print."""
    options = arguments()
    interpreters = {peer: python(peer, options.peers.absolute()) for peer in ("ours", *options.only)}
    with tempfile.TemporaryDirectory() as folder:
        prepare(options.run, Path(folder), steps=options.steps, batches=options.batches)
        workers = {peer: Worker(peer, interpreter, Path(folder)) for peer, interpreter in interpreters.items()}
        try:
            for peer, worker in workers.items():
                print(f"{peer:<20}{worker.description}")
            results = measure(workers, options.rounds)
        finally:
            for worker in workers.values():
                worker.close()
    for title, rows in TABLES.items():
        show(title, rows, results)


if __name__ == "__main__":
    main()
