"""LightningModules: loss, metrics, logging and optimiser of each kind of task, and nothing of the architecture.

Batches (dicts; B batch, T length, S source length, F vocabularies of a factored input):
  next-token, tagging: inputs (B, T[, F]), targets (B, T[, K]) with -100 where there is no loss, K answers a position;
    optional: real (B, T) bool, distance in the targets' shape, int64 (below 0: none).
  translation: source (B, S), source_real, target (B, T) from the start token on, target_real, targets (B, T);
    for evaluation also sources and references (lists of text).
  contrastive (evaluation of translation): as translation, and wrong (B, U), wrong_real, wrong_targets, distance (B,)
    (below 0: none), category (list of text); of next-token: inputs, real, targets, and wrong_inputs (B, U), wrong_real,
    wrong_targets, distance, category.
A batch for evaluation may carry a `coordinate` such as "length=48": it then belongs to an extra set and is logged under
that alone.

Keys: split/metric or split/metric@coordinate. `loss` is plain cross-entropy in nats a token over the whole epoch.
"""

from collections.abc import Callable
from typing import Any, cast

import lightning as L
import torch
import torch.distributed as dist
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from models.collective import add_up
from models.config import TaskShape
from models.contrasts import Contrast
from models.decoding import Decodable, DecodeConfig
from models.evaluation import MAIN, Answered, Evaluation
from models.losses import IGNORED, Batch, TokenLoss, log_probability, predict, token_loss
from models.metrics import RunningMean
from models.optim import OptimConfig, configure
from models.search import decode
from models.translations import make_translations


