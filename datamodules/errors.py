"""The one error of this package, and the checks that raise it for a field of a task's configuration."""

from collections.abc import Sequence


class DataError(ValueError):
    """Wrong setting or unusable data. One line: the field or file, what was found, what would be right."""


def check_integer(field: str, value: object, minimum: int) -> None:
    """Refuse anything but an integer of at least `minimum`; a bool is not an integer.

    Raises:
        DataError: naming field, value and the least value allowed.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise DataError(f"{field}={value!r}: must be an integer of at least {minimum}")


def check_choice(field: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of `choices`.

    Raises:
        DataError: naming field, value and the choices.
    """
    if value not in choices:
        raise DataError(f"{field}={value!r}: choose from {', '.join(choices)}")


def check_unused(field: str, value: object, default: object, reason: str) -> None:
    """Refuse a field that would have no effect and yet does not stand at its default.

    Raises:
        DataError: naming field, value and why it has no effect.
    """
    if value != default:
        raise DataError(f"{field}={value!r}: {reason}, leave it at {default!r}")
