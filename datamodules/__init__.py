"""The tasks. A new one is one class and one line here."""

from typing import Any

from datamodules.base import TaskData
from datamodules.german import German
from datamodules.lookup import LookUp
from datamodules.markov import Markov
from datamodules.masked import Masked
from datamodules.order import Order
from datamodules.recall import Recall
from datamodules.sums import Sums
from datamodules.text import Text
from datamodules.translation import Translation

TASKS: dict[str, type[TaskData[Any]]] = {
    "recall": Recall,
    "look-up": LookUp,
    "order": Order,
    "sums": Sums,
    "markov": Markov,
    "masked": Masked,
    "german": German,
    "translation": Translation,
    "text": Text,
}
