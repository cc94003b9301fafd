"""How far one optimiser step moves the weights of each layer, beside their size."""

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.optim import Optimizer

from models.probes.gradients import layer_matrices

UPDATE_RATIO = "update-ratio"
"""What a study's `measure` calls it."""


class UpdateRatios(Callback):
    """Logs at each validation |change of a layer's weight matrices by the last step| / |the matrices before it|.

    Keys: train/update_ratio@layer=1, ... from the layer next to the embeddings on; for a translator with encoder_ and
    decoder_ in front of the metric. The other steps are left alone. The ratio follows the learning rate, which a cosine
    or a line has brought down to 0 by the last step.

    Args:
        every: steps from validation to validation.
        steps: the last step, which a validation follows too.
    """

    def __init__(self, every: int, steps: int) -> None:
        self.every, self.steps = every, steps
        self.before: dict[str, list[Tensor]] = {}
        """The matrices of each layer as vectors, by key; empty unless a validation is next."""

    def on_before_optimizer_step(self, trainer: L.Trainer, pl_module: L.LightningModule, optimizer: Optimizer) -> None:
        step = trainer.global_step + 1
        if step % self.every == 0 or step == self.steps:
            self.before = {key: [m.detach().clone() for m in layer] for key, layer in layers(pl_module).items()}

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        after, before, self.before = layers(pl_module), self.before, {}
        ratios = {key: _ratio(matrices, after[key]) for key, matrices in before.items()}
        if ratios:
            for logger in trainer.loggers:
                logger.log_metrics(ratios, trainer.global_step)


def layers(module: L.LightningModule) -> dict[str, list[nn.Parameter]]:
    """The weight matrices of each layer of a module's `model`, by the key of its ratio."""
    model = module.get_submodule("model")
    stacks = layer_matrices(model)
    prefix = {name: f"{name}_" if name in ("encoder", "decoder") else "" for name in stacks}
    return {
        f"train/{prefix[name]}update_ratio@layer={n}": layer
        for name, stack in stacks.items()
        for n, layer in enumerate(stack, start=1)
    }


def _ratio(before: list[Tensor], after: list[nn.Parameter]) -> float:
    changes = [new.detach() - old for new, old in zip(after, before, strict=True)]
    norms = (torch.stack([part.norm() for part in parts]).norm() for parts in (changes, before))
    change, size = (norm.item() for norm in norms)
    return change / size if size else 0.0
