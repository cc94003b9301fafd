"""Parameters and operations of a model, in closed form from its configuration.

Only matrix products count as operations, as the model carries them out: hidden keys are computed and thrown away.
"""

from models import recurrent
from models.attention import ATTENTIONS, Attention
from models.config import RECURRENT, ModelConfig, TaskShape, ties_embeddings
from models.feed_forwards import FEED_FORWARDS
from models.norms import NORMS
from models.positions import POSITIONS
from models.transformer import normalises_queries, position_shape


def parameter_count(config: ModelConfig, shape: TaskShape) -> int:
    """Number of trainable parameters, shared ones counted once."""
    if config.architecture in RECURRENT:
        return recurrent.parameter_count(config, shape)
    tables = sum(shape.input_sizes)
    if shape.kind == "translation":
        reads = config.cross_attention == "attend"
        stacks = _stack_parameters(config, config.decoder_mask, reads_source=reads)
        stacks += _stack_parameters(config, config.encoder_mask, reads_source=False) if reads else 0
        tables = shape.output_size + (sum(shape.input_sizes) if reads else 0)
    else:
        mask = config.decoder_mask if config.architecture == "decoder" else config.encoder_mask
        stacks = _stack_parameters(config, mask, reads_source=False)
    matrices = shape.output_size if ties_embeddings(config, shape) else tables + shape.n_outputs
    return stacks + matrices * config.d_model + shape.n_outputs


def forward_multiply_adds(
    config: ModelConfig, shape: TaskShape, n_source: int, n_target: int, n_packed: float | None = None
) -> float:
    """Multiply-adds of one forward pass over one sequence of `n_target` tokens, or over one sentence pair.

    `n_source` is the length of the source, 0 where the task has none; `n_packed` how many of its tokens are no padding
    (by default all): a recurrent encoder skips the rest.
    """
    if config.architecture in RECURRENT:
        packed = n_source if n_packed is None else n_packed
        return recurrent.forward_multiply_adds(config, shape, n_source, n_target, packed)
    head = n_target * config.d_model * shape.n_outputs
    if shape.kind != "translation":
        mask = config.decoder_mask if config.architecture == "decoder" else config.encoder_mask
        return head + _stack_multiply_adds(config, mask, n_target)
    decoder = _stack_multiply_adds(config, config.decoder_mask, n_target)
    if config.cross_attention == "none":
        return head + decoder
    encoder = _stack_multiply_adds(config, config.encoder_mask, n_source)
    cross = ATTENTIONS[config.attention].across()
    reading = config.n_layers * _attention_multiply_adds(config, cross, n_target, n_source, "none")
    return head + decoder + encoder + reading


def training_flops(
    config: ModelConfig,
    shape: TaskShape,
    batch_size: int,
    n_source: int,
    n_target: int,
    n_packed: float | None = None,
) -> float:
    """Floating-point operations of one training step on `batch_size` sequences (or pairs) of these lengths.

    `n_packed` is the mean number of source tokens that are no padding. Two operations for each multiply-add; the
    backward pass has two products for each one of the forward pass.
    """
    return 3 * 2 * batch_size * forward_multiply_adds(config, shape, n_source, n_target, n_packed)


def _stack_parameters(config: ModelConfig, mask: str, *, reads_source: bool) -> int:
    kind = ATTENTIONS[config.attention]
    attentions = [kind, kind.across()] if reads_source else [kind]
    n_normed = 1 + (reads_source and normalises_queries(config)) + (config.d_ff is not None)
    n_norms = config.n_layers * n_normed + (config.norm_placement == "pre")
    block = sum(_attention_parameters(config, attention) for attention in attentions)
    block += FEED_FORWARDS[config.feed_forward].count(config.d_model, config.d_ff or 0)
    position = POSITIONS[config.position].count(position_shape(config, mask))
    return config.n_layers * block + n_norms * NORMS[config.norm].count(config.d_model) + position


def _attention_parameters(config: ModelConfig, kind: type[Attention]) -> int:
    scoring = {"separate": 2, "tied": 1, "identity": 0}[config.query_key] if kind.takes_query_key else 0
    n_matrices = scoring + (config.value_projection == "linear") + (config.output_projection == "linear")
    width = config.n_heads * config.head_width
    return n_matrices * config.d_model * width + kind.count(config.n_heads, config.head_width)


def _stack_multiply_adds(config: ModelConfig, mask: str, length: int) -> float:
    attention = _attention_multiply_adds(config, ATTENTIONS[config.attention], length, length, mask)
    word = FEED_FORWARDS[config.feed_forward].multiply_adds(config.d_model, config.d_ff or 0)
    return config.n_layers * (attention + length * word)


def _attention_multiply_adds(
    config: ModelConfig, kind: type[Attention], n_queries: int, n_keys: int, mask: str
) -> float:
    projects = kind.takes_query_key and config.query_key != "identity"
    n_vectors = n_queries * (projects + (config.output_projection == "linear"))
    n_vectors += n_keys * (projects + (config.value_projection == "linear"))
    n_heads, d_head = config.n_heads, config.head_width
    products = n_heads * kind.multiply_adds(n_queries, n_keys, d_head, mask)
    return n_vectors * config.d_model * n_heads * d_head + products
