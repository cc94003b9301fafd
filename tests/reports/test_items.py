"""Test items of runs, and what other draws of them would have made of the scores."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models.contrasts import TIE as MODELS_TIE
from models.scores import COLUMNS, corpus_score
from models.translations import make_translations, translation_rows
from reports.items import COUNTS, GROUPS, TIE, constant, contrasts, counted, resampled_by_metric, translations
from reports.metrics import LONG_RANGE
from reports.rows import RowsError

REFERENCES = ["der hund schlief .", "die katzen riefen das kind .", "NA", "sie weckte den mann auf .", "ja ."]
HYPOTHESES = ["der Hund schlief .", "die katze rief das kind .", "", "sie weckte auf .", "ja ."]
NATS, TOKENS = [0.5, 2.25, 3.0, 1.75, 1.0], [5, 7, 2, 7, 3]


def write(folder: Path, name: str, rows: Sequence[Mapping[Any, Any]]) -> None:
    (folder / "outputs").mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(folder / "outputs" / f"{name}.csv.gz", index=False)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Five sentences and an extra set of one; five contrastive pairs, the last a tie."""
    made = make_translations(["s"] * 5, REFERENCES, HYPOTHESES, HYPOTHESES, NATS, TOKENS)
    rows = [{"set": "", **row} for row in translation_rows(made)]
    write(tmp_path, "translations", [*rows, {**rows[0], "set": "length=48", "nats": 99.0}])
    pairs = [(1, -2.0, -3.0), (2, -2.0, -1.0), (7, -2.0, -3.0), (7, -4.0, -1.0), (9, -2.0, -2.0)]
    write(
        tmp_path,
        "contrasts",
        [
            {"set": "", "distance": d, "category": "None", "right": r, "wrong": w, "right_tokens": 5, "wrong_tokens": 3}
            for d, r, w in pairs
        ],
    )
    return tmp_path


def test_text_and_pairs_are_read_as_they_were_written(run: Path) -> None:
    sentences, pairs = translations(run), contrasts(run)
    assert sentences is not None
    assert pairs is not None
    assert sentences["reference"].tolist() == REFERENCES
    assert sentences["hypothesis"].tolist() == HYPOTHESES
    assert pairs["won"].tolist() == [True, False, True, False, False]
    assert pairs["won_per_token"].tolist() == [True, False, True, False, True]
    assert set(pairs["category"]) == {"None"}
    assert TIE == MODELS_TIE
    assert COLUMNS == COUNTS


def test_a_run_without_items_has_none(tmp_path: Path) -> None:
    assert translations(tmp_path) is None
    assert contrasts(tmp_path) is None
    assert counted(tmp_path, []) == []


def test_what_is_counted_gives_the_metrics(run: Path) -> None:
    found = {
        metric: float(value[0])
        for of_set in counted(run, [7, 9])
        for metric, value in of_set.values(np.ones((1, of_set.draws().shape[1]))).items()
    }
    assert found == {
        "loss": pytest.approx(8.5 / 24),
        "perplexity": pytest.approx(np.exp(8.5 / 24)),
        **{name: pytest.approx(corpus_score(name, HYPOTHESES, REFERENCES).value, abs=1e-10) for name in COLUMNS},
        "accuracy": pytest.approx(2 / 5),
        "accuracy-per-token": pytest.approx(3 / 5),
        LONG_RANGE: pytest.approx(1 / 3),
    }
    assert all(LONG_RANGE not in of_set.statistics for of_set in counted(run, []))


def test_the_variance_under_resampling_is_that_of_a_mean(run: Path) -> None:
    rng = np.random.default_rng(3)
    won = rng.random(307) < 0.8
    write(
        run,
        "contrasts",
        [{"set": "", "distance": 1, "category": "", "right": float(w), "wrong": 0.5} for w in won],
    )
    (found,) = resampled_by_metric(run, [], {"accuracy": float(won.mean())}).values()
    assert found.values.var() == pytest.approx(won.var() / len(won), rel=0.1)


