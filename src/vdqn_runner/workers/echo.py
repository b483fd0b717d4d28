"""What workers log and warn of, shown by their parent as if it were its own."""

import logging
import warnings
from collections import Counter

from vdqn_runner.workers.messages import Warned


class Echo:
    """Shows what several workers say alike as if one said it: a log record each time it comes.

    A warning is shown once, as Python does by itself.
    """

    def __init__(self) -> None:
        self._said: Counter[tuple[int, object]] = Counter()
        self._shown: Counter[object] = Counter()

    def show(self, worker: int, message: logging.LogRecord | Warned) -> None:
        """Hand a message to this process's warnings or logging, unless another worker's was."""
        key = message if isinstance(message, Warned) else (message.name, message.getMessage())
        self._said[worker, key] += 1
        times = 1 if isinstance(message, Warned) else self._said[worker, key]
        if times <= self._shown[key]:
            return
        self._shown[key] += 1
        if isinstance(message, Warned):
            warnings.warn_explicit(message.text, message.category, message.filename, message.lineno)
        elif (logger := logging.getLogger(message.name)).isEnabledFor(message.levelno):
            logger.handle(message)
