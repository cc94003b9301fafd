"""Sentences say what the numbers say, and no more."""

from typing import Any

import pandas as pd
import pytest

from reports.metrics import LONG_RANGE, METRICS
from reports.statistics import paired_effect
from reports.wording import (
    OTHERS,
    Doubts,
    categories_caption,
    caveats,
    change,
    clearest,
    effect_note,
    effects_caption,
    estimate,
    headline,
    interval,
    long_range_note,
    other_headlines,
    others_caption,
    outcomes,
    quantity,
    ratio,
    scope_of,
    seeds_note,
    seeds_of,
    sentence,
    times,
    within,
)

NAN = float("nan")


def effects(metric: str, **differences: list[float]) -> pd.DataFrame:
    """Effects on one metric; differences against a base of zeros, one a seed; every planned run completed."""
    rows: list[dict[str, Any]] = [
        {"metric": metric, "variant": v.replace("_", "-"), **whole(len(d)), **vars(paired_effect([0.0] * len(d), d))}
        for v, d in differences.items()
    ]
    return pd.DataFrame(rows).astype({"low": float, "high": float})


def whole(seeds: int) -> dict[str, Any]:
    """Counts where all went well."""
    counts = {"planned": seeds, "completed": seeds, "diverged": 0}
    return {"scope": "seeds", **counts, **{f"base_{name}": n for name, n in counts.items()}}


def test_the_headline_is_the_largest_harm() -> None:
    frame = effects("loss", no_mask=[-5.0, -5.1, -5.2], no_residual=[2.9, 3.0, 3.1], lstm=[1.0, 1.1, 1.2])
    text = headline(frame, "loss").replace("\N{NO-BREAK SPACE}", " ")
    assert text == "Loss rises most with no-residual: +3 nats per token (95 % interval +2.75 to +3.25, 3 seeds)."
    frame = effects("bleu", no_mask=[-90.0, -91.0, -89.5], one_head=[5.0, 5.5, 6.0])
    assert headline(frame, "bleu").startswith("BLEU falls most with no-mask: −90.2 points (95")


def test_the_headline_says_when_nothing_differs() -> None:
    frame = effects("parameters", one_head=[0.0, 0.0], two_heads=[0.0, 0.0])
    assert headline(frame, "parameters") == "No variant differs from the base in parameters."
    frame = effects("loss", one_head=[0.0, 0.0])
    assert headline(frame, "loss") == "No variant differs from the base in loss."


def test_the_headline_does_not_take_noise_for_an_effect() -> None:
    frame = effects("loss", one_head=[0.5, -0.4, 0.3], no_norm=[0.01, -0.01, 0.005])
    text = headline(frame, "loss")
    no_worse = "No variant has a worse loss than the base"
    assert text.startswith(
        f"{no_worse} by more than the noise between seeds; the largest difference is that of one-head: +0.133"
    )
    wide = frame.assign(scope="seeds and items")
    assert headline(wide, "loss").startswith(f"{no_worse} by more than the noise between seeds and test items; the")


def test_where_nothing_is_worse_the_best_is_named() -> None:
    gain = effects("loss", best=[-1.0, -1.1, -1.2], good=[-0.5, -0.6, -0.4], noise=[0.5, -0.4, 0.3])
    text = headline(gain[gain["variant"] != "noise"], "loss").replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("No variant has a worse loss than the base, and best is best: −1.1 nats per token (95 % in")
    text = headline(gain, "loss").replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("No variant has a worse loss than the base by more than the noise between seeds, and best ")
    assert other_headlines(gain, ["loss"]).startswith(
        "No variant is worse in loss by more than the noise between seeds, and best is best: −1.1"
    )
    unclear = effects("loss", x=[-0.5, 0.4, -0.3])
    assert headline(unclear, "loss") == "No variant has a worse loss than the base."


def test_one_seed_astray_does_not_hide_what_is_the_same_in_every_seed() -> None:
    frame = effects("bleu", wild=[-40.0, 0.0, 1.0], steady=[-8.0, -8.0, -8.0])
    assert headline(frame, "bleu").startswith("BLEU falls most with steady: −8 points (the same in 3 of 3 seeds")
    assert other_headlines(frame, ["bleu"]).startswith("BLEU falls most with steady: −8 points")


