"""The catalogue: every component, its values, its default, what the lecture says of it.

`ablations list components`, the table in the docs and the parametrised tests are made from it. The values of open sets
(positions, norms, ...) and their properties are read from the tables beside the classes, so that a new value needs
nothing here; only a new component needs an entry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from models.attention import ATTENTIONS
from models.config import ModelConfig
from models.feed_forwards import FEED_FORWARDS
from models.masks import MASKS
from models.norms import NORMS
from models.positions import POSITIONS

PROPERTIES = ("leaks_future", "batch_dependent", "relative", "absolute", "changes_size")
OPEN_SETS: dict[str, Mapping[str, Any]] = {
    "position": POSITIONS,
    "attention": ATTENTIONS,
    "norm": NORMS,
    "feed_forward": FEED_FORWARDS,
}

RNNS = "Why RNNs limit learning and parallelism (4:08)"
LOOK_UP = "Self-attention as a soft look-up; queries, keys, values (10:11, 14:15)"
POSITION = "Position, nonlinearity, masking (21:23)"
HEADS = "Heads and scaling (41:44)"
BLOCK = "Residuals, layer norm, the block (58:00)"
TRANSLATION = "Encoder, decoder, translation, cost (1:09:09)"
SECTIONS = (RNNS, LOOK_UP, POSITION, HEADS, BLOCK, TRANSLATION)
"""Sections of the lecture in their order, each with the time at which it begins (of the second: two sections)."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """One part of the architecture that can be switched: a field of ModelConfig."""

    name: str
    where: str
    """Source file."""
    lecture: str
    """What the lecture says of it, in our words."""
    section: str = ""
    """Section of the lecture, one of SECTIONS; empty where the lecture does not speak of it."""
    equation: str = ""
    """The formula, for the default value unless it says otherwise."""
    latex: str = ""
    """The same for pages that set it."""
    sources: tuple[str, ...] = ()
    """Papers beside those that the docstrings of its values name: `Press & Wolf 2017, arXiv:1608.05859`."""
    next: str = ""
    """A command to try next."""
    values: dict[str, str] = field(default_factory=dict)
    """Closed choices: value to what it does. Empty for open sets and numbers."""
    example: Any = None
    """Numbers and switches: a value other than the default that tests may use."""
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Closed choices: value to the properties that it has (see PROPERTIES)."""


VASWANI = "Vaswani et al. 2017, arXiv:1706.03762"
NOT_RENORMALISED = "weights of later positions set to zero after the softmax, not renormalised"
MASK_VALUES = {
    "causal": "scores of later positions set to minus infinity before the softmax",
    "none": "every position sees every other",
    "after-softmax": NOT_RENORMALISED,
}
RECURRENT = "ablations train --task.name german --model.architecture lstm --model.cross_attention dot"
LEAKS = {name: ("leaks_future",) for name, rule in MASKS.items() if rule.leaks_future}

