"""The tasks. A new one is one class and one line here."""

from typing import Any

from datamodules.base import TaskData
from datamodules.german import German
from datamodules.order import Order
from datamodules.recall import Recall
from datamodules.translation import Translation

TASKS: dict[str, type[TaskData[Any]]] = {
    "recall": Recall,
    "order": Order,
    "german": German,
    "translation": Translation,
}
