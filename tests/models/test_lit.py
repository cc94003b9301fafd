"""The LightningModules under a real Trainer: on stubs whose losses and translations are known, and on real models."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, get_args

import lightning as L
import pytest
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers.logger import Logger
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from models.build import build_model
from models.config import Kind, ModelConfig, TaskShape
from models.contrasts import Contrast
from models.decoding import DecodeConfig
from models.lit import Diverged, LanguageModel, Module, Tagger, Translator, make_module
from models.losses import Batch
from models.optim import OptimConfig
from models.scores import corpus_bleu
from models.translations import Translation

START, END, V = 1, 2, 13
OPTIM = OptimConfig(steps=6, warmup=2, lr=0.1)
GREEDY = DecodeConfig()
TRANSLATION = TaskShape(
    kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=START, end=END
)
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)
NEXT_TOKEN = TaskShape(kind="next-token", input_sizes=(V,), output_size=V)
SENTENCES = ["the cat sat on the mat", "hello world this is nice", "we like green apples a lot"]
REFERENCES = ["the cat sat on the mat", "hello world this was very nice", "they like red apples a lot"]


class Batches(Dataset[Batch]):
    """Item i is batch i."""

    def __init__(self, batches: list[Batch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> Batch:
        return self.batches[index]


def loader(batches: list[Batch]) -> DataLoader[Batch]:
    return DataLoader(Batches(batches), batch_size=None)


def trainer(steps: int = -1, **options: Any) -> L.Trainer:
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    return L.Trainer(max_steps=steps, accelerator="cpu", **(quiet | {"log_every_n_steps": 1} | options))


def fit(module: Module, batches: list[Batch], validation: list[Batch] | None = None, **options: Any) -> L.Trainer:
    made = trainer(len(batches), **({"limit_val_batches": 0} if validation is None else {}), **options)
    made.fit(module, loader(batches), loader(validation or []))
    return made


def validate(module: Module, *sets: list[Batch]) -> dict[str, float]:
    """All logged values; over several loaders if there are several sets."""
    made = trainer()
    made.validate(module, [loader(batches) for batches in sets], verbose=False)
    return {name: value.item() for name, value in made.callback_metrics.items() if name != "step"}


class Losses(nn.Module):
    """Two classes, and for input i the loss `losses[i]` on class 0: log(1 + exp(x)) with x = log(exp(loss) - 1)."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__()
        wrong = torch.tensor([math.log(math.expm1(loss)) for loss in losses])
        self.register_buffer("table", torch.stack((torch.zeros(len(losses)), wrong), -1))

    def forward(self, inputs: Tensor, real: Tensor | None) -> Tensor:
        return self.get_buffer("table")[inputs]


def asked(inputs: list[int], **more: Any) -> Batch:
    """One sequence, with class 0 right everywhere."""
    return {"inputs": torch.tensor([inputs]), "targets": torch.zeros(1, len(inputs), dtype=torch.int64), **more}


# ----------------------------------------------------------------------------------------------- evaluation: sequences


def test_loss_and_perplexity_are_of_the_epoch_not_means_of_batches() -> None:
    """HB-07: token losses 2, 2, 2 and 5 in two batches."""
    module = LanguageModel(Losses([2.0, 5.0]), OPTIM)
    values = validate(module, [asked([0, 0, 0]), asked([1])])
    assert values == pytest.approx(
        {"validation/loss": 2.75, "validation/perplexity": 15.6426, "validation/accuracy": 0.0}, rel=1e-5
    )


def test_ignored_targets_count_for_nothing() -> None:
    ignored = asked([1, 1]) | {"targets": torch.full((1, 2), -100)}
    values = validate(LanguageModel(Losses([2.0, 5.0]), OPTIM), [asked([0, 0]), ignored])
    assert values["validation/loss"] == pytest.approx(2.0)
    assert validate(LanguageModel(Losses([2.0, 5.0]), OPTIM), [ignored]) == {}


def test_a_tagger_has_no_perplexity_and_an_infinite_one_is_infinite() -> None:
    batches = [asked([0])]
    assert set(validate(Tagger(Losses([2.0]), OPTIM), batches)) == {"validation/loss", "validation/accuracy"}
    assert validate(LanguageModel(Losses([700.0]), OPTIM), batches)["validation/perplexity"] > 1e38


