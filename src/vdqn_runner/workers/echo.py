"""What workers log and warn of, shown by their parent as if it were its own."""

import logging
import warnings

from vdqn_runner.workers.messages import Warned


class Echo:
    """Shows each log record and each warning once, however many workers send it."""

    def __init__(self) -> None:
        self._shown: set[Warned | tuple[str, str]] = set()

    def show(self, message: logging.LogRecord | Warned) -> None:
        """Hand a message to this process's warnings or logging, if it is new."""
        key = message if isinstance(message, Warned) else (message.name, message.getMessage())
        if key in self._shown:
            return
        self._shown.add(key)
        if isinstance(message, Warned):
            warnings.warn_explicit(message.text, message.category, message.filename, message.lineno)
        elif (logger := logging.getLogger(message.name)).isEnabledFor(message.levelno):
            logger.handle(message)
