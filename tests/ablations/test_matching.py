"""Matched variants: within a hundredth of the base by what is built, or refused where no width brings them there."""

import random
from pathlib import Path
from typing import Any

import pytest
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ablations import components as catalogue
from ablations import matching
from ablations.components import COMPONENTS, Component
from ablations.load import make_study
from ablations.matching import matched
from ablations.step_times import Prepared
from ablations.study import Experiment, Settings
from ablations.train import task_shape
from ablations.widths import with_width
from models.build import build_model
from models.config import RECURRENT, ConfigError, TaskShape
from models.losses import predict
from models.size import parameter_count
from tests.ablations import trained

TASK = trained.TASK
TRAIN = {"steps": 7, "batch_size": 4}
MODEL: dict[str, Any] = {"architecture": "encoder-decoder", "d_model": 24, "n_heads": 3, "d_ff": 90, "window": 1}
LSTM: dict[str, Any] = {"architecture": "lstm", "d_model": 24, "d_hidden": 50, "cross_attention": "dot"}
OF_RECURRENT = ("forget_bias", "bidirectional", "input_feeding")


def compared(
    variants: dict[str, Any], root: Path, model: dict[str, Any] | None = None, **match: Any
) -> tuple[Experiment, Experiment]:
    """An experiment and the same matched."""
    experiment = {"task": TASK, "model": model or MODEL, "train": TRAIN, "variants": variants}
    study = make_study({"name": "tiny", "seeds": 3, "match": match, "experiments": {"e": experiment}})
    (made,) = matched(study, root)
    return study.experiments[0], made


def shape_of(settings: Settings) -> TaskShape:
    data = settings.data(0)
    data.setup()
    return task_shape(data)


def size(settings: Settings) -> int:
    """Parameters of a model that is built."""
    return sum(parameter.numel() for parameter in build_model(settings.model, shape_of(settings), 0).parameters())


def values_of(component: Component) -> list[Any]:
    return catalogue.choices(component) or [component.example]


PAIRS = [
    (component, value)
    for component in COMPONENTS
    for value in values_of(component)
    if (component.name, value) not in (("architecture", "encoder"), ("architecture", "decoder"))
    and value != catalogue.default(component)
    and (component.name, value) not in (("architecture", "encoder-decoder"), ("cross_attention", "attend"))
]


