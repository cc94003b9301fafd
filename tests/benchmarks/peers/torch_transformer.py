"""torch.nn.Transformer between tied embeddings and output layer, trained."""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.benchmarks.peers.prepared import Sizes, load, sinusoids
from tests.benchmarks.peers.protocol import Rounds, serve, timed
from tests.benchmarks.peers.training import epoch, optimiser, parameters


class TorchTranslator(nn.Module):
    """Pre-norm stacks of torch's own layers."""

    positions: Tensor

    def __init__(self, sizes: Sizes, *, attention_dropout: bool) -> None:
        super().__init__()
        d_model, dropout = sizes.d_model, sizes.dropout
        self.embedding = nn.Embedding(sizes.vocabulary, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.bias = nn.Parameter(torch.zeros(sizes.vocabulary))
        self.dropout = nn.Dropout(dropout)
        layers, heads, d_ff = sizes.n_layers, sizes.n_heads, sizes.d_ff
        self.transformer = nn.Transformer(
            d_model, heads, layers, layers, d_ff, dropout, batch_first=True, norm_first=True
        )
        self.register_buffer("positions", torch.from_numpy(sinusoids(512, d_model)))
        if not attention_dropout:
            for module in self.transformer.modules():
                if isinstance(module, nn.MultiheadAttention):
                    module.dropout = 0.0

    def embed(self, tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T, D)."""
        length, d_model = tokens.shape[1], self.positions.shape[1]
        return self.dropout(self.embedding(tokens) * math.sqrt(d_model) + self.positions[:length])

    def forward(self, source: Tensor, real: Tensor, target: Tensor) -> Tensor:
        """Logits (B, T, V)."""
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], dtype=torch.bool)
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=mask,
            tgt_is_causal=True,
            src_key_padding_mask=~real,
            memory_key_padding_mask=~real,
        )
        return F.linear(states, self.embedding.weight, self.bias)


def start(folder: Path) -> tuple[str, Rounds]:
    """The model as it is used, and without the dropout inside attention that the others do not have."""
    torch.set_num_threads(1)
    prepared = load(folder)
    rounds = {}
    for request, attention_dropout in (("training", True), ("training-without-attention-dropout", False)):
        model = TorchTranslator(prepared.sizes, attention_dropout=attention_dropout)
        work = epoch(model, model, optimiser(model, prepared.sizes), prepared)
        rounds[request] = lambda work=work: timed(work)
    return f"torch {torch.__version__}, {parameters(model)}", rounds


if __name__ == "__main__":
    serve(start)
