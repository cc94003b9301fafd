"""Work beside other work."""

import threading

import pytest

from ablations.background import beside


def test_work_ends_with_the_body_and_is_waited_for() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(over: threading.Event) -> None:
        begun.set()
        over.wait(60)
        ended.set()

    with beside(work):
        assert begun.wait(60)
        assert not ended.is_set()
    assert ended.is_set()


def test_it_ends_with_a_body_that_fails_too() -> None:
    ended = threading.Event()

    def work(over: threading.Event) -> None:
        over.wait(60)
        ended.set()

    with pytest.raises(ValueError, match="mine"), beside(work):
        raise ValueError("mine")
    assert ended.is_set()
