"""The ``tidepool`` command.

- ``main``: the group of commands, exit statuses, errors;
- a module for each command: ``advise``, ``policies``, ``simulate``, ``curve``, ``compare``,
  ``trace``, ``generate`` (of ``trace``), ``server``; ``ssd``: the SSD options of ``simulate``;
- ``advise_report``, ``simulate_report``, ``compare_report``: results as tables, records, pictures;
- ``options``: options that commands share; ``inputs``: the traces they name; ``failures``: errors;
- ``grids``, ``cluster``: replays, on threads here or on a cluster;
- ``printing``: tables, JSON, CSV; ``bar``: progress.
"""

from tidepool.cli.main import main

__all__ = ["main"]