def test_the_same_draws_serve_all_runs_of_the_same_items_and_others_are_told_apart(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    rows = [{"set": "", "distance": d, "category": "", "right": 1.0, "wrong": 0.0} for d in (1, 2, 7, 7, 9)]
    write(other, "contrasts", rows)
    first, again = (resampled_by_metric(run, [], {"accuracy": 0.4})["accuracy"] for _ in range(2))
    assert (first.values == again.values).all()
    assert resampled_by_metric(other, [], {"accuracy": 1.0})["accuracy"].items != first.items
    assert np.ptp(resampled_by_metric(other, [], {"accuracy": 1.0})["accuracy"].values) == 0


def test_sequences_beyond_a_thousand_are_drawn_in_groups(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    right = rng.binomial(3, 0.7, size=2 * GROUPS + 7)
    rows = [{"set": "", "right": int(k), "answers": 3, "nats": float(k) / 2} for k in right]
    write(tmp_path, "answers", [*rows, {"set": "length=48", "right": 0, "answers": 9, "nats": 7.0}])
    reported = {"accuracy": float(right.sum() / len(right) / 3), "loss": float(right.sum() / len(right) / 6)}
    found = resampled_by_metric(tmp_path, [], reported)
    assert found.keys() == {"accuracy", "loss"}
    assert found["accuracy"].size == len(right)
    assert found["accuracy"].values.mean() == pytest.approx(reported["accuracy"], rel=0.01)
    assert found["accuracy"].values.var() == pytest.approx((right / 3).var() / len(right), rel=0.15)


def test_few_pairs_at_a_distance_among_many_are_drawn_by_themselves(run: Path) -> None:
    """Of 100 pairs 5 are far: one draw of all in 150 would have none of those, and no accuracy."""
    rows = [{"set": "", "distance": 1 + 8 * (i < 5), "category": "", "right": i % 2, "wrong": 0.5} for i in range(100)]
    write(run, "contrasts", rows)
    found = resampled_by_metric(run, [9.0], {"accuracy": 0.5, LONG_RANGE: 0.4})
    assert found[LONG_RANGE].values.var() == pytest.approx(0.4 * 0.6 / 5, rel=0.1)
    write(run, "contrasts", rows[1:])
    assert set(resampled_by_metric(run, [9.0], {"accuracy": 50 / 99, LONG_RANGE: 0.5})) == {"accuracy"}, "four"


def test_items_that_do_not_give_the_reported_value_are_not_used(run: Path) -> None:
    reported = {"loss": 8.5 / 24, "bleu": 1.0, "perplexity": 2.0}
    assert set(resampled_by_metric(run, [], reported)) == {"loss"}


def test_sentences_without_counts_have_a_loss_alone(run: Path) -> None:
    texts = {"source": "s", "reference": "r", "hypothesis": "h"}
    write(
        run, "translations", [{"set": "", **texts, "nats": n, "tokens": t} for n, t in zip(NATS, TOKENS, strict=True)]
    )
    assert set(resampled_by_metric(run, [], {"loss": 8.5 / 24, "bleu": 0.0})) == {"loss"}


def test_a_number_that_is_none_wins_nothing_and_gives_no_metric(run: Path) -> None:
    rows = [
        {"set": "", "distance": 1, "category": "", "right": right, "wrong": -3.0} for right in (np.nan, *[-2.0] * 4)
    ]
    write(run, "contrasts", rows)
    made = make_translations(["s"] * 5, REFERENCES, HYPOTHESES, HYPOTHESES, [np.nan] * 5, TOKENS)
    write(run, "translations", [{"set": "", **row} for row in translation_rows(made)])
    assert contrasts(run)["won"].tolist() == [False, *[True] * 4]  # type: ignore[index]
    assert set(resampled_by_metric(run, [], {"loss": 0.3, "accuracy": 0.8})) == {"accuracy"}


@pytest.mark.parametrize("content", [b"", b"half a file", b"\x1f\x8b\x08\x00\x00"])
def test_a_file_that_cannot_be_read_is_named(content: bytes, run: Path) -> None:
    path = run / "outputs" / "contrasts.csv.gz"
    path.write_bytes(content)
    with pytest.raises(RowsError, match=r"contrasts.csv.gz: cannot be read"):
        contrasts(run)
    write(run, "contrasts", [{"set": "", "distance": 1}])
    with pytest.raises(RowsError, match=r"contrasts.csv.gz: cannot be read"):
        contrasts(run)


def test_a_value_that_was_fixed_depends_on_no_item() -> None:
    assert constant(0.25).items is None
    assert set(constant(0.25).values) == {0.25}
