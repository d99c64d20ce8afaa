"""The ``tidepool`` command.

- ``main``: the group of commands, exit statuses, errors;
- a module for each command: ``advise``, ``policies``, ``simulate``, ``curve``, ``compare``,
  ``pools``, ``trace``, ``generate`` (of ``trace``), ``server``; ``ssd``: the SSD options of
  ``simulate``;
- ``advise_report``, ``simulate_report``, ``compare_report``, ``pools_report``, ``layout_report``:
  results as tables;
- ``options``: options that commands share; ``inputs``: the traces they name; ``failures``: errors;
- ``grids``, ``cluster``: replays, on threads here or on a cluster;
- ``printing``: tables, JSON, CSV; ``bar``: progress.

What is asked for is read by ``tidepool.options`` and done by ``tidepool.experiments``.
"""

from tidepool.cli.main import main

__all__ = ["main"]
