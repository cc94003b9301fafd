"""Order and changes of variants, as the plan has them."""

from collections.abc import Callable, Mapping
from typing import Any

from reports.plans import describe_changes, variant_order

Maker = Callable[..., Any]


def test_order_is_that_of_the_plan_and_by_number_where_one_setting_varies() -> None:
    def plan(changes: Mapping[str, Mapping[str, Any]], base: str = "base") -> Any:
        return {"base": base, "variants": [base, *changes], "changes": changes}

    heads: dict[str, dict[str, Any]] = {f"h{n}": {"model.n_heads": n} for n in (12, 1, 8, 2, 3, 6)}
    assert variant_order(plan(heads)) == ["base", "h1", "h2", "h3", "h6", "h8", "h12"]
    mixed: dict[str, dict[str, Any]] = {
        "b": {"model.n_heads": 8},
        "a": {"model.norm": "none"},
        "c": {"model.n_heads": 1},
    }
    assert variant_order(plan(mixed)) == ["base", "b", "a", "c"]
    flags = {"yes": {"model.input_feeding": True}, "no": {"model.input_feeding": False}}
    assert variant_order(plan(flags)) == ["base", "yes", "no"]
    without = plan(mixed, base="gone")
    without["variants"].remove("gone")
    assert variant_order(without) == ["b", "a", "c"]


def test_changes_are_written_as_yaml_would_have_them() -> None:
    changes = {"model.position": "none", "model.d_ff": None, "train.lr": 0.001, "model.input_feeding": True}
    assert (
        describe_changes(changes)
        == "model.position: none, model.d_ff: null, train.lr: 0.001, model.input_feeding: true"
    )
