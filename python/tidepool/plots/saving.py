"""Writing figures to files, the same bytes for the same figure."""

from __future__ import annotations

import os
import re
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.errors import TidepoolError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")
DOTS_PER_INCH = 300  # of a PNG

# text stays text; files carry no time, and no random identifiers
_SETTINGS = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "tidepool"}
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise TidepoolError if no picture can be saved under this name.

    For asking before the work that the picture is of.
    """
    name = os.fspath(path)
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise TidepoolError(
            f'cannot tell a picture format from the name "{name}"',
            "Use a name that ends in .png, .pdf or .svg.",
        )
    directory = Path(path).parent
    if not directory.is_dir():
        raise TidepoolError(f'cannot write "{name}": there is no directory "{directory}"')
    target = Path(path) if Path(path).exists() else directory
    if Path(path).is_dir() or not os.access(target, os.W_OK):
        raise TidepoolError(f'cannot write "{name}": not a file that can be written')


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, by the name's suffix.

    Raises TidepoolError if the suffix is another or the file cannot be written.
    """
    import matplotlib

    check_picture(path)
    suffix = Path(path).suffix.removeprefix(".").lower()
    with matplotlib.rc_context(_SETTINGS):  # type: ignore[arg-type]
        try:
            figure.savefig(path, format=suffix, dpi=DOTS_PER_INCH, metadata=_METADATA[suffix])
        except OSError as error:
            raise TidepoolError(f'cannot write "{os.fspath(path)}": {error.strerror}') from error


def svg_text(figure: Figure) -> str:
    """Return a figure as an SVG element to be put into a page, without its metadata."""
    import matplotlib

    text = StringIO()
    with matplotlib.rc_context(_SETTINGS):  # type: ignore[arg-type]
        figure.savefig(text, format="svg", metadata=_METADATA["svg"])
    svg = text.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
