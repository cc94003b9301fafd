"""Each probe of a mechanism on every kind of model: it applies or it is refused, and it leaves all as it was."""

import math
from typing import Any

import pytest

from models.probes import PROBES
from tests.models.probes.examples import NEXT_TOKEN, TRANSLATION, made, pairs, tags, text, untouched

MODELS: dict[str, tuple[Any, Any]] = {
    "decoder": ({"architecture": "decoder", "shape": NEXT_TOKEN}, text),
    "decoder tagger": ({"architecture": "decoder"}, tags),
    "encoder tagger": ({"architecture": "encoder"}, tags),
    "encoder-decoder": ({"architecture": "encoder-decoder", "shape": TRANSLATION}, pairs),
    **{
        f"{net}": ({"architecture": net, "shape": NEXT_TOKEN, "cross_attention": "dot"}, text) for net in ("rnn", "gru")
    },
    **{f"{net} tagger": ({"architecture": net}, tags) for net in ("rnn", "lstm", "gru")},
    "lstm translator": ({"architecture": "lstm", "shape": TRANSLATION}, pairs),
}
TRANSFORMERS = {"decoder", "decoder tagger", "encoder tagger", "encoder-decoder"}
TRANSLATORS = {"encoder-decoder", "lstm translator"}
TAGGERS = {name for name in MODELS if name.endswith("tagger")}
APPLIES = {
    "reach": TAGGERS,
    "gradient-norm": set(MODELS),
    "attention-mass": TRANSFORMERS & TAGGERS,
    "attention-entropy": TRANSFORMERS,
    "attention-rank": TRANSFORMERS,
    "scores": TRANSFORMERS,
    "token-similarity": set(MODELS),
    "norm-statistics": TRANSFORMERS,
    "leak": set(MODELS),
    "honest-loss": set(MODELS) - TRANSLATORS - {"encoder tagger"},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("probe", APPLIES)
def test_it_applies_or_is_refused_in_a_line_and_leaves_all_as_it_was(probe: str, name: str) -> None:
    parts, make = MODELS[name]
    model, batches = made(**parts, dropout=0.3).train(), [make(seed=1), make(seed=5)]
    with untouched(model, batches):
        if name not in APPLIES[probe]:
            with pytest.raises(ValueError, match=f"^{probe}: [^\n]+$"):
                PROBES[probe](model, batches)
            return
        first, second = (PROBES[probe](model, batches) for _ in range(2))
    assert first
    assert first == second
    assert all(math.isfinite(row.value) for row in first)
    assert len({row[:2] for row in first}) == len(first)
