"""What every column of the page's tables means, in plain words: once for each kind of table, at the end of the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.metrics import facts
from reports.pages.grids import Grid

Texts = dict[str, str]
"""Name of a column to what it means, in the order of the page."""

VARIANT = "What is changed against the base; the line is how it is drawn in the figures of lines."
METRIC = "What was measured. What each metric is stands further down."
COST = {
    "Parameters": "Numbers that training can change: weights, gains, biases.",
    "Training FLOPs": "Multiplications and additions of all training steps, counted from the shapes (k, M, G, T: 10³, "
    "10⁶, 10⁹, 10¹²).",
    "Training seconds": "Time by the clock that the training steps took, without validation.",
    "Tokens per CPU second": "Tokens trained on for each second that processors spent on it.",
}

COLUMNS: Mapping[str, Texts] = {
    "Claims": {
        "Claim": "Its short name and what it states.",
        "Verdict": "Whether the runs agree with it: with all of its conditions, with their intervals.",
        "Effect": "The quantity of each condition with its interval; of an exact one the worst value of all runs.",
        "Wanted": "The values that agree with the claim, fixed before the runs.",
        "Kind": "Exact: an identity or a count. Structural: at any budget. Speed: within these steps. Hardware: time.",
        "Seeds": "Runs from different random numbers that have a value, of those planned.",
    },
    "What the seeds can show": {
        "Metric": METRIC,
        "Spread of the base over seeds": "How far the base's runs lie apart: sample deviation; n is their number.",
        "Smallest effect to be seen": "The difference that so many seeds would show four times out of five.",
        "Seeds needed, where undecided": "For an effect of the size that was seen, of variants whose interval holds "
        "zero; the nearest first.",
    },
    "What matters how much": {
        "Metric": METRIC,
        "Settings": "A setting that is varied; with ×, what several do only together.",
        "Share of the differences": "Part of all differences between the means of the combinations.",
        "F": "Differences that this makes, over the scatter of seeds.",
        "p": "How often chance alone would make an F as large.",
        "fANOVA": "Share that a random forest gives to the setting by itself.",
        "PED-ANOVA": "How much the setting decides whether a run is among the best quarter.",
    },
    "Variants": {
        "Variant": VARIANT,
        **COST,
        "Seeds": "Runs that are counted, of those planned; what became of the others.",
    },
    "Other lengths": {"Metric": METRIC, "Variant": VARIANT},
    "Accuracy by category": {
        "Variant": VARIANT,
        "Category": "A kind of test item.",
        "Test items": "How many items of the category the test set has.",
    },
    "Other values": {"Variant": VARIANT},
    "Effects in numbers": {
        "Metric": METRIC,
        "Variant": VARIANT,
        "Difference": "Mean over seeds of the variant's value minus the base's.",
        "Unpaired (Welch)": "The interval without pairing the runs of one seed.",
        "Correlation": "Of the values of variant and base over seeds: near 1, pairing helps much; near 0, not at all.",
        "p": "How often chance alone would make a difference as large, if there were none (paired t test).",
        "p (Holm)": "The same, corrected for the number of variants on this metric.",
        "Seeds": "Seeds that both the variant and the base have, and what is missing.",
        "Seeds needed": "For an effect of this size to be seen four times out of five.",
    },
    "What each variant changes": {
        "Variant": VARIANT,
        "Setting": "Its place in a study file.",
        "Base": "The value that the base has.",
        "Variant has": "The value that the variant has.",
        "Note": "As a consequence: it follows from what was changed. Empty: it is the change.",
    },
    "Fair comparison": {
        "Variant": VARIANT,
        "Same settings": "Variant minus base, both trained with the same settings.",
        "Matched": "Variant minus base, one width of the variant changed so that it has the base's parameters. As it "
        "is: it had them already.",
        "Tuned": "Variant minus base, each at the best point of a search of its own.",
        "Verdict": "With the same settings; after it those of other comparisons that are another.",
        "Same settings: parameters": "Parameters; under them the shares of the base's parameters and operations.",
        "Matched: parameters": "Parameters after matching; under them the width that was changed, and the shares.",
        "Tuned: best point": "The settings of the lowest validation loss; under them the loss and the trials.",
    },
    "Over all experiments": {
        "Metric": METRIC,
        "Variant": VARIANT,
        "Experiments": "How many experiments have the variant.",
        "Seeds": "Seeds that all of its runs and the base's have.",
        "Interquartile mean of the change": "Variant minus base, a mean over experiments without the extreme ones.",
        "Beats the base": "Share of pairs of runs, one of each, in which the variant's is better.",
    },
    "Parts of the model": {
        "Experiment": "Where it was measured.",
        "Value": "What the part was set to; under it the variant's name where that is another.",
        "Base has": "What the base of the experiment has there.",
    },
    "Cost": {
        "Experiment": "All of its runs together.",
        "Runs": "Those that completed or diverged.",
        **COST,
        "Seconds": "By the clock, with validation and testing.",
        "of them training": "By the clock, of the training steps alone.",
        "CPU seconds of training": "Time of all processors together.",
        "Parameters, most": "Of the largest run.",
        "Peak memory (MiB)": "The most that one run's process held.",
    },
    "What did not complete": {
        "Experiment": "Where the runs were planned.",
        "Variant": VARIANT,
        "Seeds": "Which runs, by the number that their random numbers start from.",
        "State": "Diverged: a value was not finite. Failed: an error. Missing: not run. Conflict: two results.",
        "Reason": "What the run said.",
    },
}
"""Kind of table to its columns, without those that are named by metrics, variants or categories."""

NAMED: Mapping[str, tuple[str, str]] = {
    "Variants": ("A metric", "Mean over seeds; under it the change against the base."),
    "Other lengths": ("A length", "Variant minus base on sequences of this length; of the base its mean."),
    "Accuracy by category": ("A category or a variant", "Share of its items that are right, mean over seeds."),
    "Other values": ("A metric", "Mean over seeds; with a name behind it, of this part of the test set or model."),
    "Parts of the model": ("A metric", "Variant minus base; under it the interval."),
}
"""Kind of table to what its columns are that are named by the data, and what stands in them."""
INTERVAL = (
    "Made so that it holds the true difference in 95 of 100 repetitions, or at the level named; the one in the figures."
)

MEANINGS = {
    "loss": "Surprise at the right next token, in nats (natural logarithm); guessing among V tokens has ln V.",
    "perplexity": "The exponential of the loss: among how many equally likely tokens it is as hard to choose.",
    "bleu": "Words and runs of up to four words that a translation shares with the reference, 0 to 100.",
    "bleu-lower": "BLEU without capital letters, as in many publications.",
    "chrf": "As BLEU, with letters in place of words, 0 to 100.",
    "chrf-forced": "chrF of the likeliest token at each place, given the true ones before it.",
    "exposure-gap": "How much chrF is lost when a model goes on from its own words.",
    "length-ratio": "Tokens of the translations over those of the references.",
    "empty": "Share of sentences of which the translation has no word.",
    "accuracy": "Share of answers that are right; of sentence pairs, how often the right one is the likelier.",
    "accuracy-per-token": "The same with log-probabilities divided by the number of tokens.",
    "bleu-shuffled": "BLEU against the references of other sentences: what needs no reading of the source.",
    "attention_mass": "Largest share of attention that a layer gives to the token with the answer.",
    "attention_self_mass": "Share of attention that a token gives to itself.",
    "attention_entropy": "How evenly attention is spread: 0 for one place, ln n for n places alike.",
    "log_reach": "How much an answer moves with a token at a distance: log10 of the gradient's norm.",
    "gradient_norm": "Length of the gradient of the loss by a layer's weights.",
    "gradient_decades": "How many powers of ten the first layer's gradient is larger than the last one's.",
    "score_deviation": "Spread of the attention scores before the softmax.",
    "score_entropy": "How evenly the weights after the softmax are spread, in nats.",
    "softmax_gradient": "How much the softmax lets through of a change of its scores; 0 where it is saturated.",
    "dead_scores": "Share of attention scores that the loss hardly moves with.",
    "token_similarity": "Cosine between different tokens of a sentence: 1 where they have become the same.",
    "honest_loss": "The loss where each token is predicted from those before it alone.",
    "steps_to_target": "Training steps until the validation target was reached.",
    "flops_to_target": "Operations until the validation target was reached.",
    "operations_per_token": "Operations one after another that one more token adds; 0 where all run at once.",
    "parameters": "Numbers that training can change.",
    "multiply_adds": "Multiplications with an addition in one forward pass.",
    "long_range_accuracy": "Accuracy over the longest third of the distances.",
}
"""What each metric of reports.metrics is, in plain words."""


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The columns of one kind of table."""

    title: str
    columns: list[tuple[str, str]]
    """Name and meaning."""


