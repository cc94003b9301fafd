"""The numbers of the worked examples, computed again with nothing but numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ablations.components import COMPONENTS
from ablations.worked import EXAMPLES, Example, Table

Floats = NDArray[np.float64]

ROUNDING = 1e-6
"""Of the models' single precision."""


def softmax(scores: Floats) -> Floats:
    powers: Floats = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def column(table: Table, name: str) -> list[Any]:
    place = table.columns.index(name)
    return [row[place] for row in table.rows]


def numbers(table: Table, first: int = 1) -> Floats:
    """The rows without their first cells."""
    return np.array([row[first:] for row in table.rows], dtype=np.float64)


def read(vectors: Sequence[str]) -> Floats:
    """Vectors from `(2, 0, −1)`."""
    return np.array([[float(part.replace("−", "-")) for part in text.strip("()").split(",")] for text in vectors])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_of_a_component_and_every_row_fills_its_columns(name: str) -> None:
    example = EXAMPLES[name]()
    assert name in {component.name for component in COMPONENTS}
    assert example.question.count("?") == 1
    assert example.answer.endswith(".")
    for table in example.tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}
        for place in range(len(table.columns)):
            kinds = {isinstance(row[place], str) for row in table.rows}
            assert len(kinds) == 1, "a column is of texts or of numbers"
            assert all(isinstance(row[place], str | int | float) for row in table.rows), "JSON has no other"


def test_one_words_attention() -> None:
    example = EXAMPLES["attention"]()
    meets, sums = example.tables
    assert column(meets, "word") == ["the", "old", "cat", "slept"]
    q, k, v = np.array([2.0, 1, 0, 0]), read(column(meets, "key k")), read(column(meets, "value v"))
    assert "q = (2, 1, 0, 0)" in example.question
    assert column(meets, "score q·k") == list(k @ q) == [0, 2, 4, 0]
    assert column(meets, "s = q·k / 2") == [0, 1, 2, 0]
    assert column(meets, "e^s") == pytest.approx([1, np.e, np.e**2, 1], abs=ROUNDING)
    weights = softmax(k @ q / 2)
    assert column(meets, "weight") == pytest.approx(weights, abs=ROUNDING)
    assert numbers(sums)[:4] == pytest.approx(weights[:, None] * v, abs=ROUNDING)
    assert numbers(sums)[4] == pytest.approx(weights @ v, abs=ROUNDING)
    assert column(sums, "word")[4] == "output"
    total = 2 + np.e + np.e**2
    assert f'"cat" is {np.e**2:.3f} / {total:.3f} = {np.e**2 / total:.3f},' in example.answer


def test_the_width_saturates_the_softmax_unless_it_is_scaled() -> None:
    plain, divided = EXAMPLES["scale"]().tables
    widths = np.array([4, 16, 64, 256])
    for table, sizes in ((plain, np.sqrt(widths)), (divided, np.ones(4))):
        assert column(table, "d_head") == list(widths)
        scores = np.outer(sizes, [2, 1, 0, -1])
        assert read(column(table, "scores")) == pytest.approx(scores)
        weights = softmax(scores)
        entropy = -(weights * np.log(weights)).sum(-1)
        jacobians = [np.diag(w) - np.outer(w, w) for w in weights]
        assert column(table, "largest weight") == pytest.approx(weights.max(-1), abs=ROUNDING)
        assert column(table, "entropy") == pytest.approx(entropy, abs=ROUNDING)
        assert column(table, "slope") == pytest.approx([np.trace(j) for j in jacobians], abs=ROUNDING)
    assert f"{np.log(4):.3f}" in EXAMPLES["scale"]().answer


def test_a_mask_before_the_softmax_and_one_after_it() -> None:
    scores, *weighed = EXAMPLES["decoder_mask"]().tables
    x = np.array([[1.0, 0], [0, 1], [1, 1]])
    assert numbers(scores) == pytest.approx(x @ x.T)
    seen = np.tril(np.ones((3, 3)))
    none = softmax(x @ x.T)
    causal = softmax(np.where(seen, x @ x.T, -np.inf))
    for table, weights in zip(weighed, (none, causal, none * seen), strict=True):
        assert numbers(table)[:, :3] == pytest.approx(weights, abs=ROUNDING)
        assert column(table, "sum") == pytest.approx(weights.sum(-1), abs=ROUNDING)
    assert [name in table.title for name, table in zip(("none", "causal", "after"), weighed, strict=True)] == [True] * 3
    assert column(weighed[2], "sum")[:2] < [0.999] * 2, "what is missing tells of the words to come"


def test_what_a_word_gets_from_two_orders_of_a_sentence() -> None:
    (table,) = EXAMPLES["position"]().tables
    vectors = {"dog": [1.0, 0], "bites": [1.0, 1], "man": [0.0, 1]}
    signals = {"none": np.zeros((3, 2)), "sinusoidal": np.array([[np.sin(i), np.cos(i)] for i in range(3)])}
    for name, sentence, *output in table.rows:
        words = str(sentence).split()
        x = np.array([vectors[word] for word in words]) + signals[str(name)]
        assert output == pytest.approx(softmax(x[1] @ x.T / np.sqrt(2)) @ x, abs=ROUNDING)
    dog, man, dog_placed, man_placed = numbers(table, first=2)
    assert dog == pytest.approx(man, abs=ROUNDING)
    assert np.abs(dog_placed - man_placed).min() > 0.01
    assert column(table, "sentence")[:2] == ["dog bites man", "man bites dog"]


def test_heads_cost_nothing_and_length_costs_its_square() -> None:
    by_heads, by_length = EXAMPLES["n_heads"]().tables
    d, words = 64, 16
    for heads, width, parameters, projections, averages in by_heads.rows:
        assert isinstance(heads, int)
        assert width == d // heads
        assert parameters == 4 * d * d
        assert projections == words * 4 * d * d
        assert averages == heads * 2 * words * words * (d // heads)
    assert column(by_heads, "n_heads") == [1, 2, 4, 8]
    for length, projections, averages in by_length.rows:
        assert isinstance(length, int)
        assert (projections, averages) == (length * 4 * d * d, 2 * length**2 * d)
    assert column(by_length, "T") == [16, 64, 256, 1024]


def test_a_norm_takes_mean_and_deviation_from_one_vector() -> None:
    example: Example = EXAMPLES["norm"]()
    (table,) = example.tables
    x = np.array([2.0, 4, 4, 4, 5, 5, 7, 9])
    assert "(2, 4, 4, 4, 5, 5, 7, 9)" in example.question
    assert (x.mean(), x.std()) == (5, 2)
    assert "mean is 5, its deviation 2" in example.question
    assert numbers(table) == pytest.approx(np.tile((x - 5) / 2, (2, 1)), abs=1e-5)
    assert column(table, "vector") == ["x", "10 x + 3"]