class Diverged(RuntimeError):
    """The training loss is not finite. `step` is the optimiser step (from 1) that it would have been used for."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the training loss is not finite at step {step}")
        self.step = step


class Module(L.LightningModule):
    """What all kinds share: one step that makes the loss, one path for validation and test, one optimiser.

    Takes the optimiser's steps itself ("manual optimisation"): Lightning's own way there is through many more hooks. So
    the Trainer can have no `accumulate_grad_batches`, and needs no `gradient_clip_val`: `optim.clip` is the norm.
    """

    def __init__(self, model: nn.Module, optim: OptimConfig) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.model = model
        self.optim = optim
        self.train_loss = RunningMean()
        self.train_loss.persistent(True)  # a resumed run logs what the whole run would have logged
        self.last_loss: float | None = None
        """The training loss that was logged last."""
        self.evaluation = Evaluation(self.device)

    def step(self, batch: Batch) -> tuple[Tensor, TokenLoss]:
        """Logits and loss of a batch; the only place that makes a loss."""
        logits = predict(self.model, batch)
        return logits, token_loss(logits, batch["targets"], self.optim.label_smoothing)

    def training_step(self, batch: Batch | list[Batch], batch_idx: int) -> Tensor:
        """An optimiser step; where it is given a list, one on each batch of it. Gives the last objective.

        Raises Diverged, on all devices, if it is not finite on one of them.
        """
        round_ = batch if isinstance(batch, list) else [batch]
        *_, objective = (self._train_on(one) for one in round_)
        return objective

    def _train_on(self, batch: Batch) -> Tensor:
        """One optimiser step; gives the smoothed cross-entropy a token."""
        _, loss = self.step(batch)
        nats, tokens, finite = _of_all_devices(loss)
        step = self.global_step + 1
        if not finite:
            raise Diverged(step)
        # the mean over devices: they average their gradients, and a token is to weigh the same wherever it is
        objective = loss.objective / (tokens.clamp(min=1) / self.trainer.world_size)
        self.train_loss.update(nats, tokens)  # of all devices on each, for a checkpoint keeps the state of one
        every: int = self.trainer.log_every_n_steps  # type: ignore[attr-defined]
        if every and step % every == 0:
            self._log_training()
        self._optimise(objective)
        return objective

    def _optimise(self, objective: Tensor) -> None:
        """Backward, clipping (`on_before_optimizer_step`), optimiser, schedule."""
        optimizer = cast("LightningOptimizer", self.optimizers())
        optimizer.zero_grad()
        with torch.autocast(self.device.type, enabled=False):  # Lightning's is around the whole training step
            self.manual_backward(objective)
            optimizer.step()
        cast("LRScheduler", self.lr_schedulers()).step()

    def configure_optimizers(self) -> OptimizerLRScheduler:
        return configure(self.model.parameters(), self.optim)

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        if self.optim.clip:
            (group,) = optimizer.param_groups
            nn.utils.clip_grad_norm_(group["params"], self.optim.clip)

    def evaluate(self, batch: Batch) -> None:
        """Adds a batch to the metrics of the split; validation and test alike."""
        raise NotImplementedError

    def _contrast(self, right: Batch, wrong: Batch) -> None:
        """Adds how likely each of two sides is as a whole; `right` also says their distance and category."""
        sides = (right, wrong)
        scores = (log_probability(predict(self.model, side), side["targets"]).tolist() for side in sides)
        tokens = ((side["targets"] != IGNORED).sum(1).tolist() for side in sides)
        items = zip(right["distance"].tolist(), right["category"], *scores, *tokens, strict=True)
        self.evaluation.add_contrasts(right.get("coordinate", MAIN), [Contrast(*item) for item in items])

    def results(self) -> dict[str, float]:
        """The metrics of the split, by key without the split."""
        return self.evaluation.values()

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        if batch:  # it is empty where only other devices have one more
            self.evaluation.place = (dataloader_idx, batch_idx)
            self.evaluate(batch)

    def test_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        self.validation_step(batch, batch_idx, dataloader_idx)

    def on_validation_epoch_start(self) -> None:
        self.evaluation = Evaluation(self.device)

    def on_test_epoch_start(self) -> None:
        self.evaluation = Evaluation(self.device)

    def on_validation_epoch_end(self) -> None:
        self._log_results("validation")

    def on_test_epoch_end(self) -> None:
        self._log_results("test")

    def _log_results(self, split: str) -> None:
        self.evaluation.gather()
        # loggers are to count optimiser steps, where Lightning would count what it has handed out
        self.log("step", float(self.global_step), batch_size=1, sync_dist=True, reduce_fx="max")
        # equal on all devices already; sync_dist only says so to Lightning, and a mean of three could be rounded
        for name, value in self.results().items():
            self.log(f"{split}/{name}", value, batch_size=1, add_dataloader_idx=False, sync_dist=True, reduce_fx="max")

    def _log_training(self) -> None:
        """The mean since the last logged step, and the rate of this one, to the loggers: `self.log` takes 50 times as
        long, and keeps Lightning busy with the values at every later step.
        """
        self.last_loss = loss = self.train_loss.compute()
        self.train_loss.reset()
        rate = self.trainer.optimizers[0].param_groups[0]["lr"]
        values = ({} if loss is None else {"train/loss": loss}) | {"train/lr": rate}
        for logger in self.loggers:
            logger.log_metrics(values, self.global_step + 1)


class Tagger(Module):
    """An answer, or several, for each position that asks for one. Metrics: loss, accuracy, accuracy by distance."""

    def evaluate(self, batch: Batch) -> None:
        logits, loss = self.step(batch)
        coordinate = batch.get("coordinate", MAIN)
        asked = batch["targets"] != IGNORED
        right = (logits.argmax(-1) == batch["targets"]) & asked
        distance = batch["distance"][asked] if "distance" in batch else None
        nats = loss.nats.double().flatten(1).sum(1)
        self.evaluation.add_loss(coordinate, nats.sum(), loss.tokens)
        self.evaluation.add_answers(coordinate, right[asked], distance)
        counts = (right.flatten(1).sum(1), asked.flatten(1).sum(1), nats)
        rows = zip(*(column.tolist() for column in counts), strict=True)
        self.evaluation.add_sequences(coordinate, [Answered(*row) for row in rows])


class LanguageModel(Tagger):
    """The next token at each position. Metrics: those of a tagger, and perplexity; accuracy on contrastive pairs, where
    there are any, in place of that of the next token.
    """

    def evaluate(self, batch: Batch) -> None:
        if "wrong_inputs" in batch:
            names = ("inputs", "real", "targets")
            self._contrast(batch, batch | {name: batch[f"wrong_{name}"] for name in names})
        else:
            super().evaluate(batch)

    def results(self) -> dict[str, float]:
        return with_perplexity(super().results())


class Translator(Module):
    """A sentence for a sentence. Metrics: teacher-forced loss and perplexity, scores of the translations found
    (models.translations), accuracy on contrastive pairs (models.contrasts).

    After an evaluation: `evaluation.translations` and `evaluation.contrasts`, item by item, and `signatures`, which say
    how each score of the main set was computed; {} if nothing was translated.
    """

    def __init__(
        self,
        model: nn.Module,
        optim: OptimConfig,
        shape: TaskShape,
        detokenise: Callable[[list[int]], str],
        search: DecodeConfig,
    ) -> None:
        super().__init__(model, optim)
        assert shape.start is not None
        assert shape.end is not None
        self.start, self.end = shape.start, shape.end
        self.detokenise = detokenise
        self.search = search
        self.signatures: dict[str, str] = {}

    def evaluate(self, batch: Batch) -> None:
        if "wrong" in batch:
            names = {"target": "wrong", "target_real": "wrong_real", "targets": "wrong_targets"}
            self._contrast(batch, batch | {name: batch[other] for name, other in names.items()})
        else:
            self._translate(batch)

    def results(self) -> dict[str, float]:
        scores = self.evaluation.scores()
        self.signatures = {name: s.signature for name, s in scores.items() if s.signature and "@" not in name}
        return with_perplexity(super().results()) | {name: score.value for name, score in scores.items()}

    def _translate(self, batch: Batch) -> None:
        """Adds the loss of the references, and the translations found beside those made with the references' help."""
        coordinate = batch.get("coordinate", MAIN)
        logits, loss = self.step(batch)
        nats, tokens = loss.nats.double().sum(1), (batch["targets"] != IGNORED).sum(1)
        self.evaluation.add_loss(coordinate, nats.sum(), loss.tokens)
        model = cast("Decodable[Any]", self.model)
        found = decode(model, batch["source"], batch["source_real"], self.start, self.end, self.search)
        hypotheses, forced = ([self.detokenise(s) for s in side] for side in (found, self._forced(logits, batch)))
        self.evaluation.add_translations(
            coordinate,
            make_translations(
                batch["sources"], batch["references"], hypotheses, forced, nats.tolist(), tokens.tolist()
            ),
        )

    def _forced(self, logits: Tensor, batch: Batch) -> list[list[int]]:
        """The likeliest token at each target; an end is dropped wherever it stands, so that it costs one word only."""
        real = (batch["targets"] != IGNORED).tolist()
        rows = zip(logits.argmax(-1).tolist(), real, strict=True)
        return [[token for token, here in zip(*row, strict=True) if here and token != self.end] for row in rows]