def test_accuracy_by_distance_counts_asked_positions() -> None:
    """Inputs 0 and 1 are answered rightly and wrongly."""
    module = Tagger(Losses([0.1, 2.0]), OPTIM)
    first = asked([0, 1, 0, 1], distance=torch.tensor([[8, 8, -1, 3]]))
    second = asked([1, 0], distance=torch.tensor([[8, 3]]))
    second["targets"][0, 0] = -100
    values = validate(module, [first, second])
    assert values["validation/accuracy"] == pytest.approx(3 / 5)
    assert values["validation/accuracy@distance=8"] == 0.5
    assert values["validation/accuracy@distance=3"] == 0.5
    assert len([name for name in values if "@" in name]) == 2


def test_an_extra_set_is_logged_under_its_coordinate_alone() -> None:
    main, extra = [asked([0], distance=torch.tensor([[4]]))], [asked([1], coordinate="length=48")]
    values = validate(LanguageModel(Losses([0.1, 5.0]), OPTIM), main, extra)
    assert values == pytest.approx(
        {
            "validation/loss": 0.1,
            "validation/perplexity": math.exp(0.1),
            "validation/accuracy": 1.0,
            "validation/accuracy@distance=4": 1.0,
            "validation/loss@length=48": 5.0,
            "validation/perplexity@length=48": math.exp(5),
            "validation/accuracy@length=48": 0.0,
        },
        rel=1e-5,
    )


def test_evaluating_twice_or_in_another_order_gives_the_same() -> None:
    module = Tagger(Losses([0.5, 2.0, 3.0]), OPTIM)
    batches = [asked([0, 0, 1]), asked([2]), asked([1, 2])]
    values = validate(module, batches)
    assert validate(module, batches) == values
    assert validate(module, batches[::-1]) == pytest.approx(values)


def test_a_loss_that_is_not_a_number_is_shown() -> None:
    module = Tagger(Losses([1.0]), OPTIM)
    module.model.get_buffer("table")[0] = torch.nan
    assert math.isnan(validate(module, [asked([0])])["validation/loss"])


def test_an_empty_batch_stands_for_none() -> None:
    """It is dealt to a device where others have one more."""
    module = interpreter(SENTENCES)
    values = validate(module, [phrases(range(3), REFERENCES)])
    assert validate(module, [phrases(range(3), REFERENCES), {}]) == values
    assert validate(module, [{}]) == {}


def test_test_and_validation_give_the_same_under_their_names() -> None:
    module = LanguageModel(Losses([0.5, 2.0]), OPTIM)
    batches = [asked([0, 1], distance=torch.tensor([[1, 2]])), asked([1], coordinate="length=48")]
    made = trainer()
    made.test(module, loader(batches), verbose=False)
    logged = {name: value.item() for name, value in made.callback_metrics.items() if name != "step"}
    tested = {name.replace("test/", "validation/"): value for name, value in logged.items()}
    assert tested == validate(module, batches)


# -------------------------------------------------------------------------------------------- evaluation: translations


@dataclass(frozen=True)
class Said:
    sentence: Tensor
    length: int

    def sentences(self, rows: Tensor) -> Self:
        return self

    def hypotheses(self, rows: Tensor) -> Self:
        return type(self)(self.sentence[rows], self.length)


class Phrasebook(nn.Module):
    """Translates source [[i]] into words `sentences[i]`; word w of them all is token 3 + w. Teacher-forced: uniform."""

    longest = None

    def __init__(self, sentences: list[str]) -> None:
        super().__init__()
        self.words = sorted({word for sentence in sentences for word in sentence.split()})
        self.scripts = [[3 + self.words.index(word) for word in sentence.split()] for sentence in sentences]
        self.size = 4 + len(self.words)

    def forward(self, source: Tensor, real: Tensor, target: Tensor, target_real: Tensor) -> Tensor:
        return torch.zeros(*target.shape, self.size)

    def start(self, source: Tensor, source_real: Tensor | None) -> Said:
        return Said(source[:, 0], 0)

    def step(self, tokens: Tensor, state: Said) -> tuple[Tensor, Said]:
        scripts = [self.scripts[sentence] for sentence in state.sentence.tolist()]
        said = [script[state.length] if state.length < len(script) else END for script in scripts]
        return F.one_hot(torch.tensor(said), self.size).float(), Said(state.sentence, state.length + 1)

    def detokenise(self, tokens: list[int]) -> str:
        return " ".join(self.words[token - 3] for token in tokens if token >= 3)


