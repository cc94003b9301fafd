"""What all workers measure with: the trained weights under neutral names, training batches, sentences to translate.

Read by environments that have neither torch nor the project. Shapes: B batch, S source length, T target length.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
IGNORE = -100
LENGTH_PENALTY = 1.0
BEAM = 5
TEXT = "train"
"""TEXT.src and TEXT.trg in the folder: all training pairs, ids as words."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Of the model and its vocabulary, and how it is trained."""

    vocabulary: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    dropout: float
    pad: int
    start: int
    end: int
    unknown: int
    label_smoothing: float = 0.1
    clip: float = 1.0
    lr: float = 1e-3
    beta2: float = 0.98
    weight_decay: float = 0.01
    batch_tokens: int = 1024


class TrainingBatch(NamedTuple):
    """Padding stands at the end."""

    source: Array
    """(B, S), each sentence with the end token."""
    target: Array
    """(B, T), from the start token on."""
    labels: Array
    """(B, T), up to the end token; IGNORE at padding."""

    @property
    def tokens(self) -> int:
        """Real target tokens."""
        return int((self.labels != IGNORE).sum())


class Prepared(NamedTuple):
    """The contents of the folder."""

    sizes: Sizes
    weights: dict[str, Array]
    """embedding (V, D), output.bias (V,); SIDE.norm.{weight,bias}, SIDE.LAYER.PART.norm.{weight,bias};
    SIDE.LAYER.{self,cross}.{query,key,value,output}, SIDE.LAYER.feed_forward.{input,output}.{weight,bias}; matrices are
    (outputs, inputs)."""
    training: list[TrainingBatch]
    sentences: list[Array]
    """Sources (B, S) of like length, padded."""

    @property
    def longest(self) -> int:
        """Most tokens of a source."""
        return max(source.shape[1] for source in self.sentences)


def sinusoids(length: int, d_model: int) -> Array:
    """The position table (length, d_model): sines at even features, cosines at odd ones."""
    angle = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    return np.stack((np.sin(angle), np.cos(angle)), axis=-1).reshape(length, d_model).astype(np.float32)


def limit(source: Array) -> int:
    """Most tokens that a translation of a batch (B, S) may have, where a peer takes one limit for the batch."""
    return 2 * source.shape[1] + 10


def save(prepared: Prepared, folder: Path) -> None:
    """Write the folder."""
    batches = {
        f"{index}.{name}": array
        for index, batch in enumerate(prepared.training)
        for name, array in batch._asdict().items()
    }
    sentences = {str(index): source for index, source in enumerate(prepared.sentences)}
    (folder / "sizes.json").write_text(json.dumps(asdict(prepared.sizes)))
    for name, arrays in (("weights", prepared.weights), ("training", batches), ("sentences", sentences)):
        with (folder / f"{name}.npz").open("wb") as file:
            np.savez(file, **cast("dict[str, Any]", arrays))


def load(folder: Path) -> Prepared:
    """Read the folder."""
    batches = np.load(folder / "training.npz")
    sentences = np.load(folder / "sentences.npz")
    training = [
        TrainingBatch(*(batches[f"{index}.{name}"] for name in TrainingBatch._fields))
        for index in range(len(batches.files) // len(TrainingBatch._fields))
    ]
    return Prepared(
        Sizes(**json.loads((folder / "sizes.json").read_text())),
        dict(np.load(folder / "weights.npz")),
        training,
        [sentences[str(index)] for index in range(len(sentences.files))],
    )
