"""Hugging Face's MBart, its pre-norm encoder-decoder, trained and used through `generate`."""

from pathlib import Path
from typing import Any

import torch
import transformers  # type: ignore[import-not-found]  # in this peer's environment only
from torch import Tensor, nn

from tests.benchmarks.peers.prepared import BEAM, LENGTH_PENALTY, Prepared, limit, load, sinusoids
from tests.benchmarks.peers.protocol import Rounds, serve, timed, timed_outputs, until
from tests.benchmarks.peers.training import epoch, optimiser, parameters

POSITIONS, OFFSET = 512, 2  # MBart leaves out the first rows of its position table


def start(folder: Path) -> tuple[str, Rounds]:
    """One model to train, one with our weights to translate."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    prepared = load(folder)
    trained, translator = new_model(prepared), new_model(prepared)
    copy_weights(translator, prepared)
    translator.eval()

    def logits(source: Tensor, real: Tensor, target: Tensor) -> Tensor:
        return trained(input_ids=source, attention_mask=real, decoder_input_ids=target, use_cache=False).logits

    work = epoch(trained, logits, optimiser(trained, prepared.sizes), prepared)
    return f"transformers {transformers.__version__}, {parameters(trained)}", {
        "training": lambda: timed(work),
        "greedy": lambda: timed_outputs(lambda: translate(translator, prepared, num_beams=1)),
        "beam": lambda: timed_outputs(
            lambda: translate(translator, prepared, num_beams=BEAM, length_penalty=LENGTH_PENALTY)
        ),
    }


def new_model(prepared: Prepared) -> Any:
    """Of our sizes, without the norm of the embeddings, with sinusoids as a table that is not trained."""
    sizes = prepared.sizes
    config = transformers.MBartConfig(
        vocab_size=sizes.vocabulary,
        d_model=sizes.d_model,
        **{f"{side}_layers": sizes.n_layers for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": sizes.n_heads for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": sizes.d_ff for side in ("encoder", "decoder")},
        activation_function="relu",
        dropout=sizes.dropout,
        max_position_embeddings=POSITIONS,
        scale_embedding=True,
        init_std=sizes.d_model**-0.5,
        pad_token_id=sizes.pad,
        bos_token_id=sizes.start,
        eos_token_id=sizes.end,
        decoder_start_token_id=sizes.start,
        forced_eos_token_id=None,
    )
    model = transformers.MBartForConditionalGeneration(config)
    for stack in (model.model.encoder, model.model.decoder):
        stack.layernorm_embedding = nn.Identity()
        stack.embed_positions.weight.requires_grad_(False)
        stack.embed_positions.weight[OFFSET:] = torch.from_numpy(sinusoids(POSITIONS, sizes.d_model))
    return model


@torch.no_grad()
def copy_weights(model: Any, prepared: Prepared) -> None:
    """Ours into MBart's; it has biases in attention, which become 0."""
    weights = {name: torch.from_numpy(array) for name, array in prepared.weights.items()}
    model.model.shared.weight.copy_(weights["embedding"])
    model.final_logits_bias.copy_(weights["output.bias"][None])
    for side in ("encoder", "decoder"):
        stack = getattr(model.model, side)
        copy_norm(stack.layer_norm, weights, side)
        for index, layer in enumerate(stack.layers):
            parts = {"self": (layer.self_attn, layer.self_attn_layer_norm)}
            if side == "decoder":
                parts["cross"] = (layer.encoder_attn, layer.encoder_attn_layer_norm)
            for part, (attention, norm) in parts.items():
                copy_attention(attention, weights, f"{side}.{index}.{part}")
                copy_norm(norm, weights, f"{side}.{index}.{part}")
            copy_norm(layer.final_layer_norm, weights, f"{side}.{index}.feed_forward")
            copy_linear(layer.fc1, weights, f"{side}.{index}.feed_forward.input")
            copy_linear(layer.fc2, weights, f"{side}.{index}.feed_forward.output")


def copy_attention(attention: Any, weights: dict[str, Tensor], name: str) -> None:
    """Four maps without biases."""
    maps = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    for ours, theirs in maps.items():
        linear = getattr(attention, theirs)
        linear.weight.copy_(weights[f"{name}.{ours}"])
        linear.bias.zero_()


def copy_linear(linear: Any, weights: dict[str, Tensor], name: str) -> None:
    """Weight and bias."""
    linear.weight.copy_(weights[f"{name}.weight"])
    linear.bias.copy_(weights[f"{name}.bias"])


def copy_norm(norm: Any, weights: dict[str, Tensor], name: str) -> None:
    """Gain and bias."""
    copy_linear(norm, weights, f"{name}.norm")


@torch.no_grad()
def translate(model: Any, prepared: Prepared, **search: Any) -> list[list[int]]:
    """All sentences, batch by batch."""
    outputs = []
    for array in prepared.sentences:
        source = torch.from_numpy(array)
        real = (source != prepared.sizes.pad).long()
        tokens = model.generate(source, attention_mask=real, max_new_tokens=limit(array), do_sample=False, **search)
        outputs += [until(row[1:], prepared.sizes.end) for row in tokens.tolist()]
    return outputs


if __name__ == "__main__":
    serve(start)
