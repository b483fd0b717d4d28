"""What workers log and warn of, shown by their parent as if it were its own."""

import logging
import warnings

from vdqn_runner.workers.messages import Warned


class Echo:
    """Shows each log record and each warning once, however many workers send it."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()
        self._warned: dict[str | tuple[str, type[Warning], int], int] = {}

    def show(self, message: logging.LogRecord | Warned) -> None:
        """Hand a message to this process's logging or warnings, if it is new."""
        if isinstance(message, Warned):
            # The registry holds what has been shown, by the rules of the warnings filter.
            warnings.warn_explicit(
                message.text,
                message.category,
                message.filename,
                message.lineno,
                registry=self._warned,
            )
            return
        key = (message.name, message.getMessage())
        logger = logging.getLogger(message.name)
        if key not in self._logged and logger.isEnabledFor(message.levelno):
            self._logged.add(key)
            logger.handle(message)