COMPONENTS = (
    Component(
        name="architecture",
        where="models/transformer.py, models/recurrent.py",
        lecture="Encoders see both sides, decoders the past, encoder-decoders translate; recurrent nets came before, "
        "with a distance between words that grows with every step and no parallelism over time.",
        section=RNNS,
        equation="recurrent: h_t = tanh(W x_t + U h_{t−1});  attention: out_i = Σ_j α_ij v_j, for all i at once",
        latex=r"\text{recurrent: } h_t = \tanh(W x_t + U h_{t-1}) \qquad \text{attention: } \mathrm{out}_i = \sum_j "
        r"\alpha_{ij} v_j \text{ for all } i \text{ at once}",
        sources=(
            VASWANI,
            "Elman 1990, Cognitive Science 14(2)",
            "Hochreiter & Schmidhuber 1997, Neural Computation 9(8)",
            "Cho et al. 2014, arXiv:1406.1078",
        ),
        next="ablations run long-range",
        values={
            "decoder": "Transformer stack that sees the past",
            "encoder": "Transformer stack that sees both sides",
            "encoder-decoder": "an encoder for the source, a decoder that attends to it",
            "rnn": "Elman network (tanh)",
            "lstm": "long short-term memory",
            "gru": "gated recurrent unit",
        },
        properties=dict.fromkeys(("encoder-decoder", "rnn", "lstm", "gru"), ("changes_size",)),
    ),
    Component(
        name="n_layers",
        where="models/transformer.py, models/recurrent.py",
        lecture="The block is repeated; each repetition builds on what the one before has gathered.",
        section=BLOCK,
        equation="x^(l+1) = block_l(x^(l)),  l = 1 … n_layers",
        latex=r"x^{(l+1)} = \mathrm{block}_l(x^{(l)}), \quad l = 1 \dots n_{\mathrm{layers}}",
        sources=(VASWANI,),
        next="ablations run depth",
        example=3,
    ),
    Component(
        name="position",
        where="models/positions.py",
        lecture="Self-attention is a function of a set: without positions it cannot know the order of the words.",
        section=POSITION,
        equation="x_i + p_i;  sinusoidal: p_i,2k = sin(i / 10000^(2k/d)), p_i,2k+1 = cos(i / 10000^(2k/d))",
        latex=r"x_i + p_i, \qquad p_{i,2k} = \sin\left(i / 10000^{2k/d}\right), \quad p_{i,2k+1} = \cos\left(i / "
        r"10000^{2k/d}\right)",
        next="ablations run positions",
    ),
    Component(
        name="decoder_mask",
        where="models/masks.py",
        lecture="A decoder that may look ahead copies the answer; minus infinity before the softmax hides the future "
        "while all positions are still trained in parallel.",
        section=POSITION,
        equation="e_ij = q_i · k_j / √d_head for j ≤ i, −∞ for j > i;  α_i = softmax(e_i)",
        latex=r"e_{ij} = \begin{cases} q_i \cdot k_j / \sqrt{d_{\mathrm{head}}} & j \le i \\ -\infty & j > i "
        r"\end{cases} \qquad \alpha_i = \mathrm{softmax}(e_i)",
        sources=(VASWANI,),
        next="ablations run masking",
        values=MASK_VALUES,
        properties=LEAKS,
    ),
    Component(
        name="encoder_mask",
        where="models/masks.py",
        lecture="Encoders need no mask and gain from seeing both sides.",
        section=POSITION,
        equation="e_ij = q_i · k_j / √d_head for every j;  α_i = softmax(e_i)",
        latex=r"e_{ij} = q_i \cdot k_j / \sqrt{d_{\mathrm{head}}} \text{ for every } j, \qquad \alpha_i = "
        r"\mathrm{softmax}(e_i)",
        sources=("Devlin et al. 2019, arXiv:1810.04805",),
        next="ablations run masking",
        values={name: MASK_VALUES[name] for name in ("none", "causal", "after-softmax")},
        properties=LEAKS,
    ),
    Component(
        name="n_heads",
        where="models/attention.py",
        lecture="One attention averages for one reason at a time; several heads "
        "look for several reasons at the same cost.",
        section=HEADS,
        equation="head_h = softmax(Q_h K_hᵀ / √d_head) V_h,  h = 1 … n_heads",
        latex=r"\mathrm{head}_h = \mathrm{softmax}\left(Q_h K_h^\top / \sqrt{d_{\mathrm{head}}}\right) V_h, \quad h "
        r"= 1 \dots n_{\mathrm{heads}}",
        sources=(
            VASWANI,
            "Michel et al. 2019, arXiv:1905.10650",
        ),
        next="ablations run heads",
        example=2,
    ),
    Component(
        name="d_head",
        where="models/attention.py",
        lecture="Width of a head, d_model / n_heads in the lecture: it bounds the rank of the scores.",
        section=HEADS,
        equation="d_head = d_model / n_heads;  rank(Q_h K_hᵀ) ≤ d_head",
        latex=r"d_{\mathrm{head}} = d_{\mathrm{model}} / n_{\mathrm{heads}}, \qquad \mathrm{rank}(Q_h K_h^\top) \le "
        r"d_{\mathrm{head}}",
        sources=("Bhojanapalli et al. 2020, arXiv:2002.07028",),
        next="ablations run heads",
        example=5,
    ),
    Component(
        name="scale",
        where="models/attention.py",
        lecture="Dot products grow with the width of a head and saturate the "
        "softmax; dividing by its root keeps gradients alive.",
        section=HEADS,
        equation="softmax(Q Kᵀ / √d_head) V",
        latex=r"\mathrm{softmax}\left(Q K^\top / \sqrt{d_{\mathrm{head}}}\right) V",
        sources=(VASWANI,),
        next="ablations run scaling",
        values={
            "sqrt-head": "scores times 1 / sqrt(d_head)",
            "sqrt-model": "scores times 1 / sqrt(d_model)",
            "head": "scores times 1 / d_head",
            "none": "scores as they are",
        },
    ),
    Component(
        name="query_key",
        where="models/attention.py",
        lecture="A word asks with its query and answers with its key; the two are different views of it.",
        section=LOOK_UP,
        equation="q_i = W_Q x_i,  k_j = W_K x_j,  e_ij = q_i · k_j",
        latex=r"q_i = W_Q x_i, \quad k_j = W_K x_j, \qquad e_{ij} = q_i \cdot k_j",
        sources=(VASWANI,),
        next="ablations run look-up",
        values={
            "separate": "W_q and W_k",
            "tied": "W_q is W_k: scores are symmetric",
            "identity": "raw embeddings: a word mostly finds itself",
        },
        properties={"tied": ("changes_size",), "identity": ("changes_size",)},
    ),
    Component(
        name="value_projection",
        where="models/attention.py",
        lecture="What a word hands over (its value) need not be what it is found by (its key).",
        section=LOOK_UP,
        equation="v_j = W_V x_j",
        latex=r"v_j = W_V x_j",
        sources=(VASWANI,),
        next="ablations run ladder",
        values={"linear": "W_v", "identity": "the embedding itself"},
        properties={"identity": ("changes_size",)},
    ),
    Component(
        name="output_projection",
        where="models/attention.py",
        lecture="A last linear map combines what the heads have found.",
        section=HEADS,
        equation="out_i = W_O [head_1; …; head_H]",
        latex=r"\mathrm{out}_i = W_O \, [\mathrm{head}_1; \dots; \mathrm{head}_H]",
        sources=(VASWANI,),
        next="ablations run heads",
        values={"linear": "W_o", "identity": "heads side by side as they are"},
        properties={"identity": ("changes_size",)},
    ),
    Component(
        name="attention",
        where="models/attention.py",
        lecture="Attention is a soft look-up in a key-value store: a weighted "
        "average, with weights from the softmax of scores.",
        section=LOOK_UP,
        equation="α_ij = softmax_j(q_i · k_j / √d_head);  out_i = Σ_j α_ij v_j",
        latex=r"\alpha_{ij} = \mathrm{softmax}_j\left(q_i \cdot k_j / \sqrt{d_{\mathrm{head}}}\right), \qquad "
        r"\mathrm{out}_i = \sum_j \alpha_{ij} v_j",
        next="ablations run look-up",
    ),
    Component(
        name="residual",
        where="models/transformer.py",
        lecture="Each sublayer adds to its input, so that gradients have a direct "
        "path and layers need only learn a difference.",
        section=BLOCK,
        equation="x^(l+1) = x^(l) + f(x^(l))",
        latex=r"x^{(l+1)} = x^{(l)} + f(x^{(l)})",
        sources=(
            "He et al. 2016, arXiv:1512.03385",
            "Dong et al. 2021, arXiv:2103.03404",
        ),
        next="ablations run residual",
        values={"add": "x + f(x)", "none": "f(x)"},
    ),
    Component(
        name="norm",
        where="models/norms.py",
        lecture="Layer norm rescales each word's vector to zero mean and unit "
        "deviation, by its own statistics, and steadies training.",
        section=BLOCK,
        equation="(x − mean(x)) / sd(x) ⊙ γ + β",
        latex=r"\frac{x - \mathrm{mean}(x)}{\mathrm{sd}(x)} \odot \gamma + \beta",
        next="ablations run norm",
    ),
    Component(
        name="norm_placement",
        where="models/transformer.py",
        lecture="After the residual sum as first published, or before the sublayer as is common today.",
        section=BLOCK,
        equation="pre: x + f(norm(x));  post: norm(x + f(x))",
        latex=r"\text{pre: } x + f(\mathrm{norm}(x)) \qquad \text{post: } \mathrm{norm}(x + f(x))",
        sources=(
            VASWANI,
            "Xiong et al. 2020, arXiv:2002.04745",
        ),
        next="ablations run norm",
        values={"pre": "x + f(norm(x)), and a norm at the end of the stack", "post": "norm(x + f(x))"},
        properties={"post": ("changes_size",)},
    ),
    Component(
        name="feed_forward",
        where="models/feed_forwards.py",
        lecture="Attention only averages values; a feed-forward net on each word adds the nonlinearity.",
        section=POSITION,
        equation="W_2 max(0, W_1 x_i + b_1) + b_2",
        latex=r"W_2 \max(0, W_1 x_i + b_1) + b_2",
        next="ablations run nonlinearity",
    ),
    Component(
        name="cross_attention",
        where="models/transformer.py, models/recurrent.py",
        lecture="Each target word looks at the whole source; without it a "
        "recurrent decoder has one vector for all of it.",
        section=TRANSLATION,
        equation="q_i = W_Q y_i of the target,  k_j = W_K x_j and v_j = W_V x_j of the source",
        latex=r"q_i = W_Q y_i \text{ of the target}, \qquad k_j = W_K x_j \text{ and } v_j = W_V x_j \text{ of the "
        r"source}",
        sources=(
            VASWANI,
            "Bahdanau et al. 2015, arXiv:1409.0473",
            "Luong et al. 2015, arXiv:1508.04025",
        ),
        next="ablations run translation",
        values={
            "attend": "Transformer decoder layers attend to the encoder",
            "none": "no look at the source (recurrent: only its last state)",
            "dot": "recurrent: scores by dot product (Luong et al. 2015)",
            "additive": "recurrent: scores by a small net (Bahdanau et al. 2015)",
        },
        properties=dict.fromkeys(("none", "dot", "additive"), ("changes_size",)),
    ),
    Component(
        name="initialisation",
        where="models/initialise.py",
        lecture="Not in the lecture: it decides how far the scores are from saturation at the start.",
        equation="xavier: W ~ U(−a, a), a = √(6 / (fan_in + fan_out))",
        latex=r"\text{xavier: } W \sim U(-a, a), \quad a = \sqrt{6 / (\mathrm{fan_{in}} + \mathrm{fan_{out}})}",
        sources=(
            "Glorot & Bengio 2010, AISTATS",
            "Radford et al. 2019, Language models are unsupervised multitask learners",
        ),
        next="ablations run scaling",
        values={
            "default": "PyTorch's own",
            "xavier": "matrices uniform by fan-in and fan-out (Glorot and Bengio 2010)",
            "gpt2": "N(0, 0.02), residual branches scaled down by depth (Radford et al. 2019)",
        },
    ),
    Component(
        name="gain",
        where="models/initialise.py",
        lecture="Not in the lecture: a factor on the first weights of the blocks, to see how robust training is.",
        equation="W ← gain · W",
        latex=r"W \leftarrow \mathrm{gain} \cdot W",
        next="ablations run norm --set model.gain=4",
        example=2.0,
    ),
    Component(
        name="forget_bias",
        where="models/recurrent.py",
        lecture="Not in the lecture: how long an LSTM remembers at the start of training.",
        equation="c_t = σ(W_f x_t + U_f h_{t−1} + b_f) ⊙ c_{t−1} + …",
        latex=r"c_t = \sigma(W_f x_t + U_f h_{t-1} + b_f) \odot c_{t-1} + \dots",
        sources=(
            "Gers et al. 2000, Neural Computation 12(10)",
            "Jozefowicz et al. 2015, ICML",
        ),
        next="ablations run long-range",
        example=1.0,
    ),
    Component(
        name="bidirectional",
        where="models/recurrent.py",
        lecture="A recurrent encoder reads from both ends, so that each state knows both sides.",
        section=TRANSLATION,
        equation="h_j = [h_j from the left; h_j from the right]",
        latex=r"h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]",
        sources=("Schuster & Paliwal 1997, IEEE Transactions on Signal Processing 45(11)",),
        next=f"{RECURRENT} --model.bidirectional false",
        example=False,
    ),
    Component(
        name="input_feeding",
        where="models/recurrent.py",
        lecture="Not in the lecture: the last attention is fed into the next step (Luong et al. 2015).",
        equation="input_t = [y_t; a_{t−1}], a_{t−1}: the last attention output",
        latex=r"\mathrm{input}_t = [y_t; a_{t-1}], \quad a_{t-1} \text{: the last attention output}",
        sources=("Luong et al. 2015, arXiv:1508.04025",),
        next=f"{RECURRENT} --model.input_feeding true",
        example=True,
    ),
    Component(
        name="tie_embeddings",
        where="models/transformer.py, models/recurrent.py",
        lecture="Not in the lecture: one table for the words that go in and the words that come out.",
        equation="logits = E h + b, E: the table of embeddings",
        latex=r"\mathrm{logits} = E h + b, \quad E \text{: the table of embeddings}",
        sources=("Press & Wolf 2017, arXiv:1608.05859",),
        next="ablations train --task.name markov --model.tie_embeddings false",
        example=False,
    ),
    Component(
        name="dropout",
        where="models/transformer.py, models/recurrent.py",
        lecture="Not in the lecture: regularisation on embeddings and on what each sublayer adds.",
        equation="m ⊙ f(x) / (1 − p),  m_i = 0 with probability p, else 1",
        latex=r"m \odot f(x) / (1 - p), \quad m_i = 0 \text{ with probability } p \text{, else } 1",
        sources=("Srivastava et al. 2014, JMLR 15",),
        next="ablations run table3",
        example=0.1,
    ),
)

