"""JoeyNMT, trained by its own loop on its own batches and also on ours, and used through its own search."""

import tempfile
from pathlib import Path
from typing import Any

import joeynmt  # type: ignore[import-not-found]  # in this peer's environment only
import torch
from joeynmt.batch import Batch  # type: ignore[import-not-found]
from joeynmt.config import parse_global_args  # type: ignore[import-not-found]
from joeynmt.model import build_model  # type: ignore[import-not-found]
from joeynmt.prediction import prepare  # type: ignore[import-not-found]
from joeynmt.search import search  # type: ignore[import-not-found]
from joeynmt.training import TrainManager  # type: ignore[import-not-found]
from torch import Tensor, nn

from tests.benchmarks.peers.prepared import BEAM, IGNORE, LENGTH_PENALTY, TEXT, Array, Prepared, Sizes, limit, load
from tests.benchmarks.peers.protocol import Rounds, serve, timed, timed_outputs, until
from tests.benchmarks.peers.training import parameters

PAD, START, END = 1, 2, 3  # JoeyNMT puts its special tokens first, the unknown one at 0


class Joey:
    """One model to train, one with our weights to translate."""

    def __init__(self, prepared: Prepared, folder: Path, model_folder: Path) -> None:
        self.prepared = prepared
        self.ids = order(prepared.sizes)
        args = parse_global_args(configuration(prepared.sizes, folder, model_folder), mode="train")
        self.model, self.data, _, _ = prepare(args, rank=0, mode="train")
        self.manager = TrainManager(
            rank=0,
            model=self.model,
            model_dir=model_folder,
            device=args.device,
            autocast=args.autocast,
            seed=args.seed,
            train_args=args.train,
            dev_args=args.test,
        )
        self.translator = build_model(args.model, src_vocab=self.model.src_vocab, trg_vocab=self.model.trg_vocab)
        copy_weights(self.translator, prepared, self.ids)
        self.translator.eval()

    def train(self) -> int:
        """As many steps of its own loop as there are prepared batches."""
        manager, before = self.manager, self.manager.stats.total_tokens
        manager.stats.is_max_update = False
        manager.args = manager.args._replace(max_updates=manager.stats.steps + len(self.prepared.training))
        manager.train_and_validate(train_data=self.data, valid_data=self.data)  # which it never validates on
        return int(manager.stats.total_tokens - before)

    def train_on_ours(self) -> int:
        """The same steps on the prepared batches."""
        for batch in self.prepared.training:
            target = torch.from_numpy(batch.labels).masked_fill(torch.from_numpy(batch.labels == IGNORE), 0)
            padded = torch.cat((torch.from_numpy(batch.target[:, :1]), target), dim=1)
            self.manager._train_step(self.batch(batch.source, padded))
            self.manager.clip_grad_fun(parameters=self.model.parameters())
            self.manager.optimizer.step()
            self.model.zero_grad()
        return sum(batch.tokens for batch in self.prepared.training)

    def batch(self, source: Array, target: Tensor | None) -> Any:
        """A batch as its data loader makes it, of our ids (B, S), and (B, T) from the start to the end token."""
        to_theirs = torch.argsort(self.ids)
        real = torch.from_numpy(source != self.prepared.sizes.pad)
        return Batch(
            src=to_theirs[torch.from_numpy(source)],
            src_length=real.sum(1),
            src_prompt_mask=None,
            trg=None if target is None else to_theirs[target],
            trg_prompt_mask=None,
            indices=torch.arange(len(source)),
            device=torch.device("cpu"),
            pad_index=PAD,
            eos_index=END,
        )

    def translate(self, beam: int) -> list[list[int]]:
        """All sentences, batch by batch."""
        outputs = []
        for source in self.prepared.sentences:
            batch = self.batch(source, None)
            reverse = batch.sort_by_src_length()
            found, _, _ = search(self.translator, batch, limit(source), beam, LENGTH_PENALTY)
            rows = [until(row, END) for row in found[reverse].tolist()]
            outputs += [self.ids[torch.tensor(row, dtype=torch.int64)].tolist() for row in rows]
        return outputs


def start(folder: Path) -> tuple[str, Rounds]:
    """The rounds of a Joey."""
    torch.set_num_threads(1)
    model_folder = Path(tempfile.mkdtemp(dir=folder))
    joey = Joey(load(folder), folder, model_folder)
    return f"joeynmt {joeynmt.__version__}, {parameters(joey.model)}", {
        "loop": lambda: timed(joey.train),
        "training": lambda: timed(joey.train_on_ours),
        "greedy": lambda: timed_outputs(lambda: joey.translate(1)),
        "beam": lambda: timed_outputs(lambda: joey.translate(BEAM)),
    }