def _of_all_devices(loss: TokenLoss) -> tuple[Tensor, Tensor, Tensor]:
    """Nats and tokens of the batches of all devices, and whether every loss is finite."""
    nats, finite = loss.nats.sum(), loss.objective.isfinite()
    if not dist.is_initialized():
        return nats, loss.tokens, finite
    nats, tokens, broken = add_up(torch.stack((nats.double(), loss.tokens.double(), (~finite).double())))
    return nats, tokens.long(), broken == 0


def with_perplexity(values: dict[str, float]) -> dict[str, float]:
    """Values by key, with the exponential of each loss."""
    losses = {name: value for name, value in values.items() if name.partition("@")[0] == "loss"}
    # through torch: math.exp raises where the answer is infinite
    exp = {name: torch.tensor(value, dtype=torch.float64).exp().item() for name, value in losses.items()}
    return values | {name.replace("loss", "perplexity", 1): value for name, value in exp.items()}


def make_module(
    model: nn.Module,
    optim: OptimConfig,
    shape: TaskShape,
    detokenise: Callable[[list[int]], str],
    search: DecodeConfig,
) -> Module:
    """The module of the task's kind; `detokenise`, from target tokens to text, and `search` are for translation."""
    match shape.kind:
        case "next-token":
            return LanguageModel(model, optim)
        case "tagging":
            return Tagger(model, optim)
        case "translation":
            return Translator(model, optim, shape, detokenise, search)
