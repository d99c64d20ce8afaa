"""Processes that signals end wherever the tests are run."""

import signal


def heed_interrupts() -> None:
    """For preexec_fn: undo that background jobs of a shell ignore SIGINT, those of nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
