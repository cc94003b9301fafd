"""CTranslate2 in float32: the near-limit of decoding on a CPU. It does not train."""

import tempfile
from pathlib import Path
from typing import Any

import ctranslate2  # type: ignore[import-not-found]  # in this peer's environment only
import numpy as np

from tests.benchmarks.peers.prepared import BEAM, LENGTH_PENALTY, Array, Prepared, limit, load, sinusoids
from tests.benchmarks.peers.protocol import Rounds, serve, timed_outputs

POSITIONS = 512


def start(folder: Path) -> tuple[str, Rounds]:
    """One thread, float32, our weights."""
    prepared = load(folder)
    with tempfile.TemporaryDirectory() as model:
        specification(prepared).save(model)
        translator = ctranslate2.Translator(model, "cpu", compute_type="float32", intra_threads=1, inter_threads=1)
    return f"ctranslate2 {ctranslate2.__version__}", {
        "greedy": lambda: timed_outputs(lambda: translate(translator, prepared, beam_size=1)),
        "beam": lambda: timed_outputs(
            lambda: translate(translator, prepared, beam_size=BEAM, length_penalty=LENGTH_PENALTY)
        ),
    }


def tokens(prepared: Prepared) -> list[str]:
    """Names of the ids: CTranslate2 takes and gives text."""
    sizes = prepared.sizes
    names = [f"t{index}" for index in range(sizes.vocabulary)]
    names[sizes.start], names[sizes.end], names[sizes.unknown] = "<s>", "</s>", "<unk>"
    return names


def specification(prepared: Prepared) -> Any:
    """Their description of a model, filled with our weights."""
    sizes, weights = prepared.sizes, prepared.weights
    spec = ctranslate2.specs.TransformerSpec.from_config((sizes.n_layers, sizes.n_layers), sizes.n_heads)
    table = sinusoids(POSITIONS, sizes.d_model)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = weights["embedding"]
    spec.decoder.projection.weight, spec.decoder.projection.bias = weights["embedding"], weights["output.bias"]
    for side, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        stack.position_encodings.encodings = table
        set_norm(stack.layer_norm, weights, side)
        for index, layer in enumerate(stack.layer):
            name = f"{side}.{index}"
            set_attention(layer.self_attention, weights, f"{name}.self", (("query", "key", "value"), ("output",)))
            if side == "decoder":
                set_attention(layer.attention, weights, f"{name}.cross", (("query",), ("key", "value"), ("output",)))
            set_norm(layer.ffn.layer_norm, weights, f"{name}.feed_forward")
            for theirs, ours in ((layer.ffn.linear_0, "input"), (layer.ffn.linear_1, "output")):
                theirs.weight = weights[f"{name}.feed_forward.{ours}.weight"]
                theirs.bias = weights[f"{name}.feed_forward.{ours}.bias"]
    for register in (spec.register_source_vocabulary, spec.register_target_vocabulary):
        register(tokens(prepared))
    spec.validate()
    spec.optimize()
    return spec


def set_attention(attention: Any, weights: dict[str, Array], name: str, maps: tuple[tuple[str, ...], ...]) -> None:
    """Maps of the same input are one matrix there."""
    set_norm(attention.layer_norm, weights, name)
    for linear, parts in zip(attention.linear, maps, strict=True):
        linear.weight = np.concatenate([weights[f"{name}.{part}"] for part in parts])
        linear.bias = np.zeros(len(linear.weight), dtype=np.float32)


def set_norm(norm: Any, weights: dict[str, Array], name: str) -> None:
    """Gain and bias."""
    norm.gamma, norm.beta = weights[f"{name}.norm.weight"], weights[f"{name}.norm.bias"]


def translate(translator: Any, prepared: Prepared, **search: Any) -> list[list[int]]:
    """All sentences, batch by batch, ids to names and back included."""
    names = tokens(prepared)
    ids = {name: index for index, name in enumerate(names)}
    outputs = []
    for source in prepared.sentences:
        texts = [[names[index] for index in row if index != prepared.sizes.pad] for row in source.tolist()]
        results = translator.translate_batch(texts, max_decoding_length=limit(source), **search)
        outputs += [[ids[name] for name in result.hypotheses[0]] for result in results]
    return outputs


if __name__ == "__main__":
    serve(start)