def test_what_is_the_same_in_every_seed_may_still_be_an_accident_of_the_items() -> None:
    row = vars(paired_effect([0.9, 0.9, 0.9], [0.8, 0.8, 0.8], item_variance=0.01))
    frame = pd.DataFrame([{"metric": "accuracy", "variant": "x", **whole(3), "scope": "seeds and items", **row}])
    assert headline(frame, "accuracy").startswith(
        "No variant has a worse accuracy than the base by more than the noise between seeds and test"
    )


def test_the_headline_says_when_there_is_no_interval() -> None:
    assert headline(effects("accuracy", lstm=[-0.4]), "accuracy") == (
        "Accuracy falls most with lstm: −0.4 (one seed: no interval)."
    )
    text = headline(effects("accuracy", lstm=[-0.5, -0.5, -0.5]), "accuracy").replace("\N{NO-BREAK SPACE}", " ")
    assert text == "Accuracy falls most with lstm: −0.5 (the same in 3 of 3 seeds)."


def test_a_metric_without_a_better_side_has_no_harm() -> None:
    text = headline(effects("gradient_norm", deep=[-3.0, -3.1, -2.9], shallow=[1.0, 1.1, 1.2]), "gradient_norm")
    assert text.startswith("Gradient norm differs most from the base's with deep: −3 (95")


def test_further_metrics_get_a_clause_each_with_size_and_certainty() -> None:
    frame = pd.concat(
        [
            effects("bleu", a=[-90.0, -91.0], b=[-2.0, -3.0]),
            effects(LONG_RANGE, a=[-0.1, -0.1], lstm=[-0.3, -0.31]),
            effects("accuracy", a=[0.1, 0.2]),
            effects("chrf", a=[-1.0, 0.5, 0.1]),
            effects("rank", a=[1.0, 2.0]),
        ]
    )
    text = other_headlines(frame, ["bleu", LONG_RANGE, "accuracy", "chrf", "rank"]).replace("\N{NO-BREAK SPACE}", " ")
    assert text == (
        "BLEU falls most with a: −90.5 points (95 % interval −96.9 to −84.1, 2 seeds); "
        "long-range accuracy falls most with lstm: −0.305 (95 % interval −0.369 to −0.241, 2 seeds); "
        "no variant is worse in accuracy; "
        "no variant is worse in chrF by more than the noise between seeds."
    )
    assert other_headlines(frame, []) == ""


def test_what_sees_the_future_is_never_called_better() -> None:
    doubts = Doubts(leaking={"no-mask"})
    alone = effects("loss", no_mask=[-5.0, -5.1, -5.2])
    assert "no-mask is best" in headline(alone, "loss")
    assert headline(alone, "loss", doubts) == "No variant's loss can be compared with the base's."
    assert other_headlines(alone, ["loss"], doubts) == "Loss can be compared with the base's for no variant."
    assert caveats(alone, ["loss"], doubts) == ["no-mask sees the words that it is to say: its better loss is no gain."]
    both = pd.concat([alone, effects("accuracy", no_mask=[0.2, 0.3, 0.25])])
    assert caveats(both, ["loss", "accuracy"], doubts)[0].endswith("its better loss and accuracy are no gain.")
    worse = effects("loss", no_mask=[5.0, 5.1, 5.2])
    assert headline(worse, "loss", doubts).startswith("Loss rises most with no-mask")
    assert caveats(worse, ["loss"], doubts) == []
    assert len(caveats(effects("loss", no_mask=[-5.0]), ["loss"], doubts)) == 1, "one seed: it may be"


def test_what_may_be_better_by_chance_gets_no_caveat() -> None:
    doubts = Doubts(leaking={"no-mask"})
    chance = effects("accuracy", no_mask=[0.2, -0.15, 0.1])
    assert caveats(chance, ["accuracy"], doubts) == []
    clear = effects("loss", no_mask=[-5.0, -5.1, -5.2])
    assert caveats(pd.concat([chance, clear]), ["accuracy", "loss"], doubts) == [
        "no-mask sees the words that it is to say: its better loss is no gain."
    ]


def test_translations_are_made_without_the_future_and_count_as_they_are() -> None:
    doubts = Doubts(leaking={"no-mask"})
    frame = effects("bleu", no_mask=[5.0, 5.1, 5.2])
    assert headline(frame, "bleu", doubts).startswith("No variant has a worse BLEU than the base, and no-mask is best")
    assert caveats(frame, ["bleu"], doubts) == []


