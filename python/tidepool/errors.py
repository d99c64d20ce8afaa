"""The errors that the library raises on bad input."""


class TidepoolError(Exception):
    """Bad input, described in one line; the command prints it and exits with status 1.

    ``hint`` is advice, where advice helps.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class TraceError(TidepoolError):
    """A trace cannot be read or written."""


class PolicyError(TidepoolError):
    """An unknown policy, an unknown parameter or a value out of range."""
