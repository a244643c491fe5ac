"""`shardweave doctor`: checks a whole table and reports faults.

    shardweave doctor --table NAME
    shardweave doctor --table NAME --repair
    shardweave doctor --table NAME --as mapping.json

It reads every item, the related items that must exist, and every index. Concurrent writes and re-shards cause no false
alarms. It can be stopped at any time: started again with the same options, it continues. With `--repair` it makes safe
repairs, on condition of the state that was read, and reports them; contradictions that need a decision are reported
with both keys and not changed. docs/doctor.md lists the kinds of faults. With `--as`, it first says what bringing the
items of another program in (see `rekey`) would change, and does not take those items for faults.

The exit code is 0 if no faults are left, 1 if `--repair` can fix the rest, 2 if a person is needed. An error, without a
report, ends with 1 or 2 too: see below.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import ExitStack

from ..maintenance.doctor import Doctor, check_kinds
from ..maintenance.doctor_report import NEEDS_A_PERSON, DoctorReport
from ..maintenance.fault_kinds import KINDS, Severity
from ..schema.old_forms import OldForm
from ..service.build import Service
from ..service.rekeying import NO_WAITS
from .console import Streams, counted
from .json_report import add_json_argument
from .open_table import add_table_arguments, open_service
from .progress_lines import GOES_ON, ProgressLines
from .rate import add_rate_argument, rate_of
from .rekey import add_mapping_argument, forms_of, mapping_of, rekey_of
from .stored_format import check_stored_format


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--repair", action="store_true", help="put right what is safe")
    parser.add_argument("--skip", action="append", default=[], metavar="KIND", help="a kind of fault to leave out")
    add_rate_argument(parser, "read units")
    add_json_argument(parser)
    add_mapping_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Check the table, print the report, and return the exit code."""
    check_kinds(options.skip)
    rate = rate_of(options, "read units")
    with ExitStack() as stack:
        service = open_service(options, rekey=mapping_of(options))
        stack.callback(service.close)
        if options.repair:
            check_stored_format(options, service, rate)
        lines = ProgressLines(streams.say, monotonic=streams.monotonic)
        forms = forms_of(service)
        refused = sum(_looked(service, form, streams, rate) for form in forms.values()) if options.mapping else 0
        doctor = Doctor(
            service.parts.store.parts,
            streams.clock,
            repair=options.repair,
            skip=options.skip,
            rate=rate,
            say=streams.say,
            forms=forms,
        )
        report = doctor.run(lambda so_far: lines.tell(lambda: progress_line(so_far)))
    streams.write(json.dumps(report.document(), ensure_ascii=False) if options.json else readable(report))
    return max(report.code, NEEDS_A_PERSON if refused else 0)


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON


def _looked(service: Service, form: OldForm, streams: Streams, rate: int) -> int:
    """Say what bringing an entity's old items in would change, and return how many can't be brought in."""
    found = rekey_of(service, form, NO_WAITS, streams, rate=rate).look()
    new = found.differing
    streams.say(
        f"{form.entity.token}: {counted(found.read, 'old item')}: {new:,} would be brought in, {found.same:,} are, "
        f"{found.refused:,} can't be"
    )
    for example in found.examples:
        streams.say(f"    {' '.join(example.key)}: {example.reason}")
    return found.refused


def progress_line(report: DoctorReport) -> str:
    """The progress, and the estimated rest."""
    seconds, units = report.estimate
    rest = f"{report.part}, {report.units:,.0f} read units so far"
    if report.part == "records":
        rest = f"about {seconds:,.0f} s and {units:,.0f} read units to go"
    return f"{counted(report.read, 'item')} read, {sum(report.findings.counts.values()):,} faults; {rest}"


def readable(report: DoctorReport) -> str:
    """The report for people."""
    lines = [f"layout: {fault}" for fault in report.layout]
    for kind in sorted(report.findings.counts, key=lambda name: (KINDS[name].severity.value, name)):
        count, repaired = report.findings.counts[kind], report.findings.repaired.get(kind, 0)
        about = KINDS[kind]
        done = f", {repaired:,} repaired" if repaired else ""
        lines.append(f"{kind}: {count:,}{done} ({about.severity.value}): {about.what}")
        lines += [f"    {finding}" for finding in report.findings.named[kind]]
        if count > len(report.findings.named[kind]):
            lines.append(f"    and {count - len(report.findings.named[kind]):,} more")
        if count > repaired:
            lines.append(f"    repair: {about.repair}")
    lines += _not_decided(report)
    if report.not_recounted:
        named = ", ".join(report.not_recounted)
        lines.append(f"not recounted, since events are not kept: the read models {named}")
    rate = report.read / report.seconds if report.seconds else 0.0
    a_piece = report.units / report.read if report.read else 0.0
    lines.append(
        f"{counted(report.read, 'item')} read in {report.seconds:,.1f} s ({rate:,.0f} a second), "
        f"{report.units:,.0f} read units ({a_piece:.2f} each): {_verdict(report)}"
    )
    return "\n".join(lines)


def _not_decided(report: DoctorReport) -> list[str]:
    """What is no fault as far as is known, and why no more is."""
    lines = []
    if report.undecided:
        lines.append(
            f"undecided: {counted(len(report.undecided), 'counter')} of children, or records of sums, kept changing "
            "while they were counted, so that is no fault as far as is known; the next run counts again:"
        )
        lines += _listed(report.undecided)
    if report.unsummed:
        what = counted(len(report.unsummed), "record")
        lines.append(f"undecided: the sums of {what}, in which what can't be read may be counted:")
        lines += _listed(report.unsummed)
        lines.append("what can't be read of what read models keep (bookkeeping_damaged):")
        lines += _listed(report.damaged)
    if report.unfinished:
        named = ", ".join(report.unfinished)
        lines.append(f"not examined, since every run was stopped before: {named}; run `shardweave doctor` to its end")
    return lines


def _listed(keys: Sequence[tuple[str, str]]) -> list[str]:
    return [f"    {' '.join(key)}" for key in keys]


def _verdict(report: DoctorReport) -> str:
    left = [f"{count:,} {severity.value}" for severity in Severity if (count := report.findings.left(severity))]
    if report.layout:
        left.append(f"{len(report.layout):,} of the layout")
    if report.unfinished:
        left.append(f"{len(report.unfinished):,} not examined")
    open_ones = len(report.undecided) + len(report.unsummed)
    return (", ".join(left) or "clean") + (f" ({open_ones:,} undecided)" if open_ones else "")
