"""``tidepool ssd``: what an SSD of each size would do below a server, from its recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from tidepool.amounts import byte_size, count, percent
from tidepool.cli.bar import bar
from tidepool.cli.cluster import backend
from tidepool.cli.failures import Failures
from tidepool.cli.inputs import inputs, open_traces
from tidepool.cli.options import (
    NUMBER,
    POLICY,
    SIZE,
    Parsed,
    Reading,
    Running,
    format_option,
    list_option,
    plot_option,
    reading_options,
    running_options,
    sizes_option,
    traces_argument,
    warmup_option,
)
from tidepool.cli.printing import CsvPrinter, print_json, print_table
from tidepool.cli.ssd import keep_share_option, ssd_policy_names, tier_option
from tidepool.errors import TidepoolError
from tidepool.notation import with_unit
from tidepool.options import Amount, GivenSize, Input, RelationChoice, chosen, parse_ssd_policies
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import (
    DEVICES,
    Cell,
    Device,
    Endurance,
    Forecast,
    SsdPolicySpec,
    forecast_ssd,
    parse_device,
)
from tidepool.simulation.forecast import SERVER_POLICY, WARRANTY_YEARS, YEAR, SsdForecast

SIZES = ("2%", "5%", "10%", "20%", "40%", "80%")
MEASURED = "measured"
_UNITS = {"GBW": 1e9, "TBW": 1e12, "PBW": 1e15}


def parse_endurance(text: str) -> Endurance:
    """Return what 600TBW (of the whole device) or 0.3DWPD (for five years) allows to write."""
    found = with_unit(text, [*_UNITS, "DWPD"])
    if found is None or found[0] == 0:
        raise TidepoolError(
            f'invalid endurance "{text}"',
            "Use what the data sheet says: 600TBW, or full writes a day for five years: 0.3DWPD.",
        )
    number, unit = found
    if unit == "DWPD":
        return Endurance(times=number * YEAR * WARRANTY_YEARS)
    return Endurance(total=number * _UNITS[unit])


def parse_disk(text: str) -> Device | None:
    """Return the device that this names; None: as it was measured."""
    return None if text == MEASURED else parse_device(text)


@click.command("ssd")
@traces_argument
@sizes_option(
    "--sizes",
    help="Sizes of the SSD: shares of the distinct pages (10%), bytes (64GB) or pages (1000).",
    default=SIZES,
)
@list_option(
    "--policy",
    "policies",
    kind=Parsed("policies", parse_ssd_policies, ssd_policy_names),
    metavar="NAME[:k=v,…],…",
    help="Policies on the SSD.",
    or_else=SERVER_POLICY,
)
@click.option(
    "--disk",
    type=Parsed("device", parse_disk, lambda: [MEASURED, *DEVICES]),
    metavar="NAME",
    help="The disk: measured (by the server that recorded), hdd, sata-ssd, nvme, or"
    " network:RANDOM,SEQUENTIAL in µs.  [default: measured if it was, or hdd, as in simulate]",
)
@click.option(
    "--device",
    type=Parsed("device", parse_device, lambda: [*DEVICES]),
    default="sata-ssd",
    show_default=True,
    metavar="NAME",
    help="The SSD, likewise.",
)
@click.option(
    "--endurance",
    type=Parsed("endurance", parse_endurance),
    default=Endurance(),
    metavar="NTBW|NDWPD",
    help="What may be written to the device (600TBW), or its size so many times a day for five"
    " years (0.3DWPD).  [default: 600 times the size]",
)
@click.option(
    "--memory-policy",
    type=POLICY,
    metavar="NAME[:k=v,…]",
    help="Simulate memory above the SSD under this policy.  [default: as it was]",
)
@click.option(
    "--memory-frames",
    type=SIZE,
    metavar="N|P%|SIZE",
    help="Simulate memory of this size.  [default: as it was]",
)
@tier_option("--tier", "tier")
@keep_share_option("--keep-share", "keep_share")
@warmup_option
@click.option(
    "--seed",
    type=NUMBER,
    metavar="N",
    help="Seed of randomized policies.  [default: the recording server's, or 0]",
)
@format_option
@plot_option
@running_options
@reading_options
def forecast(
    traces: tuple[str, ...],
    sizes: tuple[GivenSize, ...],
    policies: tuple[SsdPolicySpec, ...],
    disk: Device | None,
    device: Device,
    endurance: Endurance,
    memory_policy: PolicySpec | None,
    memory_frames: GivenSize | None,
    tier: tuple[RelationChoice, ...],
    keep_share: float,
    warmup: Amount,
    seed: int | None,
    output: str,
    plot: Path | None,
    running: Running,
    reading: Reading,
) -> None:
    """Foretell what an SSD of each size would do below a server.

    From a recording of the server, which need not have an SSD: how many reads
    the SSD would serve, how much time they would save, what would be written to
    it, how long it would last, and how much memory the server would need for it.
    Memory is as it was when the server recorded, unless you ask for another.

    \b
    Examples:
      tidepool ssd monday.rec
      tidepool ssd monday.rec --disk network:800,40 --device nvme --endurance 600TBW
      tidepool ssd monday.rec --sizes 16GB,32GB,64GB,128GB --policy tac,lru
      tidepool ssd monday.rec --tier orders=keep,audit_log=none
      tidepool ssd monday.rec --memory-frames 64GB --plot sizes.png
    """
    if any(spec.policy.name == "none" for spec in policies):
        raise TidepoolError("no SSD is what the others are compared with", "Leave out none.")
    failures = Failures()
    done: list[Forecast] = []
    csv = CsvPrinter()
    with backend(running) as where:
        opened = open_traces(traces, reading, failures)
        for input in inputs(opened, where.executor is None, failures):
            with failures.reported():
                _check_measured(input, disk)
                memory = _memory(input, memory_policy, memory_frames, seed or 0)
                keep, left_out = chosen(input.trace, tier)
                with bar(f"simulating {input.name}", input.trace.length) as advance:
                    found = forecast_ssd(
                        input.trace,
                        [input.frames(size) for size in sizes],
                        policies,
                        disk=disk,
                        device=device,
                        endurance=endurance,
                        memory=memory,
                        keep=keep,
                        left_out=left_out,
                        keep_share=keep_share,
                        warmup=warmup.resolve(input.references),
                        seed=seed,
                        executor=where.executor,
                        workers=where.workers,
                        progress=advance,
                    )
                done.append(found)
                _print(found, output, csv)
    if plot and done:
        from tidepool.plots import forecast_figure, save

        save(forecast_figure(done), plot)
    failures.exit()


def _check_measured(input: Input, disk: Device | None) -> None:
    """Raise TidepoolError if the disk shall be as measured, and was not."""
    source = click.get_current_context().get_parameter_source("disk")
    given = source is not None and source.name == "COMMANDLINE"
    recorded = input.trace.recorded
    times = recorded.read_times if recorded is not None else None
    read = times is not None and times.disk_random.pages + times.disk_sequential.pages > 0
    if given and disk is None and not read:
        raise TidepoolError(
            f"{input.name}: the recording has no times of reads from the disk",
            "Name a device: --disk hdd, or --disk network:RANDOM,SEQUENTIAL in microseconds.",
        )


def _memory(
    input: Input, policy: PolicySpec | None, frames: GivenSize | None, seed: int
) -> Cell | None:
    """Return the memory to simulate, which the recording completes; None: as it was."""
    recorded = input.trace.recorded
    if policy is None and frames is None and recorded is not None:
        return None
    if recorded is None and (policy is None or frames is None):
        raise TidepoolError(
            f"{input.name} is not a server's recording",
            "Say what memory is above the SSD: --memory-policy and --memory-frames.",
        )
    if recorded is not None:
        seed = recorded.seed
        policy = policy or parse_policy(recorded.policy)
    assert policy is not None
    if frames is not None:
        return Cell(policy, input.frames(frames), seed)
    assert recorded is not None
    return Cell(policy, recorded.frames, seed)


# ---- printing ----


def _print(found: Forecast, output: str, csv: CsvPrinter) -> None:
    if output == "json":
        print_json(found.to_json())
    elif output == "csv":
        for ssd in found.ssds:
            head = {"trace": found.trace, "disk": found.disk.name, "device": found.device.name}
            csv.print(head | ssd.to_json())
    else:
        _print_table(found)


def _print_table(found: Forecast) -> None:
    several = len({ssd.policy for ssd in found.ssds}) > 1
    columns: list[tuple[str, Callable[[SsdForecast], str]]] = [
        ("SSD", lambda ssd: byte_size(ssd.bytes)),
        ("reads", lambda ssd: count(ssd.reads)),
        ("hit ratio", lambda ssd: percent(ssd.hit_ratio)),
        ("read s", lambda ssd: f"{ssd.read_time:.1f}"),
        ("saved s", lambda ssd: f"{ssd.saved:.1f}"),
        ("saved", lambda ssd: percent(ssd.saved_share, 1)),
        ("written a day", _daily),
        ("years", _life),
        ("memory", lambda ssd: byte_size(ssd.memory)),
    ]
    if several:
        columns.insert(0, ("policy", lambda ssd: ssd.policy))
    print_table(
        f"{found.trace}: below memory an SSD ({found.device.name}) above the disk"
        f" ({found.disk.name}: {found.disk.random_read:.4g} µs random,"
        f" {found.disk.sequential_read:.4g} sequential)",
        [header for header, _ in columns],
        [[text(ssd) for _, text in columns] for ssd in found.ssds],
        left=1 if several else 0,
    )
    click.echo(found.recommendation())
    for caveat in found.caveats():
        click.echo(f"({caveat})")
    click.echo()


def _daily(ssd: SsdForecast) -> str:
    return "-" if ssd.written_per_day is None else byte_size(ssd.written_per_day)


def _life(ssd: SsdForecast) -> str:
    if ssd.years is None:
        return "-"
    return "> 100" if ssd.years > 100 else f"{ssd.years:.1f}"
