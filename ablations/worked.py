"""Worked examples: numbers small enough to be checked by hand, computed by the modules that the models are made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.attention import MultiHeadAttention, Softmax
from models.config import ModelConfig
from models.masks import MASKS, Mask
from models.norms import LayerNorm
from models.positions import POSITIONS, Position, PositionShape

Cell = str | float | int
Row = tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of texts and numbers, each as long as `columns`."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    decimals: int = 3
    """Of numbers that are no int."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """What is asked, the numbers, and what they show."""

    question: str
    tables: Sequence[Table]
    answer: str


WORDS = ("the", "old", "cat", "slept")
QUERY = (2.0, 1.0, 0.0, 0.0)
KEYS = ((0.0, 0.0, 2.0, 0.0), (0.0, 2.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0))
VALUES = ((1.0, 1.0), (0.0, 10.0), (10.0, 0.0), (2.0, 2.0))


def attention() -> Example:
    """One word's attention: scores, scaled scores, weights and output of `slept` in WORDS."""
    q, k, v = heads([QUERY]), heads(KEYS), heads(VALUES)
    kind = Softmax(scale=len(QUERY) ** -0.5)
    scores = (q @ k.mT)[0, 0, 0]
    scaled, powers = scores * kind.scale, (scores * kind.scale).exp()
    weights = kind.weights(q, k, Mask())[0, 0, 0]
    output = kind(q, k, v, Mask())[0, 0, 0]
    rows: list[Row] = [
        (word, vector(KEYS[j]), int(scores[j]), int(scaled[j]), float(powers[j]), float(weights[j]), vector(VALUES[j]))
        for j, word in enumerate(WORDS)
    ]
    added = named(WORDS, weights[:, None] * v[0, 0])
    best = int(weights.argmax())
    return Example(
        question=f'What does "slept" look at in "{" ".join(WORDS)}"? Its query q = {vector(QUERY)} asks for a noun '
        "(first feature) and, less, for what describes one (second). The width of the head is 4, so scores are divided "
        "by √4 = 2.",
        tables=(
            Table(
                title="The query meets each key",
                columns=("word", "key k", "score q·k", "s = q·k / 2", "e^s", "weight", "value v"),
                rows=rows,
            ),
            Table(
                title="Each value times its weight, and their sum: the output",
                columns=("word", "first", "second"),
                rows=[*added, *named(["output"], output[None])],
            ),
        ),
        answer=f'The weight of "{WORDS[best]}" is {powers[best]:.3f} / {powers.sum():.3f} = {weights[best]:.3f}, '
        "its e^s over the sum of all. No word is left out and none is chosen: the look-up is soft.",
    )


WIDTHS = (4, 16, 64, 256)
DEVIATIONS = (2, 1, 0, -1)
"""How many times the root of the width each key's score is."""


def scale() -> Example:
    """Scores of vectors of ones and minus ones of growing width: the softmax saturates unless they are scaled."""
    plain: list[Row] = []
    divided: list[Row] = []
    for width in WIDTHS:
        q, k = heads([[1.0] * width]), heads([signs(width, times) for times in DEVIATIONS])
        for rows, factor in ((plain, 1.0), (divided, width**-0.5)):
            weights = Softmax(scale=factor).weights(q, k, Mask())[0, 0, 0]
            rows.append((width, vector((q @ k.mT)[0, 0, 0] * factor), *measures(weights)))
    columns = ("d_head", "scores", "largest weight", "entropy", "slope")
    return Example(
        question="What does the width of a head do to the softmax? The query is all ones, the four keys are ones and "
        "minus ones. The product of d random signs is about √d in size; here the keys score 2, 1, 0 and −1 times √d.",
        tables=(
            Table(title="Softmax of the scores as they are", columns=columns, rows=plain),
            Table(title="Softmax of the scores divided by √d_head", columns=columns, rows=divided),
        ),
        answer="Entropy in nats (four equal weights: 1.386). Slope is the sum of w (1 − w), the trace of the softmax's "
        "derivative: near 0, no gradient reaches queries and keys. Divided by √d_head the four scores are 2, 1, 0 and "
        "−1 at every width.",
    )