def order(sizes: Sizes) -> Tensor:
    """Our id of each of theirs (V,)."""
    special = [sizes.unknown, sizes.pad, sizes.start, sizes.end]
    return torch.tensor([*special, *(index for index in range(sizes.vocabulary) if index not in special)])


def configuration(sizes: Sizes, folder: Path, model_folder: Path) -> dict[str, Any]:
    """What a user's YAML holds."""
    (model_folder / "vocabulary.txt").write_text("".join(f"{index}\n" for index in order(sizes).tolist()[4:]))
    text = {"level": "word", "voc_file": str(model_folder / "vocabulary.txt")}
    stack = {
        "type": "transformer",
        "num_layers": sizes.n_layers,
        "num_heads": sizes.n_heads,
        "embeddings": {"embedding_dim": sizes.d_model, "scale": True},
        "hidden_size": sizes.d_model,
        "ff_size": sizes.d_ff,
        "dropout": sizes.dropout,
        "layer_norm": "pre",
    }
    return {
        "name": "benchmark",
        "model_dir": str(model_folder),
        "use_cuda": False,
        "data": {
            "train": str(folder / TEXT),
            "dataset_type": "plain",
            "src": {"lang": "src", **text},
            "trg": {"lang": "trg", **text},
        },
        "testing": {},
        "training": {
            "optimizer": "adamw",
            "adam_betas": [0.9, sizes.beta2],
            "learning_rate": sizes.lr,
            "learning_rate_min": 0.0,
            "learning_rate_warmup": 1,
            "scheduling": "warmupinversesquareroot",  # it does not train without one
            "weight_decay": sizes.weight_decay,
            "clip_grad_norm": sizes.clip,
            "label_smoothing": sizes.label_smoothing,
            "normalization": "tokens",
            "batch_size": sizes.batch_tokens,
            "batch_type": "token",
            "epochs": 1000,
            "logging_freq": 100_000,
            "validation_freq": 100_000,
        },
        "model": {"tied_embeddings": True, "tied_softmax": True, "encoder": stack, "decoder": stack},
    }


@torch.no_grad()
def copy_weights(model: Any, prepared: Prepared, ids: Tensor) -> None:
    """Ours into JoeyNMT's: it has biases in attention, which become 0, and none in the output layer, which gets one."""
    weights = {name: torch.from_numpy(array) for name, array in prepared.weights.items()}
    model.src_embed.lut.weight.copy_(weights["embedding"][ids])
    model.decoder.output_layer.bias = nn.Parameter(weights["output.bias"][ids])
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        copy_norm(stack.layer_norm, weights, side)
        for index, layer in enumerate(stack.layers):
            name = f"{side}.{index}"
            parts = {"self": (layer.src_src_att, layer.layer_norm)} if side == "encoder" else decoder_parts(layer)
            for part, (attention, norm) in parts.items():
                copy_attention(attention, weights, f"{name}.{part}")
                copy_norm(norm, weights, f"{name}.{part}")
            feed_forward = layer.feed_forward
            copy_norm(feed_forward.layer_norm, weights, f"{name}.feed_forward")
            copy_linear(feed_forward.pwff_layer[0], weights, f"{name}.feed_forward.input")
            copy_linear(feed_forward.pwff_layer[3], weights, f"{name}.feed_forward.output")


def decoder_parts(layer: Any) -> dict[str, tuple[Any, Any]]:
    """Attention and norm of each part."""
    return {"self": (layer.trg_trg_att, layer.x_layer_norm), "cross": (layer.src_trg_att, layer.dec_layer_norm)}


def copy_attention(attention: Any, weights: dict[str, Tensor], name: str) -> None:
    """Four maps without biases."""
    for part in ("query", "key", "value", "output"):
        linear = getattr(attention, "output_layer" if part == "output" else f"{part[0]}_layer")
        linear.weight.copy_(weights[f"{name}.{part}"])
        linear.bias.zero_()


def copy_linear(linear: Any, weights: dict[str, Tensor], name: str) -> None:
    """Weight and bias."""
    linear.weight.copy_(weights[f"{name}.weight"])
    linear.bias.copy_(weights[f"{name}.bias"])


def copy_norm(norm: Any, weights: dict[str, Tensor], name: str) -> None:
    """Gain and bias; its epsilon is another by default."""
    norm.eps = 1e-5
    copy_linear(norm, weights, f"{name}.norm")


if __name__ == "__main__":
    serve(start)
