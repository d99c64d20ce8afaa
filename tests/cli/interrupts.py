"""Processes that an interrupt reaches wherever the tests are run."""

import signal


def heed_interrupts() -> None:
    """Undo what a shell does to its background jobs, which ignore SIGINT; for preexec_fn."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
