"""Advice from a server's recordings: another algorithm, size, pools, an SSD, or nothing.

- ``advise``: the whole, from recordings to a report; ``report``: what that consists of;
- ``evidence``, ``references``: recordings made ready, and what is known of each reference;
- ``setups``: what a server could run, replayed; ``gains``: read time against today's, and errors;
- ``study``: what is tried, and whether it is worth its price (``prices``);
- ``algorithms``, ``sizes``, ``pools`` (with ``curves``), ``ssd``: the kinds of advice;
- ``limits``: what a recording cannot tell; ``sql``: the lines to paste;
- ``words``, ``html``, ``picture``: for people; the command prints the text.
"""

from tidepool.advice.advise import Request, advise
from tidepool.advice.report import Advice, Report

__all__ = ["Advice", "Report", "Request", "advise"]