def meanings(
    sections: Sequence[Any],
    components: Sequence[Any],
    overall: Grid | None,
    cost: Grid | None,
    *,
    verdicts: bool,
    unfinished: bool,
) -> list[Meaning]:
    """Every column of the tables of a page (sections.Section and so on), by kind of table; then the metrics."""
    fair = [grid for section in sections if section.fair for grid in section.fair.grids]
    parts = {
        "Claims": list(COLUMNS["Claims"]) if verdicts else [],
        "What the seeds can show": _columns(section.noise for section in sections),
        "What matters how much": _columns(section.importance for section in sections),
        "Variants": _columns(section.variants for section in sections),
        "Other lengths": _columns(section.lengths for section in sections),
        "Accuracy by category": _columns(section.categories for section in sections),
        "Other values": _columns(section.others for section in sections),
        "Effects in numbers": _columns(section.effects for section in sections),
        "What each variant changes": _columns(section.changes for section in sections),
        "Fair comparison": _columns(fair),
        "Over all experiments": _columns([overall]),
        "Parts of the model": _columns(component.grid for component in components),
        "Cost": _columns([cost]),
        "What did not complete": list(COLUMNS["What did not complete"]) if unfinished else [],
    }
    found = [Meaning(title=kind, columns=_explained(kind, names)) for kind, names in parts.items() if names]
    shown = {name for names in parts.values() for name in names} | _metrics(sections)
    known = [(name, text) for metric, text in MEANINGS.items() if _is_in((name := facts(metric).name), shown)]
    return [*found, Meaning(title="Metrics", columns=known)] if known else found


def _columns(grids: Iterable[Grid | None]) -> list[str]:
    """Names of columns, once each."""
    return list(dict.fromkeys(column for grid in grids if grid for column in grid.columns))


def _metrics(sections: Sequence[Any]) -> set[str]:
    """Names of metrics that rows are about."""
    grids = [grid for section in sections for grid in (section.noise, section.effects) if grid]
    return {row[0].text for grid in grids for row in grid.rows}


def _is_in(metric: str, names: Iterable[str]) -> bool:
    """Whether a column has the name of a metric, alone or with that of a coordinate."""
    return any(name == metric or name.startswith(f"{metric} ") for name in names)


def _explained(kind: str, names: Sequence[str]) -> list[tuple[str, str]]:
    own = [(name, text) for name in names if (text := meaning(kind, name))]
    return [*own, NAMED[kind]] if len(own) < len(names) and kind in NAMED else own


def meaning(kind: str, name: str) -> str:
    """What a column of a kind of table means; empty for one that is named by the data."""
    return INTERVAL if name.endswith("interval, paired") else COLUMNS[kind].get(name, "")
