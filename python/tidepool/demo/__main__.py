"""``python -m tidepool.demo``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from tidepool.advice import advise
from tidepool.advice.html import html_page
from tidepool.amounts import byte_size, count, duration, megabytes
from tidepool.cli.advise_report import print_report
from tidepool.cli.bar import bar
from tidepool.cli.main import run_command
from tidepool.cli.options import Parsed, list_option
from tidepool.cli.server import bin_option
from tidepool.demo import live, results
from tidepool.demo.live import Run
from tidepool.demo.workload import CLIENTS, Work
from tidepool.errors import TidepoolError
from tidepool.options import parse_policies
from tidepool.plots import curve_figure, reads_figure, save
from tidepool.policies import parse_policy
from tidepool.scratch import scratch_instance
from tidepool.server import Instance, server_directory
from tidepool.traces import open_trace, write_trace

BASELINE = "clock"  # stock PostgreSQL's
RECORDED, READS, CURVES = "recorded.parquet", "blocks-read.png", "curves.png"
ADVICE = "advice.html"
ALGORITHMS = ("lru", "arc", "lirs", "s3fifo", "w_tinylfu")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "directory", type=click.Path(file_okay=False, writable=True, path_type=Path), metavar="DIR"
)
@list_option(
    "--algorithm",
    "algorithms",
    kind=Parsed("policies", lambda text: tuple(map(str, parse_policies(text)))),
    metavar="NAME,…",
    help=f"Run under these, after {BASELINE}.",
    default=ALGORITHMS,
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0.01, max=100),
    default=1.0,
    show_default=True,
    metavar="FACTOR",
    help="Data, shared buffers and work, times this.",
)
@bin_option
def demo(
    directory: Path, algorithms: tuple[str, ...], scale: float, bin_directory: Path | None
) -> None:
    """Run one workload on PostgreSQL under several algorithms, and simulate it.

    A private server is made in a temporary directory, and deleted.  Left in
    DIR, which is made if need be, are the pictures, the recording of the first
    run, and advice on it; those of an earlier demo are replaced.
    """
    algorithms = tuple(dict.fromkeys((BASELINE, *algorithms)))
    for algorithm in algorithms:
        if parse_policy(algorithm).policy.handle is None:
            raise TidepoolError(f"a server cannot replace pages by {algorithm}: it knows no future")
        if algorithm == "keep":
            raise TidepoolError("keep never evicts: alone in a server it leaves all to the clock")
    work = Work(scale)
    with scratch_instance("tidepool-demo-", bin_directory or server_directory()) as instance:
        check_room(instance, work)
        directory.mkdir(parents=True, exist_ok=True)
        for name in (RECORDED, READS, CURVES, ADVICE):
            (directory / name).unlink(missing_ok=True)
        _prepare(instance, work, algorithms)
        runs = [_run(instance, work, algorithm) for algorithm in algorithms]
        _show(runs, directory)
    _go_on(directory)
    _advise(directory)


def check_room(instance: Instance, work: Work) -> None:
    """Raise TidepoolError if the disk is too full to begin."""
    free = shutil.disk_usage(instance.directory).free
    if free < work.disk:
        raise TidepoolError(
            f"{instance.directory.parent}: {byte_size(free)} free, {byte_size(work.disk)} needed",
            hint="name a directory with more room in TMPDIR, or choose a smaller --scale",
        )


def _prepare(instance: Instance, work: Work, algorithms: Sequence[str]) -> None:
    _say(
        f"""
        1. A private PostgreSQL with {megabytes(work.frames)} of shared buffers, tables of
        TPC-H at scale factor {work.scale_factor:g}, and YCSB's of {work.records:,} records.
        """
    )
    with _steps() as step:
        step("making an instance")
        live.begin(instance, work, algorithms)
        work.load(instance, step)
    sizes = instance.query(
        "SELECT relname, pg_size_pretty(pg_relation_size(oid)) FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')"
        " ORDER BY pg_relation_size(oid) DESC LIMIT 4"
    )
    for line in sizes.splitlines():
        name, size = line.split("|")
        click.echo(f"  {name:<16} {size:>8}")
    click.echo()
    _say(
        f"""
        2. The same work under each algorithm: {CLIENTS} clients, together
        {CLIENTS * work.transactions:,} transactions, which read and update single records
        by Zipf's law and now and then make a query of TPC-H's over a range of days.  Each run
        begins with empty buffers and is recorded.
        """
    )


def _run(instance: Instance, work: Work, algorithm: str) -> Run:
    began = time.monotonic()
    with bar(f"running under {algorithm}", CLIENTS * work.transactions) as advance:
        run = live.run(instance, work, algorithm, advance)
    took = duration(time.monotonic() - began)
    click.echo(f"  {algorithm:<16} {count(run.reads):>9} blocks read  {took:>7}")
    return run


def _show(runs: Sequence[Run], directory: Path) -> None:
    click.echo()
    _say("3. The recordings are replayed in the simulator.")
    recorded = directory / RECORDED
    write_trace(open_trace(runs[0].recording), recorded)
    traces = [open_trace(path) for path in (recorded, *(run.recording for run in runs[1:]))]
    events = sum(
        (trace.length or 0) * len(cells)
        for trace, cells in zip(traces, results.cells(runs), strict=True)
    )
    with bar("simulating", events) as advance:
        rows, curves = results.replay(runs, traces, advance)
    results.print_rows("", rows)
    _say(
        f"""
        simulated: a run's recording, replayed under its algorithm; optimum: replayed under
        OPT, which knows the future.  foretold: the recording of the run under {BASELINE},
        replayed under the algorithm, as one would before choosing it.
        """
    )
    save(reads_figure("", [row.reads() for row in rows]), directory / READS)
    save(curve_figure(curves, points=results.points(rows)), directory / CURVES)


def _go_on(directory: Path) -> None:
    _say(
        f"""
        In {directory}: {READS}; {CURVES}, miss ratios by size as simulated of the run
        under {BASELINE}, with rings for what the server met; {RECORDED}, its recording.
        Go on with:
        """
    )
    recorded = str(directory / RECORDED)
    for words in (
        ("compare", recorded, "--plot", str(directory / "compare.png")),
        ("simulate", recorded, "--policy", "2q", "--policy", "2q:kin=0.5"),
        ("server", "start", "/tmp/try", "--algorithm", "lirs"),
        ("server", "psql", "/tmp/try"),
        ("--help",),
    ):
        click.echo(f"  {_command()} {shlex.join(words)}")


def _advise(directory: Path) -> None:
    """End with advice on the recording, as its user's own would give it."""
    recorded = directory / RECORDED
    click.echo()
    _say(
        f"""
        4. What tidepool advise says of the recording under {BASELINE}; {directory / ADVICE}
        says it too.
        """
    )
    report = advise([open_trace(recorded)], bar=bar)
    (directory / ADVICE).write_text(html_page(report), encoding="utf-8")
    print_report(report)
    click.echo(f"\n  {_command()} {shlex.join(('advise', str(recorded)))}")


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Show what is being done, one at a time; yields what is told so."""
    with Console(stderr=True).status("") as status:
        yield status.update


def _say(text: str) -> None:
    """Print a paragraph, and an empty line."""
    wrapper = textwrap.TextWrapper(78, break_on_hyphens=False, break_long_words=False)
    click.secho(wrapper.fill(" ".join(text.split())) + "\n", bold=True)


def _command() -> str:
    """Return how to call the command from here, be it on the shell's path or not."""
    return os.path.relpath(Path(sys.executable).with_name("tidepool"))


if __name__ == "__main__":
    run_command(demo, "python -m tidepool.demo")
