import pytest

from datamodules.errors import DataError, check_choice, check_integer, check_unused


@pytest.mark.parametrize("value", [True, 2, 3.0, "3", None])
def test_what_is_no_integer_of_at_least_the_minimum_is_refused(value: object) -> None:
    with pytest.raises(DataError) as caught:
        check_integer("length", value, 3)
    assert str(caught.value) == f"length={value!r}: must be an integer of at least 3"


def test_the_minimum_itself_is_accepted() -> None:
    check_integer("length", 3, 3)


def test_choices_are_named() -> None:
    check_choice("target", "next", ["next", "first"])
    with pytest.raises(DataError) as caught:
        check_choice("target", "last", ["next", "first"])
    assert str(caught.value) == "target='last': choose from next, first"


def test_a_field_without_effect_must_stand_at_its_default() -> None:
    check_unused("offset", 3, 3, "has no effect")
    with pytest.raises(DataError) as caught:
        check_unused("offset", 2, 3, "has no effect with target=next")
    assert str(caught.value) == "offset=2: has no effect with target=next, leave it at 3"
