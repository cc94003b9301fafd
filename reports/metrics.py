"""What is known of each metric: its name on a page, its unit, which way is better, how many decimals it is worth."""

from dataclasses import dataclass, replace
from math import floor, log10

LONG_RANGE = "long_range_accuracy"
"""Accuracy at the longest distances, computed in reports.values."""


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """How a metric is to be read."""

    name: str
    unit: str
    better: int
    """+1 more is better, -1 less is better, 0 neither."""
    decimals: int | None
    """Decimals to print; None: three significant digits."""
    share: bool
    """Between 0 and 1."""


METRICS = {
    "loss": MetricFacts(name="Loss", unit="nats per token", better=-1, decimals=3, share=False),
    "perplexity": MetricFacts(name="Perplexity", unit="", better=-1, decimals=2, share=False),
    "bleu": MetricFacts(name="BLEU", unit="points", better=1, decimals=1, share=False),
    "bleu-lower": MetricFacts(name="BLEU, lower case", unit="points", better=1, decimals=1, share=False),
    "chrf": MetricFacts(name="chrF", unit="points", better=1, decimals=1, share=False),
    "chrf-forced": MetricFacts(name="chrF, true prefix", unit="points", better=1, decimals=1, share=False),
    "exposure-gap": MetricFacts(name="Exposure gap", unit="points", better=0, decimals=1, share=False),
    "length-ratio": MetricFacts(name="Length ratio", unit="", better=0, decimals=3, share=False),
    "empty": MetricFacts(name="Empty outputs", unit="share", better=-1, decimals=3, share=True),
    "accuracy": MetricFacts(name="Accuracy", unit="share right", better=1, decimals=3, share=True),
    "accuracy-per-token": MetricFacts(name="Accuracy per token", unit="share right", better=1, decimals=3, share=True),
    "bleu-shuffled": MetricFacts(name="BLEU, other sentences", unit="points", better=0, decimals=1, share=False),
    "attention_mass": MetricFacts(name="Attention on the answer", unit="share", better=1, decimals=3, share=True),
    "attention_self_mass": MetricFacts(name="Attention on itself", unit="share", better=0, decimals=3, share=True),
    "attention_entropy": MetricFacts(name="Attention entropy", unit="nats", better=0, decimals=3, share=False),
    "log_reach": MetricFacts(
        name="Gradient at a distance", unit="log10 of its norm", better=0, decimals=2, share=False
    ),
    "gradient_norm": MetricFacts(name="Gradient norm", unit="", better=0, decimals=None, share=False),
    "gradient_decades": MetricFacts(
        name="Gradient, first over last layer", unit="decades", better=0, decimals=2, share=False
    ),
    "score_deviation": MetricFacts(name="Deviation of the scores", unit="", better=0, decimals=2, share=False),
    "score_entropy": MetricFacts(name="Entropy of the weights", unit="nats", better=0, decimals=3, share=False),
    "softmax_gradient": MetricFacts(name="Trace of the softmax Jacobian", unit="", better=0, decimals=3, share=False),
    "dead_scores": MetricFacts(name="Scores without gradient", unit="share", better=-1, decimals=3, share=True),
    "token_similarity": MetricFacts(name="Cosine between tokens", unit="", better=0, decimals=3, share=False),
    "honest_loss": MetricFacts(name="Loss, prefix alone", unit="nats per token", better=-1, decimals=3, share=False),
    "steps_to_target": MetricFacts(name="Steps to the target", unit="steps", better=-1, decimals=0, share=False),
    "flops_to_target": MetricFacts(
        name="Operations to the target", unit="FLOPs", better=-1, decimals=None, share=False
    ),
    "operations_per_token": MetricFacts(
        name="Operations for each further token", unit="operations", better=-1, decimals=1, share=False
    ),
    "parameters": MetricFacts(name="Parameters", unit="", better=0, decimals=None, share=False),
    "multiply_adds": MetricFacts(name="Multiply-adds", unit="", better=0, decimals=None, share=False),
    LONG_RANGE: MetricFacts(name="Long-range accuracy", unit="share right", better=1, decimals=3, share=True),
}


def facts(metric: str) -> MetricFacts:
    """Facts of a metric; one that is not in METRICS goes by its own name and has no better side.

    `accuracy@length=256` has those of `accuracy`, and its place in the name.
    """
    whole, _, place = metric.partition("@")
    if place:
        of = facts(whole)
        return replace(of, name=f"{of.name} at {place.replace('=', ' ')}")
    name = metric.replace("_", " ").strip().capitalize() or metric
    return METRICS.get(metric, MetricFacts(name=name, unit="", better=0, decimals=None, share=False))


def place(metric: str) -> int:
    """Where a metric stands among others: as in METRICS, and those that are not in it last."""
    return list(METRICS).index(metric) if metric in METRICS else len(METRICS)


FINEST = 1e-7
"""What is smaller is rounding, and prints as zero."""


def decimals_for(usual: int, size: float) -> int:
    """Decimals at which something of this size is to be seen: the usual ones, or those of its second digit."""
    return usual if not FINEST <= abs(size) < 10.0**-usual else 1 - floor(log10(abs(size)))


def number(value: float, metric: str, size: float = 0.0) -> str:
    """A value to print: `0.083`, `97.1`, `1.2e-05`; a proper minus sign.

    It has the metric's decimals, and more where something of the given `size`, such as half the width of an interval,
    would not be seen among them.
    """
    usual = facts(metric).decimals
    decimals = None if usual is None else decimals_for(usual, size)
    text = _significant(value) if decimals is None else f"{value:.{decimals}f}"
    if decimals is not None and float(text) == 0:
        text = text.lstrip("-")  # no "-0.000"
    return text.replace("-", "−")


def _significant(value: float) -> str:
    """Three digits; without an exponent as long as there is no need of one."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1e3 <= abs(rounded) < 1e7 else f"{value:.3g}"


def signed(value: float, metric: str, size: float = 0.0) -> str:
    """A difference to print, with the decimals of `number`: `+2.870`, `−96.1`, `0.000`."""
    text = number(value, metric, size)
    return text if text.startswith("−") or not any(digit in text for digit in "123456789") else f"+{text}"
