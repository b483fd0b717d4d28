"""The two ways in which a command can end badly, and their exit codes."""


class ConfigError(Exception):
    """A request that cannot be carried out as written; nothing has been created (exit code 2).

    The message is one line: the key, its value, what is allowed and the closest valid name.
    """


class RunError(Exception):
    """A run that started and could not go on (exit code 1).

    The message is one line that says what failed, where, and what to do about it.
    """