SIZES = ("d_model", "max_length", "d_ff", "d_hidden", "window")
"""Fields of ModelConfig that are widths and lengths, not parts that can be switched."""


def default(component: Component) -> Any:
    """Default of the component's field."""
    return next(field.default for field in fields(ModelConfig) if field.name == component.name)


def choices(component: Component) -> list[str]:
    """Every value of a closed choice or an open set, the default first; none for a number or a switch."""
    kind = get_type_hints(ModelConfig)[component.name]
    if component.name in OPEN_SETS:
        names = list(OPEN_SETS[component.name])
        return sorted(names, key=lambda name: name != default(component))
    literals = [part for part in (kind, *get_args(kind)) if get_origin(part) is Literal]
    return [str(value) for part in literals for value in get_args(part)]


def meaning(component: Component, value: str) -> str:
    """What one value does, in a line."""
    if component.name in OPEN_SETS:
        return (OPEN_SETS[component.name][value].__doc__ or "").strip().splitlines()[0]
    return component.values[value]


def properties(component: Component, value: str) -> tuple[str, ...]:
    """Which of PROPERTIES one value has."""
    if component.name in OPEN_SETS:
        entry = OPEN_SETS[component.name][value]
        return tuple(name for name in PROPERTIES if getattr(entry, name, False))
    return component.properties.get(value, ())


def facts(component: Component, values: Iterable[Any]) -> dict[str, str]:
    """What a report says of a component, `values` being those that its variants have in place of the base's.

    says, section, equation, next as in the catalogue; off: each value and what it does, where that is known.
    """
    known = choices(component)
    told = [f"{value}: {meaning(component, value).rstrip('.')}" for value in dict.fromkeys(values) if value in known]
    return {
        "says": component.lecture,
        "section": component.section,
        "equation": component.equation,
        "next": component.next,
        "off": "; ".join(told),
    }