def decoder_mask() -> Example:
    """Weights of three words without a mask, with minus infinity before the softmax, and with zeros after it."""
    words = ("the", "cat", "slept")
    x = heads([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    n, kind, nowhere = len(words), Softmax(scale=1.0), Position(shape(2))
    scores = (x @ x.mT)[0, 0]
    tables = [
        Table(
            title="Scores q·k, a row for each query", columns=("query", *words), rows=named(words, scores), decimals=0
        )
    ]
    for name, title in (
        ("none", "Weights without a mask (none)"),
        ("causal", "Weights with −∞ in place of the scores of later words (causal)"),
        ("after-softmax", "Weights set to zero after the softmax (after-softmax)"),
    ):
        weights = kind.weights(x, x, MASKS[name](None)(n, n, None, nowhere, x.device))[0, 0]
        sums = torch.cat((weights, weights.sum(-1, keepdim=True)), dim=-1)
        tables.append(Table(title=title, columns=("query", *words, "sum"), rows=named(words, sums)))
    return Example(
        question="How does a decoder hide the words to come? Queries and keys are (1, 0), (0, 1) and (1, 1); scores "
        "are not scaled here.",
        tables=tuple(tables),
        answer="e^−∞ = 0: later words have weight 0, and the rest of each row sums to 1. Zeros after the softmax leave "
        "rows that sum to less, by an amount that depends on the words to come: they leak.",
    )


def position() -> Example:
    """Output of the middle word for two orders of the same words, without and with positions."""
    vectors = {"dog": (1.0, 0.0), "bites": (1.0, 1.0), "man": (0.0, 1.0)}
    rows: list[Row] = []
    for name in ("none", "sinusoidal"):
        for order in (("dog", "bites", "man"), ("man", "bites", "dog")):
            x = POSITIONS[name](shape(2)).embed(torch.tensor([[vectors[word] for word in order]]), 0)[None]
            output = Softmax(scale=2**-0.5)(x, x, x, Mask())[0, 0, order.index("bites")]
            rows.append((name, " ".join(order), *map(float, output)))
    return Example(
        question='What does "bites" get from "dog bites man" and from "man bites dog"? Vectors: dog (1, 0), bites '
        "(1, 1), man (0, 1), which are queries, keys and values alike; d_head = 2.",
        tables=(Table(title='Output of "bites"', columns=("positions", "sentence", "first", "second"), rows=rows),),
        answer="Without positions attention sees a set of words: the output is the same for both orders. With "
        "(sin i, cos i) added to the vector of place i = 0, 1, 2 it differs.",
    )


D_MODEL = 64
LENGTHS = (16, 64, 256, 1024)


def n_heads() -> Example:
    """Parameters and multiply-adds of self-attention over the number of heads, and over the length."""
    configs = [ModelConfig(d_model=D_MODEL, n_heads=number) for number in (1, 2, 4, 8)]
    rows: list[Row] = [(c.n_heads, c.head_width, parameters(c), projecting(c, 16), attending(c, 16)) for c in configs]
    lengths: list[Row] = [(length, projecting(configs[0], length), attending(configs[0], length)) for length in LENGTHS]
    return Example(
        question=f"What do several heads cost, and what does length cost? d_model = {D_MODEL}.",
        tables=(
            Table(
                title="Self-attention of 16 words: parameters and multiply-adds",
                columns=("n_heads", "d_head", "parameters", "projections", "scores and averages"),
                rows=rows,
            ),
            Table(
                title="Multiply-adds over the length T, for any number of heads",
                columns=("T", "projections", "scores and averages"),
                rows=lengths,
            ),
        ),
        answer="More heads are narrower ones: 4 d² parameters and 2 T² d multiply-adds for scores and averages, "
        "whatever their number. The price of length is the square: twice the words, four times the scores.",
    )


def norm() -> Example:
    """Layer norm of one word's vector."""
    x = torch.tensor([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    layer = LayerNorm(len(x))
    with torch.no_grad():
        outputs = layer(torch.stack((x, 10 * x + 3))[None], None)[0]
    return Example(
        question=f"What does layer norm make of one word's vector x = {vector(x)}? Its mean is 5, its deviation 2.",
        tables=(
            Table(
                title="After the norm, before gain and bias",
                columns=("vector", *(f"x{i}" for i in range(1, len(x) + 1))),
                rows=named(("x", "10 x + 3"), outputs),
                decimals=2,
            ),
        ),
        answer="Each number minus 5, divided by 2: mean 0 and deviation 1. A vector ten times as large and moved by 3 "
        "comes out the same: the next layer meets the same range, and no other word plays a part.",
    )


EXAMPLES: dict[str, Callable[[], Example]] = {
    function.__name__: function for function in (attention, scale, decoder_mask, position, n_heads, norm)
}
"""By the name of the component that they are about."""


def heads(rows: Sequence[Sequence[float]]) -> Tensor:
    """Vectors (T, K) as one head of one sentence (1, 1, T, K), in double precision."""
    return torch.tensor(rows, dtype=torch.float64)[None, None]


def named(names: Sequence[str], rows: Tensor) -> list[Row]:
    """A row for each name and its numbers."""
    return [(name, *row.tolist()) for name, row in zip(names, rows, strict=True)]


def vector(numbers: Sequence[float] | Tensor) -> str:
    """Whole numbers as they are written by hand: `(2, 0, −1)`."""
    return f"({', '.join(f'{float(number):g}'.replace('-', '−') for number in numbers)})"


def signs(width: int, times: int) -> list[float]:
    """Ones and then minus ones that sum to `times` times the root of the width, which must be whole and even."""
    ones = (width + times * round(width**0.5)) // 2
    return [1.0] * ones + [-1.0] * (width - ones)


def measures(weights: Tensor) -> tuple[float, float, float]:
    """Of weights that sum to 1: the largest, the entropy in nats, the trace of the softmax's derivative."""
    entropy = torch.special.entr(weights).sum()
    return float(weights.max()), float(entropy), float((weights * (1 - weights)).sum())


def shape(width: int) -> PositionShape:
    """One head of this width."""
    return PositionShape(d_model=width, n_heads=1, d_head=width, max_length=8, causal=False)


def parameters(config: ModelConfig) -> int:
    """Of one self-attention with its projections."""
    return sum(weights.numel() for weights in MultiHeadAttention(config, Softmax).parameters())


def projecting(config: ModelConfig, length: int) -> int:
    """Multiply-adds of the four projections: one a word for each of their parameters."""
    return length * parameters(config)


def attending(config: ModelConfig, length: int) -> int:
    """Multiply-adds of the scores and of the averages, over all heads."""
    return config.n_heads * Softmax.multiply_adds(length, length, config.head_width, "none")
