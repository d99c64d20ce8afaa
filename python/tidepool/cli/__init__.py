"""The ``tidepool`` command."""

from tidepool.cli.main import main

__all__ = ["main"]