def one_change(component: Component, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A base and the change of one component of it."""
    if component.name == "architecture" and value in RECURRENT:
        return MODEL, {"model": {**LSTM, "architecture": value}}
    if component.name in OF_RECURRENT or value in ("dot", "additive"):
        base = {**LSTM, "cross_attention": "none"} if component.name == "cross_attention" else LSTM
        return base, {f"model.{component.name}": value}
    return MODEL, {f"model.{component.name}": value}


@pytest.mark.parametrize(("component", "value"), PAIRS, ids=lambda part: getattr(part, "name", str(part)))
def test_every_component_is_matched_or_refused_and_what_changes_no_size_is_untouched(
    component: Component, value: Any, tmp_path: Path
) -> None:
    model, change = one_change(component, value)
    raw, made = compared({"v": change}, tmp_path, model)
    variant, base = raw.variants["v"], size(raw.variants["base"])
    if catalogue.choices(component) and "changes_size" not in catalogue.properties(component, value):
        assert size(variant) == base
    assert made.variants["base"] == raw.variants["base"]
    if abs(size(variant) / base - 1) <= 0.01:
        assert (made.variants["v"], made.left_out) == (variant, {})
        return
    shape = shape_of(variant)
    fields = [name for name in ("d_ff", "d_hidden") if getattr(variant.model, name)]
    widths = [with_width(variant, fields[0], n).model for n in range(1, 400)] if fields else []
    nearest = min((abs(parameter_count(model, shape) / base - 1) for model in widths), default=1.0)
    if nearest > 0.01:
        assert list(made.variants) == ["base"]
        assert ("of the base's parameters" if fields else "no field of widen") in made.left_out["v"]
    else:
        assert made.left_out == {}
        assert abs(size(made.variants["v"]) / base - 1) == pytest.approx(nearest)


def test_each_way_of_it_is_among_the_components(tmp_path: Path) -> None:
    changes = {
        "narrower": {"model.feed_forward": "swiglu"},
        "wider": {"model.query_key": "tied"},
        "untouched": {"model.residual": "none"},
        "nearly": {"model.position": "relative"},
        "refused": {"model.feed_forward": "none"},
    }
    raw, made = compared(changes, tmp_path)
    assert made.left_out == {"refused": "no field of widen changes it: model.d_ff, model.d_hidden"}
    widths = {name: settings.model.d_ff for name, settings in made.variants.items()}
    assert widths["base"] == widths["untouched"] == widths["nearly"] == 90
    assert widths["narrower"] == 60  # 49 weights a hidden unit and 74: 90 * 49 / 74 is 59.6
    assert widths["wider"] == 108  # 6 matrices of 24 * 24 over 4 nets of 49 weights a unit are 17.6 units more
    assert size(raw.variants["nearly"]) > size(raw.variants["base"])


def test_what_is_made_is_an_experiment_of_its_own(tmp_path: Path) -> None:
    raw, made = compared({"v": {"model.query_key": "tied"}, "w": {"model.feed_forward": "none"}}, tmp_path)
    assert (made.name, made.family, made.origin, made.comparison) == ("e (matched)", "e (matched)", "e", "matched")
    assert (made.base, made.seeds, made.design) == (raw.base, raw.seeds, raw.design)
    assert list(made.variants) == ["base", "v"]
    assert made.changes == {"base": {}, "v": {"model.query_key": "tied"}}
    assert not list(tmp_path.iterdir())


def test_a_width_that_is_still_too_much_at_its_least_is_said(tmp_path: Path) -> None:
    _, made = compared({"v": {"model.n_layers": 5}}, tmp_path)
    small = with_width(compared({"v": {"model.n_layers": 5}}, tmp_path)[0].variants["v"], "d_ff", 1)
    base = size(made.variants["base"])
    assert made.left_out == {"v": f"d_ff=1: still {100 * size(small) / base:.4g} % of the base's parameters"}


def test_a_width_that_moves_in_steps_too_large_is_said(tmp_path: Path) -> None:
    raw, made = compared({"v": {"model.query_key": "tied"}}, tmp_path, widen=["model.n_layers"])
    assert size(raw.variants["v"]) / size(raw.variants["base"]) < 0.99
    assert made.left_out["v"].startswith("n_layers=2: ")
    assert "still" not in made.left_out["v"]


def test_the_first_field_that_has_an_effect_is_changed(tmp_path: Path) -> None:
    changes = {"no net": {"model.feed_forward": "none"}, "tied": {"model.query_key": "tied"}}
    widen = ["model.d_hidden", "model.d_ff", "model.d_head"]
    raw, made = compared(changes, tmp_path, {**MODEL, "d_ff": 200}, widen=widen)
    assert made.variants["tied"] == with_width(raw.variants["tied"], "d_ff", 218)
    # 4 nets of 49 * 200 + 24 parameters and 4 norms of 48, over 6 attentions of 4 * 24 * 3 a unit, are 22.9 units more
    assert made.variants["no net"] == with_width(raw.variants["no net"], "d_head", 31)


def test_d_model_keeps_its_heads_whole(tmp_path: Path) -> None:
    model = {"architecture": "encoder-decoder", "d_model": 240, "n_heads": 2}
    raw, made = compared({"v": {"model.n_layers": 3}}, tmp_path, model, widen=["model.d_model"])
    narrow = made.variants["v"].model
    assert narrow.d_model < 240
    assert (2 * narrow.head_width, narrow.d_ff) == (narrow.d_model, 4 * narrow.d_model)
    assert size(made.variants["v"]) / size(raw.variants["base"]) == pytest.approx(1, abs=0.01)


def test_what_a_variant_is_there_to_change_is_not_undone(tmp_path: Path) -> None:
    changes = {"narrow": {"model.d_ff": 20}, "both": {"model": {**MODEL, "d_ff": 20, "query_key": "tied"}}}
    _, made = compared(changes, tmp_path)
    reason = "no field of widen changes it: model.d_hidden; model.d_ff is what it changes"
    assert made.left_out == dict.fromkeys(changes, reason)
    _, made = compared({"narrow": {"model.d_ff": 20}}, tmp_path, widen=["model.d_ff", "model.d_head"])
    assert made.variants["narrow"].model.d_ff == 20
    assert made.variants["narrow"].model.d_head != 8


def test_a_width_of_another_architecture_is_free(tmp_path: Path) -> None:
    raw, made = compared({"lstm": {"model": LSTM}}, tmp_path, {**MODEL, "d_ff": 300})
    assert raw.variants["lstm"].model.d_hidden == 50
    assert size(raw.variants["lstm"]) / size(raw.variants["base"]) > 1.2
    assert size(made.variants["lstm"]) / size(made.variants["base"]) == pytest.approx(1, abs=0.01)


def flops_of_a_step(settings: Settings) -> float:
    """As torch counts them in the products of one forward pass on the first batch."""
    data = settings.data(0)
    data.setup()
    model, batch = build_model(settings.model, task_shape(data), 0), data.training_batch(0)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        predict(model, batch)
    return counter.get_total_flops()


def test_operations_are_made_equal_where_parameters_are_not(tmp_path: Path) -> None:
    changes = {"tied": {"model.query_key": "tied"}, "raw": {"model.query_key": "identity"}}
    raw, made = compared(changes, tmp_path, by="flops")
    base = flops_of_a_step(raw.variants["base"])
    assert made.left_out == {}
    assert made.variants["tied"] == raw.variants["tied"]  # as many products, fewer parameters
    assert flops_of_a_step(raw.variants["raw"]) / base < 0.97
    assert flops_of_a_step(made.variants["raw"]) / base == pytest.approx(1, abs=0.01)


def test_what_trains_nothing_or_has_no_variants_gets_no_experiment(tmp_path: Path) -> None:
    still = {"task": TASK, "model": MODEL, "train": {"steps": 0}, "measure": ["gradient-norm"]}
    alone = {"task": TASK, "model": MODEL, "train": TRAIN}
    experiments = {"alone": alone, "still": {**still, "variants": {"v": {"model.feed_forward": "swiglu"}}}}
    for by, names in (("parameters", ["still (matched)"]), ("flops", []), ("seconds", [])):
        study = make_study({"name": "tiny", "seeds": 1, "match": {"by": by}, "experiments": experiments})
        assert [one.name for one in matched(study, tmp_path)] == names


@pytest.mark.parametrize("path", ["model.window", "d_ff", "train.steps", "model.nonsense"])
def test_what_is_no_width_of_a_model_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"match\.widen: '{path}': choose from model\.d_ff, "):
        compared({"v": {"model.query_key": "tied"}}, tmp_path, widen=["model.d_ff", path])


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Steps take a second and one for each hidden unit, times 1.5 without scale; noise of 0.5 % that is always new."""
    calls: list[tuple[Any, ...]] = []
    noise = random.Random(3)

    def seconds(settings: Settings) -> float:
        slow = 1.5 if settings.model.scale == "none" else 1.0
        return slow * (1 + (settings.model.d_ff or 0)) * noise.uniform(0.995, 1.005)

    def ratio(base: Prepared, other: Prepared, kind: str) -> float:
        calls.append((other[0].model, kind))
        return seconds(other[0]) / seconds(base[0])

    monkeypatch.setattr(matching, "step_ratio", ratio)
    return calls


TIMED = {
    "slow": {"model.scale": "none"},
    "same": {"model.residual": "none"},
    "never": {"model.feed_forward": "none"},
    "narrow": {"model.query_key": "tied", "model.norm": "rms"},
}


def test_seconds_are_made_equal_by_what_is_timed(timed: list[Any], tmp_path: Path) -> None:
    raw, made = compared(TIMED, tmp_path, by="seconds")
    slow = made.variants["slow"].model.d_ff
    assert slow is not None
    assert 1.5 * (1 + slow) / 91 == pytest.approx(1, abs=0.06)
    assert {name: made.variants[name] for name in ("same", "narrow")} == {
        name: raw.variants[name] for name in ("same", "narrow")
    }
    assert made.left_out == {"never": "no field of widen changes it: model.d_ff, model.d_hidden"}
    assert {kind for _, kind in timed} == {"cpu"}


def test_what_has_been_timed_is_not_timed_again(timed: list[Any], tmp_path: Path) -> None:
    _, first = compared(TIMED, tmp_path, by="seconds")
    timed.clear()
    _, again = compared(TIMED, tmp_path, by="seconds")
    assert again == first
    assert timed == []
    compared({**TIMED, "new": {"model.norm": "none"}}, tmp_path, by="seconds")
    assert {model.norm for model, _ in timed} == {"none"}


def test_what_a_search_ends_at_is_timed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It takes a tenth more whenever it is timed for a second time."""
    seen: set[Any] = set()

    def fickle(base: Prepared, other: Prepared, kind: str) -> float:
        before = other[0].model in seen
        seen.add(other[0].model)
        return 1.5 * (other[0].model.d_ff or 0) / 90 + 0.1 * before

    monkeypatch.setattr(matching, "step_ratio", fickle)
    monkeypatch.setitem(matching.CLOSE, "seconds", 0.0)
    monkeypatch.setitem(matching.TRIES, "seconds", 1)
    _, made = compared({"v": {"model.scale": "none"}}, tmp_path, by="seconds")
    assert made.left_out == {"v": "d_ff=60: 110 % of the base's seconds a step"}


@pytest.mark.parametrize(("third", "reason"), [(60, None), (70, "d_ff=70: 116.7 % of the base's seconds a step")])
def test_a_search_that_noise_led_astray_is_made_twice_more(
    third: int, reason: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ends = iter([40, 50, third])
    monkeypatch.setattr(matching, "nearest", lambda *_: next(ends))
    monkeypatch.setattr(matching, "step_ratio", lambda base, other, kind: 1.5 * other[0].model.d_ff / 90)
    raw, made = compared({"v": {"model.scale": "none"}}, tmp_path, by="seconds")
    assert made.left_out == ({"v": reason} if reason else {})
    assert ("v" in made.variants) is not bool(reason)
    assert made.variants.get("v", with_width(raw.variants["v"], "d_ff", 60)).model.d_ff == 60
