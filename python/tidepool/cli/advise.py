"""``tidepool advise``: from recordings of a server to what to change on it."""

from __future__ import annotations

from pathlib import Path

import click

from tidepool.advice import Request
from tidepool.advice import advise as advise_on
from tidepool.cli.advise_report import print_report
from tidepool.cli.bar import bar
from tidepool.cli.inputs import open_recordings
from tidepool.cli.options import NUMBER, POSITIVE, RATE, Parsed, parse_picture
from tidepool.cli.printing import print_json
from tidepool.errors import TidepoolError
from tidepool.simulation import DEVICES, Device, parse_device, parse_memory
from tidepool.simulation.devices import NVME

_DEVICE = Parsed("device", parse_device, lambda: [*DEVICES])


def parse_page(text: str) -> Path:
    """Return the name of a page that can be written."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise TidepoolError(
            f'cannot write "{text}": not a file in a directory that exists',
            "Name a file, as in advice.html.",
        )
    return path


@click.command()
@click.argument("recordings", nargs=-1, required=True, metavar="RECORDING…")
@click.option(
    "--memory",
    type=Parsed("size", parse_memory),
    metavar="N|SIZE",
    help="The most that shared_buffers could have.  [default: twice what they have]",
)
@click.option(
    "--device",
    type=_DEVICE,
    metavar="NAME",
    help="What reads take: hdd, sata-ssd, nvme, or as measured, network:RANDOM,SEQUENTIAL in µs"
    " for a page.  [default: as the server measured it with track_io_timing, or sata-ssd, since"
    " an hdd would make all gains look large; simulate, which studies tiers, assumes an hdd]",
)
@click.option(
    "--ssd-device",
    type=_DEVICE,
    default=NVME.name,
    metavar="NAME",
    help="The SSD that you could put before that, likewise.  [default: nvme, since a sata-ssd"
    " saves nothing before another]",
)
@click.option(
    "--sample",
    type=RATE,
    metavar="R|P%",
    help="Replay only this share of the pages.  [default: so many that it takes about a minute]",
)
@click.option(
    "--seed",
    type=NUMBER,
    default="0",
    show_default=True,
    metavar="N",
    help="Seed of the sample.",
)
@click.option(
    "--format",
    "output",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--plot",
    type=Parsed("picture", parse_picture),
    metavar="FILE",
    help="Draw read time by size: .png, .pdf or .svg.",
)
@click.option(
    "--html",
    type=Parsed("page", parse_page),
    metavar="FILE",
    help="Write a page with everything in it, to send to a colleague.",
)
@click.option(
    "--workers",
    type=POSITIVE,
    metavar="N",
    help="Threads; by default one per core.",
)
def advise(
    recordings: tuple[str, ...],
    memory: int | None,
    device: Device | None,
    ssd_device: Device,
    sample: float | None,
    seed: int,
    output: str,
    plot: Path | None,
    html: Path | None,
    workers: int | None,
) -> None:
    """What to change on a server, from recordings of it.

    Says where the server is, what other sizes would bring, and what to do:
    with settings alone (another algorithm, pools), with hardware (memory, an
    SSD) or with less memory; with its error, its price, and the lines to paste.
    Or that nothing is worth it.

    \b
    Record it first:
      SELECT pg_bufferpool_trace_start('/var/tmp/monday.rec');
      SELECT pg_bufferpool_trace_stop();                         -- after a while
    Examples:
      tidepool advise monday.rec
      tidepool advise monday.rec tuesday.rec --device hdd --memory 16GB
      tidepool advise monday.rec --device network:500,20 --html advice.html
    """
    request = Request(
        device=device,
        ssd=ssd_device,
        memory=memory,
        rate=sample,
        seed=seed,
        workers=workers,
    )
    report = advise_on(open_recordings(recordings), request, bar)
    if output == "json":
        print_json(report.to_json())
    else:
        print_report(report)
    if plot:
        from tidepool.advice.picture import size_figure
        from tidepool.plots import save

        save(size_figure(report), plot)
    if html:
        from tidepool.advice.html import html_page

        html.write_text(html_page(report), encoding="utf-8")