def phrases(rows: range, references: list[str], **more: Any) -> Batch:
    """Sentences `rows` of a phrasebook; their targets (one token and the end) matter to the loss alone."""
    source = torch.tensor(rows)[:, None]
    real = torch.ones_like(source, dtype=torch.bool).expand(-1, 2)
    target = torch.tensor([[START, 3]]).expand(len(rows), -1)
    texts = {"sources": [f"source {row}" for row in rows], "references": [references[row] for row in rows]}
    targets = torch.tensor([[3, END]]).expand(len(rows), -1)
    return {
        "source": source.expand(-1, 2),
        "source_real": real,
        "target": target,
        "target_real": real,
        "targets": targets,
        **texts,
        **more,
    }


def interpreter(sentences: list[str]) -> Translator:
    book = Phrasebook(sentences)
    return Translator(book, OPTIM, TRANSLATION, book.detokenise, GREEDY)


def translations(module: Translator) -> list[Translation]:
    return module.evaluation.translations[""]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_bleu_is_of_the_corpus_whatever_the_batches(size: int) -> None:
    """HB-06."""
    module = interpreter(SENTENCES)
    batches = [phrases(range(at, min(at + size, 3)), REFERENCES) for at in range(0, 3, size)]
    values = validate(module, batches)
    assert values["validation/bleu"] == pytest.approx(54.09, abs=0.005)
    assert values["validation/loss"] == pytest.approx(math.log(Phrasebook(SENTENCES).size))
    assert [t.hypothesis for t in translations(module)] == SENTENCES
    assert [t.reference for t in translations(module)] == REFERENCES
    assert [t.source for t in translations(module)] == ["source 0", "source 1", "source 2"]
    assert set(module.signatures) == {"bleu", "bleu-lower", "chrf"}
    assert module.signatures["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_an_empty_hypothesis_counts_and_nothing_but_empty_ones_is_zero() -> None:
    """HB-03."""
    fox = "the quick brown fox jumps over the lazy dog ."
    references = [fox, "hello there my friend ."]
    batch = phrases(range(2), references)
    some = validate(interpreter([fox, ""]), [batch])
    assert some["validation/bleu"] == pytest.approx(60.65, abs=0.005)
    assert some["validation/empty"] == 0.5
    none = validate(interpreter(["", ""]), [batch])
    assert (none["validation/bleu"], none["validation/chrf"], none["validation/length-ratio"]) == (0.0, 0.0, 0.0)
    assert none["validation/empty"] == 1.0


def test_references_stay_the_original_text() -> None:
    """HB-05: the reference has words, double spaces and marks that no vocabulary of the model has."""
    references = ["a  Zyzzyva@@ ate <unk> ?"]
    module = interpreter(["a b c d e"])
    validate(module, [phrases(range(1), references)])
    assert [t.reference for t in translations(module)] == references


def test_unequal_numbers_of_sentences_are_an_error() -> None:
    """HB-02."""
    batch = phrases(range(3), REFERENCES)
    batch["references"] = REFERENCES[:2]
    with pytest.raises(ValueError, match="3 hypotheses but 2 references"):
        validate(interpreter(SENTENCES), [batch])


def test_an_extra_set_of_sentences_has_its_own_bleu() -> None:
    module = interpreter(SENTENCES)
    main, extra = [phrases(range(1), REFERENCES)], [phrases(range(1, 3), REFERENCES, coordinate="domain=news")]
    values = validate(module, main, extra)
    expected = corpus_bleu(SENTENCES[1:], REFERENCES[1:])
    assert values["validation/bleu"] == pytest.approx(100.0)
    assert values["validation/bleu@domain=news"] == pytest.approx(expected.value)
    metrics = {name.partition("@")[0] for name in values} - {"validation/bleu-shuffled"}  # which needs two sentences
    assert metrics == {name for name in values if "@" not in name}
    assert [t.hypothesis for t in translations(module)] == SENTENCES[:1]
    assert [t.hypothesis for t in module.evaluation.translations["domain=news"]] == SENTENCES[1:]
    assert not any("@" in name for name in module.signatures)


def test_sentences_of_one_evaluation_do_not_reach_the_next() -> None:
    module = interpreter(SENTENCES)
    validate(module, [phrases(range(3), REFERENCES)])
    validate(module, [phrases(range(1), REFERENCES)])
    assert [t.hypothesis for t in translations(module)] == SENTENCES[:1]


class Prompted(Phrasebook):
    """Says END on its own; given the true words before, the next of `forced[i]`, one more than the words or END."""

    def __init__(self, forced: list[list[int]]) -> None:
        super().__init__([""] * len(forced))
        self.forced = forced
        self.size = 9

    def forward(self, source: Tensor, real: Tensor, target: Tensor, target_real: Tensor) -> Tensor:
        return F.one_hot(torch.tensor([self.forced[sentence] for sentence in source[:, 0].tolist()]), self.size).float()

    def detokenise(self, tokens: list[int]) -> str:
        return words(tokens)


def test_the_forced_translation_is_the_likeliest_token_at_each_target() -> None:
    """An end in the middle costs its word alone; what stands at padding is not read."""
    model = Prompted([[3, END, 5, 6, 8], [3, 7, END, 8, 8]])
    module = Translator(model, OPTIM, TRANSLATION, model.detokenise, GREEDY)
    targets = torch.tensor([[3, 4, 5, 6, END], [3, 4, END, -100, -100]])
    values = validate(module, [phrases(range(2), ["w3 w4 w5 w6", "w3 w4"], targets=targets)])
    assert [t.forced for t in translations(module)] == ["w3 w5 w6 w8", "w3 w7"]
    assert [t.hypothesis for t in translations(module)] == ["", ""]
    right, wrong = math.log(math.e + 8) - 1, math.log(math.e + 8)
    assert [t.nats for t in translations(module)] == pytest.approx([3 * right + 2 * wrong, 2 * right + wrong])
    assert [t.tokens for t in translations(module)] == [5, 3]
    assert values["validation/loss"] == pytest.approx((5 * right + 3 * wrong) / 8)
    assert values["validation/perplexity"] == pytest.approx(math.exp((5 * right + 3 * wrong) / 8))
    assert values["validation/chrf"] == 0
    assert values["validation/exposure-gap"] == values["validation/chrf-forced"] > 30


class Bigram(nn.Module):
    """Probability of a token given the one before, from a table; the source says nothing."""

    def __init__(self, probabilities: list[list[float]]) -> None:
        super().__init__()
        self.register_buffer("table", torch.tensor(probabilities).log())

    def forward(self, source: Tensor, real: Tensor, target: Tensor, target_real: Tensor) -> Tensor:
        return self.get_buffer("table")[target]


def contrast(right: list[int], wrong: list[int], distance: int, **more: Any) -> Batch:
    batch: Batch = {"source": torch.tensor([[0]]), "source_real": torch.tensor([[True]])}
    for name, tokens in {"target": right, "wrong": wrong}.items():
        batch[name] = torch.tensor([[*tokens[:-1], 0]])  # padded by one
        batch[f"{name}_real"] = torch.tensor([[True] * (len(tokens) - 1) + [False]])
    batch["targets"], batch["wrong_targets"] = torch.tensor([[*right[1:], -100]]), torch.tensor([[*wrong[1:], -100]])
    return batch | {"distance": torch.tensor([distance]), "category": ["noun"]} | more


def test_a_contrast_is_won_by_the_likelier_whole_sentence() -> None:
    """From 0: tokens 1, 2, 3 at 0.5, 0.4, 0.1; from 1: 3 at 0.2; from 2: 3 at 0.9."""
    model = Bigram([[0.0, 0.5, 0.4, 0.1], [0.4, 0.2, 0.2, 0.2], [0.1, 0.0, 0.0, 0.9], [0.25] * 4])
    module = Translator(model, OPTIM, TRANSLATION, str, GREEDY)
    items = [
        contrast([0, 2, 3], [0, 1, 3], distance=5),  # 0.36 against 0.1, though 1 is likelier than 2
        contrast([0, 3], [0, 1], distance=5, category=["verb"]),  # 0.1 against 0.5
        contrast([0, 1, 2], [0, 1, 3], distance=1),  # a tie is not right
        contrast([0, 2, 3, 0], [0, 2], distance=-1),  # 0.09 against 0.4, but 0.448 a token
        contrast([0, 2], [0, 3], distance=9, coordinate="length=48"),
    ]
    values = validate(module, items)
    assert values == pytest.approx(
        {
            "validation/accuracy": 1 / 4,
            "validation/accuracy-per-token": 2 / 4,
            "validation/accuracy@distance=5": 0.5,
            "validation/accuracy@distance=1": 0.0,
            "validation/accuracy@category=noun": 1 / 3,
            "validation/accuracy-per-token@category=noun": 2 / 3,
            "validation/accuracy@category=verb": 0.0,
            "validation/accuracy-per-token@category=verb": 0.0,
            "validation/accuracy@length=48": 1.0,
            "validation/accuracy-per-token@length=48": 1.0,
        }
    )
    kept = module.evaluation.contrasts
    assert [item.distance for item in kept[""]] == [5, 5, 1, -1]
    assert [item.distance for item in kept["length=48"]] == [9]
    assert kept[""][0].right == pytest.approx(math.log(0.36))
    assert kept[""][0].wrong == pytest.approx(math.log(0.1))
    assert kept[""][3] == Contrast(-1, "noun", kept[""][3].right, kept[""][3].wrong, 3, 1)
    assert module.evaluation.translations == {}
    assert module.signatures == {}


# ------------------------------------------------------------------------------------------------------------ training


class Weights(nn.Module):
    """Logits straight from a table of parameters."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Parameter(torch.randn(V, V))

    def forward(self, inputs: Tensor, real: Tensor | None) -> Tensor:
        return self.table[inputs]


def tags(seed: int, n_sequences: int = 3) -> Batch:
    """Each position asks for its own token plus one."""
    inputs = torch.randint(V, (n_sequences, 5), generator=torch.Generator().manual_seed(seed))
    return {"inputs": inputs, "targets": (inputs + 1) % V}


class Log(L.Callback):
    """What the training steps log and do."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.gradients: list[float] = []

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        trainer.loggers = [Rows(self.rows)]

    def on_before_optimizer_step(self, trainer: L.Trainer, module: L.LightningModule, *_: Any) -> None:
        norms = [parameter.grad.norm() for parameter in module.parameters() if parameter.grad is not None]
        self.gradients.append(torch.stack(norms).norm().item())


class Rows(Logger):
    """Puts what is logged while training into a list."""

    name, version = "rows", ""

    def __init__(self, rows: list[dict[str, float]]) -> None:
        super().__init__()
        self.rows = rows

    def log_hyperparams(self, *_: Any) -> None:
        """Nothing."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        if row := {name: value for name, value in metrics.items() if name.startswith("train/")}:
            self.rows.append(row)


def test_a_list_of_batches_is_a_step_on_each() -> None:
    class Two(Dataset[list[Batch]]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> list[Batch]:
            return [tags(2 * index), tags(2 * index + 1)]

    one_by_one, by_twos = Tagger(Weights(), OPTIM), Tagger(Weights(), OPTIM)
    log, log_of_lists = Log(), Log()
    fit(one_by_one, [tags(i) for i in range(6)], callbacks=[log])
    made = trainer(6, callbacks=[log_of_lists], limit_val_batches=0)
    made.fit(by_twos, DataLoader(Two(), batch_size=None), loader([]))
    assert made.global_step == 6
    assert log_of_lists.rows == log.rows
    for left, right in zip(one_by_one.parameters(), by_twos.parameters(), strict=True):
        assert torch.equal(left, right)


def test_in_mixed_precision_only_the_forward_pass_is_mixed() -> None:
    seen: list[bool] = []

    class Watching(Tagger):
        def on_before_optimizer_step(self, *_: Any) -> None:
            seen.append(torch.is_autocast_enabled("cpu"))

        def step(self, batch: Batch) -> Any:
            seen.append(torch.is_autocast_enabled("cpu"))
            return super().step(batch)

    module = Watching(Weights(), OPTIM)
    fit(module, [tags(0), tags(1)], precision="bf16-mixed")
    assert seen == [True, False] * 2
    assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}


def test_the_rate_moves_with_every_optimiser_step() -> None:
    log = Log()
    fit(Tagger(Weights(), OPTIM), [tags(i) for i in range(6)], callbacks=[log])
    rates = [row["train/lr"] for row in log.rows]
    assert rates == pytest.approx([OPTIM.lr * OPTIM.factor(step) for step in range(1, 7)], rel=1e-5, abs=1e-9)
    assert len(set(rates)) >= 5


def test_only_step_makes_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    original = Module.step

    def counted(self: Module, batch: Batch) -> Any:
        made.append("train" if self.training else "evaluation")
        return original(self, batch)

    def unexpected(*_: Any, **__: Any) -> Any:
        raise AssertionError("a loss outside of step")

    monkeypatch.setattr(Module, "step", counted)
    module = Tagger(Weights(), OPTIM)
    made_trainer = fit(module, [tags(i) for i in range(4)], [tags(9)], num_sanity_val_steps=0)
    made_trainer.test(module, loader([tags(8), tags(9)]), verbose=False)
    assert made == ["train"] * 4 + ["evaluation"] * 3
    monkeypatch.setattr("models.lit.token_loss", unexpected)
    with pytest.raises(AssertionError, match="outside"):
        original(module, tags(1))


def test_the_smoothed_loss_is_minimised_and_the_plain_one_is_logged() -> None:
    optim = OptimConfig(steps=1, warmup=1, label_smoothing=0.3, clip=0)
    module, log, batch = Tagger(Weights(), optim), Log(), tags(0)
    logits = module.model(batch["inputs"], None).flatten(0, 1)
    plain = F.cross_entropy(logits, batch["targets"].flatten())
    smoothed = F.cross_entropy(logits, batch["targets"].flatten(), label_smoothing=0.3)
    (expected,) = torch.autograd.grad(smoothed, module.model.get_parameter("table"))
    assert validate(module, [batch])["validation/loss"] == pytest.approx(plain.item())
    fit(module, [batch], callbacks=[log])
    assert log.rows[0]["train/loss"] == pytest.approx(plain.item())
    assert log.gradients[0] == pytest.approx(expected.norm().item(), rel=1e-5)


def test_train_loss_is_the_mean_over_all_tokens_since_the_last_time() -> None:
    batches = [tags(i, n_sequences=1 + i) for i in range(4)]
    module, log = Tagger(Weights(), OptimConfig(steps=4, lr=1e-12)), Log()
    losses = [validate(module, [batch])["validation/loss"] for batch in batches]
    fit(module, batches, callbacks=[log], log_every_n_steps=2)
    logged = [row["train/loss"] for row in log.rows]
    assert logged == pytest.approx([(losses[0] + 2 * losses[1]) / 3, (3 * losses[2] + 4 * losses[3]) / 7], rel=1e-5)


@pytest.mark.parametrize("clip", [0.0, 0.01])
def test_the_gradient_is_clipped_to_the_configured_norm(clip: float, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    module = Tagger(Weights(), OptimConfig(steps=2, clip=clip))
    seen: list[float] = []
    original = module.on_before_optimizer_step

    def clipping(*arguments: Any, **named: Any) -> None:
        original(*arguments, **named)
        gradient = module.model.get_parameter("table").grad
        assert gradient is not None
        seen.append(gradient.norm().item())

    monkeypatch.setattr(module, "on_before_optimizer_step", clipping)
    fit(module, [tags(0), tags(1)], callbacks=[log])
    assert min(log.gradients) > 0.05  # before clipping
    assert seen == pytest.approx([clip] * 2 if clip else log.gradients, rel=1e-3)


def test_a_loss_that_is_not_finite_stops_at_its_step() -> None:
    class Breaks(Weights):
        def forward(self, inputs: Tensor, real: Tensor | None) -> Tensor:
            return super().forward(inputs, real) * (torch.inf if (inputs == 0).all() else 1.0)

    bad = {"inputs": torch.zeros(1, 2).long(), "targets": torch.ones(1, 2).long()}
    with pytest.raises(Diverged, match="not finite at step 3") as error:
        fit(Tagger(Breaks(), OPTIM), [tags(0), tags(1), bad, tags(2)])
    assert error.value.step == 3


def test_a_batch_without_targets_changes_no_weight_and_logs_no_nan() -> None:
    module, log = Tagger(Weights(), OptimConfig(steps=2, weight_decay=0.0)), Log()
    before = module.model.get_parameter("table").clone()
    empty = tags(0) | {"targets": torch.full((3, 5), -100)}
    fit(module, [empty, empty], callbacks=[log])
    torch.testing.assert_close(module.model.get_parameter("table"), before, rtol=0, atol=0)
    assert set(log.rows[-1]) == {"train/lr"}


# --------------------------------------------------------------------------------------------------------- real models


def pairs(seed: int, size: int = 5, text: bool = False) -> Batch:
    """A sentence and itself; lengths 2 to 4."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 5, (size, 1), generator=generator)
    source = torch.randint(3, V, (size, 4), generator=generator)
    source_real, real = torch.arange(4) < lengths, torch.arange(5) < lengths + 1
    target = torch.cat((torch.full((size, 1), START), source), 1)
    targets = torch.cat((source, torch.zeros(size, 1).long()), 1).scatter(1, lengths, END).masked_fill(~real, -100)
    batch = {"source": source, "source_real": source_real, "target": target, "target_real": real, "targets": targets}
    texts = [words(row[:length].tolist()) for row, length in zip(source, lengths[:, 0], strict=True)]
    return batch | ({"sources": texts, "references": texts} if text else {})


def words(tokens: list[int]) -> str:
    return " ".join(f"w{token}" for token in tokens)


def next_tokens(seed: int) -> Batch:
    tokens = torch.randint(V, (3, 1), generator=torch.Generator().manual_seed(seed)) + torch.arange(7)
    return {"inputs": tokens[:, :-1] % V, "targets": tokens[:, 1:] % V}


def real_modules() -> Iterator[tuple[str, Callable[[], Module], Callable[[int], Batch]]]:
    def of(shape: TaskShape, architecture: Any) -> Callable[[], Module]:
        config = ModelConfig(architecture=architecture, d_model=12)
        optim = OptimConfig(steps=30, warmup=5, lr=0.02)
        return lambda: make_module(build_model(config, shape, seed=0), optim, shape, words, GREEDY)

    for architecture in ("decoder", "lstm"):
        yield f"language model, {architecture}", of(NEXT_TOKEN, architecture), next_tokens
    for architecture in ("encoder", "decoder", "gru"):
        yield f"tagger, {architecture}", of(TAGGING, architecture), tags
    for architecture in ("encoder-decoder", "rnn"):
        yield f"translator, {architecture}", of(TRANSLATION, architecture), pairs


REAL = {name: (module, batch) for name, module, batch in real_modules()}


@pytest.mark.parametrize("name", REAL)
def test_training_lowers_the_loss(name: str) -> None:
    make, batch = REAL[name]
    log = Log()
    fit(make(), [batch(i % 3) for i in range(30)], callbacks=[log])
    losses = [row["train/loss"] for row in log.rows]
    assert losses[0] > 0.7 * math.log(V)
    assert sum(losses[-3:]) < 0.8 * sum(losses[:3])


@pytest.mark.parametrize("name", REAL)
def test_a_batch_has_the_loss_in_training_that_it_has_in_validation(name: str) -> None:
    """HB-13, without dropout."""
    make, batch = REAL[name]
    one = pairs(3, text=True) if batch is pairs else batch(3)
    module, log = make(), Log()
    expected = validate(module, [one])["validation/loss"]
    fit(module, [one], callbacks=[log])
    assert log.rows[0]["train/loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", REAL)
def test_no_state_is_carried_from_batch_to_batch(name: str) -> None:
    make, batch = REAL[name]
    module = make()
    batches = [pairs(i, size=3 + i, text=True) if batch is pairs else batch(i) for i in range(3)]
    values = validate(module, batches)
    assert validate(module, batches) == values
    assert validate(module, batches[::-1]) == pytest.approx(values)


@pytest.mark.parametrize(
    "parts", [{"architecture": "encoder-decoder"}, {"architecture": "gru", "cross_attention": "dot"}]
)
def test_a_trained_translator_translates(parts: dict[str, Any]) -> None:
    config = ModelConfig(d_model=32, n_layers=1, **parts)
    optim = OptimConfig(steps=250, warmup=20, lr=0.01, label_smoothing=0.1)
    module = Translator(build_model(config, TRANSLATION, seed=0), optim, TRANSLATION, words, GREEDY)
    held_out = [pairs(1000 + i, text=True) for i in range(4)]
    untrained = validate(module, held_out)
    made = fit(module, [pairs(i, size=24) for i in range(250)], held_out, log_every_n_steps=50)
    after = {name: value.item() for name, value in made.callback_metrics.items() if name.startswith("validation")}
    assert untrained["validation/bleu"] < 5
    assert after["validation/bleu"] > 60
    assert after["validation/loss"] < 0.5 * untrained["validation/loss"]
    expected = corpus_bleu([t.hypothesis for t in translations(module)], [t.reference for t in translations(module)])
    assert after["validation/bleu"] == pytest.approx(expected.value)
    assert abs(after["validation/exposure-gap"]) < 10
    assert validate(module, held_out) == after  # HB-05: one checkpoint scores alike, during training and later


def test_a_test_finds_the_translations_that_validation_finds() -> None:
    """HB-05: with the same weights, on the same set."""
    module = REAL["translator, encoder-decoder"][0]()
    assert isinstance(module, Translator)
    batches = [pairs(i, text=True) for i in range(3)]
    expected, found = validate(module, batches), translations(module)
    made = trainer()
    made.test(module, loader(batches), verbose=False)
    tested = {name: value.item() for name, value in made.callback_metrics.items() if name != "step"}
    assert {name.replace("test/", "validation/"): value for name, value in tested.items()} == expected
    assert translations(module) == found
    assert len({t.hypothesis for t in found}) > 1


def test_the_exposure_gap_is_wide_where_the_target_leaks() -> None:
    """Without a mask the decoder reads each token off its own input, which it does not have when it runs free."""
    config = ModelConfig(architecture="encoder-decoder", d_model=32, n_layers=1, decoder_mask="none")
    optim = OptimConfig(steps=120, warmup=20, lr=0.01)
    module = Translator(build_model(config, TRANSLATION, seed=0), optim, TRANSLATION, words, GREEDY)
    fit(module, [pairs(i, size=24) for i in range(120)])
    values = validate(module, [pairs(1000 + i, text=True) for i in range(4)])
    assert values["validation/exposure-gap"] > 40
    assert values["validation/chrf-forced"] > 60


def test_equal_sides_of_a_contrast_are_a_tie_however_they_are_padded() -> None:
    """Real weights, in float32: the padding of one side moves the last digits of its log-probability."""
    module = REAL["translator, encoder-decoder"][0]()
    batch = pairs(5, size=40)
    wrong = {name: F.pad(batch[name], (0, 17)) for name in ("target", "target_real")}
    batch |= {"wrong": wrong["target"], "wrong_real": wrong["target_real"]}
    batch |= {"wrong_targets": F.pad(batch["targets"], (0, 17), value=-100)}
    batch |= {"distance": torch.full((40,), -1), "category": ["noun"] * 40}
    values = validate(module, [batch])
    assert values == {"validation/accuracy": 0.0, "validation/accuracy-per-token": 0.0}
    assert module.evaluation.contrasts[""][0].right < -1


def test_a_checkpoint_is_read_by_the_safe_loader_and_gives_the_same_module(tmp_path: Path) -> None:
    make, batch = REAL["language model, lstm"]
    module = make()
    saver = ModelCheckpoint(dirpath=tmp_path, save_last=True)
    fit(module, [batch(i) for i in range(3)], [batch(9)], callbacks=[saver], enable_checkpointing=True)
    state = torch.load(tmp_path / "last.ckpt", weights_only=True)
    weights = {f"model.{name}" for name in module.model.state_dict()}
    assert set(state["state_dict"]) == {*weights, "train_loss.total", "train_loss.count"}
    other = make()
    other.load_state_dict(state["state_dict"])
    assert validate(other, [batch(9)]) == validate(module, [batch(9)])


def test_a_resumed_run_logs_the_loss_and_takes_the_step_of_a_whole_one(tmp_path: Path) -> None:
    """Stopped after the third of four steps, in the middle of what a logged loss is the mean of."""
    make, batch = REAL["tagger, gru"]
    batches, options = loader([batch(i) for i in range(3)]), {"limit_val_batches": 0, "log_every_n_steps": 2}
    whole, log = make(), Log()
    trainer(4, callbacks=[log], **options).fit(whole, batches, loader([]))
    stopped = trainer(3, **options)
    stopped.fit(make(), batches, loader([]))
    stopped.save_checkpoint(tmp_path / "third.ckpt")
    module, resumed = make(), Log()
    made = trainer(4, callbacks=[resumed], **options)
    made.fit(module, batches, loader([]), ckpt_path=str(tmp_path / "third.ckpt"), weights_only=True)
    assert resumed.rows == log.rows[1:]
    assert set(resumed.rows[0]) == {"train/loss", "train/lr"}
    for name, value in whole.model.state_dict().items():
        assert torch.equal(module.model.state_dict()[name], value)


def test_the_best_checkpoint_ignores_losses_that_are_not_numbers(tmp_path: Path) -> None:
    """Validation losses NaN, 2, 1, 3: the third is best."""

    class Told(Tagger):
        def results(self) -> dict[str, float]:
            return {"loss": [math.nan, 2.0, 1.0, 3.0][self.global_step // 2 - 1]}

    saver = ModelCheckpoint(dirpath=tmp_path, monitor="validation/loss", filename="{step}")
    module = Told(Weights(), OPTIM)
    options: dict[str, Any] = {"val_check_interval": 2, "num_sanity_val_steps": 0, "enable_checkpointing": True}
    fit(module, [tags(i) for i in range(8)], [tags(9)], callbacks=[saver], **options)
    assert saver.best_model_path.endswith("step=6.ckpt")


def test_each_kind_of_task_has_its_module() -> None:
    kinds = {NEXT_TOKEN: LanguageModel, TAGGING: Tagger, TRANSLATION: Translator}
    assert {shape.kind for shape in kinds} == set(get_args(Kind))
    for shape, kind in kinds.items():
        module = make_module(Weights(), OPTIM, shape, words, GREEDY)
        assert type(module) is kind
        assert module.optim is OPTIM
        if isinstance(module, Translator):
            assert (module.start, module.end) == (START, END)
            assert module.detokenise is words
