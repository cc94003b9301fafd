"""Data without a test: nothing asks for it, and nothing of it is there."""

from typing import Any

import pytest

from ablations.checks import with_data
from ablations.load import make_study
from ablations.untested import untested
from datamodules.base import Batch, Held
from datamodules.order import Order


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task gives no test split."""
    make = Order.evaluation_batches

    def evaluation_batches(self: Order, split: Held) -> list[list[Batch]]:
        assert split != "test", "the test is touched"
        return make(self, split)

    monkeypatch.setattr(Order, "evaluation_batches", evaluation_batches)


def test_the_test_is_never_made(tiny: dict[str, Any], refusing: None) -> None:
    settings = make_study(tiny).runs()[0].settings
    with pytest.raises(AssertionError, match="the test is touched"):
        settings.data(0).setup()
    ((_, data),) = with_data([untested(settings)])
    assert data.held("validation")
    assert data.held("test") == []
    assert data.test_dataloader() == []


def test_all_else_is_the_same(tiny: dict[str, Any]) -> None:
    settings = make_study(tiny).runs()[0].settings
    assert untested(settings).identity() == settings.identity()
    one, other = settings.data(3), untested(settings).data(3)
    assert (one.training_batch(2)["inputs"] == other.training_batch(2)["inputs"]).all()