def test_the_fixed_loss_of_a_diverged_variant_is_no_gain_over_a_bad_base() -> None:
    doubts = Doubts(diverged={"deep"}, base="plain")
    frame = pd.concat(
        [effects("loss", deep=[-1.0, -1.1, -1.2], wide=[0.5, 0.6, 0.7]), effects("bleu", deep=[-2.0, -3.0])]
    )
    assert headline(frame, "loss", doubts).startswith("Loss rises most with wide")
    assert caveats(frame, ["loss", "bleu"], doubts) == [
        "deep diverged, and has a value fixed for that: its better loss is no gain.",
        "Runs of the base, plain, diverged: differences from it are from values fixed for that.",
    ]


def test_runs_that_are_not_there_are_counted_with_every_number() -> None:
    row = {"n_seeds": 2, "planned": 3, "completed": 1, "diverged": 1}
    base = {"base_planned": 3, "base_completed": 3, "base_diverged": 0}
    assert seeds_of({**row, **base}) == "2 of 3 seeds, 1 diverged"
    assert seeds_of({**row, **base, "base_completed": 1, "base_diverged": 2}) == (
        "2 of 3 seeds, 1 diverged, 2 of the base diverged"
    )
    assert seeds_of({"n_seeds": 1, **whole(1)}) == "1 seed"
    frame = effects("loss", x=[1.0, 1.1]).assign(planned=3, base_planned=3, base_completed=3)
    assert headline(frame, "loss").endswith(", 2 of 3 seeds).")


def test_notes_on_effects_without_interval() -> None:
    assert effect_note(vars(paired_effect([0.0], [1.0]))) == "one seed: no interval"
    assert effect_note(vars(paired_effect([0.0, 0.0], [1.0, 2.0]))) == ""
    assert "the same in 4 of 4 seeds" in effect_note(vars(paired_effect([0.0] * 4, [1.0] * 4)))
    assert interval(NAN, NAN, "loss") == "–"
    assert interval(-0.5, 0.25, "loss") == "−0.500 to +0.250"


@pytest.mark.parametrize(("seeds", "word"), [(1, "no interval"), (2, "so wide"), (3, ""), (10, "")])
def test_few_seeds_are_said(seeds: int, word: str) -> None:
    assert word in seeds_note(seeds)
    assert bool(seeds_note(seeds)) == bool(word)
    frame = effects("loss", a=[0.1 * i for i in range(seeds)])
    caption = effects_caption(frame, pd.DataFrame(), ["loss"], compressed=False)
    assert ("new seeds on the same test items" in caption) == (seeds > 1)
    assert times(seeds, "seed") in caption
    assert seeds_note(seeds) in caption


def test_long_range_is_defined_with_its_distances() -> None:
    rows = [{"metric": "accuracy", "coordinate": f"distance={d}", "value": 1.0} for d in range(1, 18)]
    frame = pd.DataFrame(rows)
    assert long_range_note(frame) == (
        "Long-range accuracy is the mean accuracy over the longest third of the distances: 12 to 17."
    )
    counted = pd.DataFrame([*rows, *({**row, "metric": "items", "value": 9.0} for row in rows)])
    assert long_range_note(counted) == (
        "Long-range accuracy is the mean accuracy weighted by test items over the longest third of the distances: "
        "12 to 17 (54 test items). So few say little."
    )
    many = counted.assign(value=20.0)
    assert long_range_note(many).endswith("12 to 17 (120 test items).")
    unknown = counted[(counted["metric"] != "items") | (counted["coordinate"] != "distance=17")]
    assert long_range_note(unknown).endswith("the mean accuracy over the longest third of the distances: 12 to 17.")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (286976, "287 k"),
        (1.31e12, "1.31 T"),
        (999_999.0, "1 M"),
        (17.25, "17.2"),
        (512.0, "512"),
        (4321.5, "4322"),
        (None, "–"),
        (NAN, "–"),
        (0, "0"),
    ],
)
def test_quantities(value: float | None, text: str) -> None:
    assert quantity(value) == text


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (89.0, 100.0, "−11 %"),
        (130.0, 100.0, "+30 %"),
        (900.0, 100.0, "×9"),
        (100.2, 100.0, ""),
        (1.0, None, ""),
        (NAN, 1.0, ""),
    ],
)
def test_costs_against_the_base(value: float, base: float | None, text: str) -> None:
    assert ratio(value, base) == text


def test_the_caption_of_other_values_explains_what_is_there() -> None:
    plain = others_caption(["loss", "chrf", "exposure-gap"], diverged=False)
    assert plain.startswith("Means over seeds. Exposure gap: ")
    assert "Perplexity" not in plain
    assert "Only runs that completed" in others_caption(["loss"], diverged=True)
    assert others_caption(["rank"], diverged=False) == "Means over seeds."


