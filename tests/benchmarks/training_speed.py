"""Training speed of our translator against torch.nn.Transformer of the same size, on one thread.

Both do forward, plain cross-entropy and backward on the same batches, in turns, in one process: what else runs on the
machine hits both. Sizes are those of the study `multi30k-quick`. Run: python tests/benchmarks/training_speed.py
"""

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.build import build_model
from models.config import ModelConfig, TaskShape

BATCH, SOURCE, TARGET, WIDTH, VOCABULARY = 80, 13, 13, 128, 4000
ROUNDS, STEPS = 9, 8


class TorchTranslator(nn.Module):
    """torch's own stacks, pre-norm, between tied embeddings and head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 4, 2, 2, 512, dropout=0.1, batch_first=True, norm_first=True)
        mask = nn.Transformer.generate_square_subsequent_mask(TARGET)
        self.register_buffer("mask", mask)

    def forward(self, source: Tensor, real: Tensor, target: Tensor) -> Tensor:
        """Logits (B, T, V)."""
        states = self.transformer(
            self.embedding(source),
            self.embedding(target),
            tgt_mask=self.mask,
            tgt_is_causal=True,
            src_key_padding_mask=~real,
            memory_key_padding_mask=~real,
        )
        return F.linear(states, self.embedding.weight)


def seconds(logits: Callable[[], Tensor], labels: Tensor, parameters: list[nn.Parameter]) -> float:
    """CPU seconds of a training step without the optimiser."""
    started = time.process_time()
    for _ in range(STEPS):
        torch.autograd.grad(F.cross_entropy(logits().flatten(0, 1), labels.flatten()), parameters)
    return (time.process_time() - started) / STEPS


def main() -> None:
    """Print target tokens a second of both, and the median ratio over the rounds."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = TaskShape(
        kind="translation", input_sizes=(VOCABULARY,), output_size=VOCABULARY, shared_vocabulary=True, start=1, end=2
    )
    config = ModelConfig(architecture="encoder-decoder", d_model=WIDTH, n_heads=4, d_ff=512, dropout=0.1)
    ours, theirs = build_model(config, shape, seed=0), TorchTranslator()
    source, target, labels = (torch.randint(VOCABULARY, (BATCH, n)) for n in (SOURCE, TARGET, TARGET))
    real = torch.arange(SOURCE) < torch.randint(SOURCE - 3, SOURCE + 1, (BATCH, 1))
    run_ours = (lambda: ours(source, real, target, None)), labels, list(ours.parameters())
    run_theirs = (lambda: theirs(source, real, target)), labels, list(theirs.parameters())
    rounds = [(seconds(*run_ours), seconds(*run_theirs)) for _ in range(ROUNDS)]
    for name, times in zip(("ours", "torch.nn.Transformer"), zip(*rounds, strict=True), strict=True):
        print(f"{name:<24}{BATCH * TARGET / statistics.median(times):8.0f} target tokens/s")
    print(f"ratio                   {statistics.median(theirs / ours for ours, theirs in rounds):8.2f}")


if __name__ == "__main__":
    main()
