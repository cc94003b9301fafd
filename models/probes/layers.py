"""What a measurement of a part of a model is called: by stack, and by layer from 1."""

from collections.abc import Callable, Iterable, Mapping

from models.probes.base import Measurement

Place = tuple[str, int]
"""Prefix of the metric, and number of the layer."""


def place(name: str) -> Place:
    """The place of a module by its name in the model, such as "decoder.layers.2.attention.inner".

    The prefix is empty in a model of one stack; in a translator encoder_ or decoder_, and cross_ for what reads the
    encoder's output.
    """
    stack, *path = name.split(".")
    prefix = "cross_" if "cross_attention" in path else {"stack": ""}.get(stack, f"{stack}_")
    return prefix, int(path[path.index("layers") + 1]) + 1


def by_layer(
    metric: str, values: Mapping[Place, float], whole: Callable[[Iterable[float]], float]
) -> list[Measurement]:
    """A measurement for each layer, and for each stack before them its `whole`, which has no coordinate."""
    stacks: dict[str, dict[int, float]] = {}
    for (prefix, layer), value in values.items():
        stacks.setdefault(prefix, {})[layer] = value
    return [
        Measurement(prefix + metric, coordinate, value)
        for prefix, layers in stacks.items()
        for coordinate, value in [("", whole(layers.values())), *((f"layer={n}", layers[n]) for n in sorted(layers))]
    ]