def test_every_metric_explained_is_known() -> None:
    assert set(OTHERS) <= set(METRICS)


def test_the_caption_of_categories_speaks_of_tokens_where_they_matter() -> None:
    assert "per token" in categories_caption(by_token=True)
    assert "per token" not in categories_caption(by_token=False)


def test_what_an_interval_speaks_of() -> None:
    frame = pd.concat([effects("loss", a=[1.0, 2.0]), effects("bleu", a=[1.0, 2.0], b=[2.0, 4.0])])
    assert scope_of(frame) == "new seeds on the same test items"
    assert scope_of(frame.assign(scope="seeds and items")) == "new seeds and new test items"
    mixed = frame.assign(scope=["seeds", "seeds and items", "seeds and items"])
    assert scope_of(mixed) == "new seeds on the same test items, for BLEU of new test items too"
    partly = frame.assign(scope=["seeds", "seeds", "seeds and items"])
    assert scope_of(partly) == "new seeds on the same test items"


def test_outcomes_are_counted_in_the_order_of_the_rule() -> None:
    assert outcomes(["not run", "supported", "inconclusive", "supported"]) == "2 supported, 1 inconclusive, 1 not run"
    assert outcomes([]) == ""


def test_estimates_have_three_digits_and_their_interval() -> None:
    assert estimate(-0.12345, -0.2, 0.0512) == "−0.123 (−0.200 to 0.0512)"
    assert estimate(0.5, None, None) == "0.5"
    assert estimate(None, None, None) == "–"
    assert estimate(NAN, NAN, NAN) == "–"


def test_sentences_begin_with_a_capital_and_end() -> None:
    assert sentence("bLEU of x") == "BLEU of x."
    assert sentence("Done.") == "Done."


def test_where_seeds_were_added_the_level_is_that_of_a_look() -> None:
    frame, looks = effects("loss", a=[0.3, 0.31, 0.32]), [5, 10, 20]
    third = "98.3\N{NO-BREAK SPACE}%"
    assert f"({third} interval " in headline(frame, "loss", looks=looks)
    assert f"({third} interval " in other_headlines(frame, ["loss"], looks=looks)
    assert f"Bar and ±: {third} t interval;" in effects_caption(
        frame, pd.DataFrame(), ["loss"], compressed=False, looks=looks
    )
    assert "98.3" not in headline(frame, "loss") + other_headlines(frame, ["loss"])
    assert "98.3" not in effects_caption(frame, pd.DataFrame(), ["loss"], compressed=False)


@pytest.mark.parametrize(
    ("ends", "texts"),
    [
        ((0.5, 0.4, 0.6), ("+0.500", "+0.400 to +0.600")),
        ((0.0004, 0.0001, 0.0007), ("+0.00040", "+0.00010 to +0.00070")),
        ((2.0, 1.9998, 2.0002), ("+2.00000", "+1.99980 to +2.00020")),
        ((0.00012, NAN, NAN), ("+0.00012", "–")),
        ((3e-17, -2e-16, 3e-16), ("0.000", "0.000 to 0.000")),
    ],
)
def test_differences_have_the_digits_of_their_interval(
    ends: tuple[float, float, float], texts: tuple[str, str]
) -> None:
    assert (change(*ends, "loss"), interval(*ends[1:], "loss")) == texts


def test_the_harm_that_the_headline_names_is_the_clearest() -> None:
    frame = effects("loss", wild=[9.0, -8.0, 1.0], steady=[0.5, 0.6, 0.55], gain=[-3.0, -3.1, -2.9])
    row = clearest(frame, "loss")
    assert row is not None
    assert headline(frame, "loss").startswith(f"Loss rises most with {row['variant']}")
    assert row["variant"] == "steady"
    assert clearest(frame[frame["variant"] != "steady"], "loss") is None
    assert clearest(effects("gradient_norm", a=[1.0, 1.1]), "gradient_norm") is None


def test_what_sees_the_future_is_no_better_at_other_lengths() -> None:
    doubts = Doubts(leaking={"seer"})
    assert doubts.of("seer", "loss@length=97")
    assert not doubts.of("seer", "bleu@length=97")


def test_a_sentence_can_be_said_of_one_experiment() -> None:
    assert within("german", "Loss rises most with x.") == "In german, loss rises most with x."
    assert within("german", "BLEU falls.") == "In german, BLEU falls."
