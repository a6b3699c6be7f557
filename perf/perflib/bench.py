# SPDX-License-Identifier: GPL-2.0
"""Measures Weft, siw, rxe and TCP side by side and shows the ratios. See docs/performance/notebook.md.

Instruments: icount counts guest instructions over veth; uml runs at native speed in User Mode Linux of the newest kernel in Debian's
backports, which is fetched; virtio counts the instructions of either side of a link between two machines whose cards cut large packets
by themselves: it measures its own rows, and needs root and /dev/net/tun. Counts are priced as well, as a real processor would have it
(perf/prices.json). icount-slowcopy, a processor model without fast string copies, and applications, some of NVMe's rows of
perf/run applications, are part of the gate alone. A whole run, of all instruments and subjects, has perf/run applications and
perf/run programs as well: NVMe, NFS, MPI, rsockets and libfabric.

Subjects:

  tcp          weft-perf over plain sockets, qperf and iperf3
  tcp-gather   rows of many small messages over sockets, 32 of them in a call
  tcp-big      rows of 64 KiB and more in packets of up to 192 KiB (BIG TCP), which Debian 12's iproute2 knows of IPv6 alone
  unix         the same over Unix sockets  smc          and over SMC's loopback, where the kernel has it
  weft         Weft, CRC off            weft-crc     Weft, CRC on
  lent-crc     Weft, CRC on, payload lent; on veth only if named
  segment      Weft, CRC off, frames of a segment, as a peer other than Weft gets them
  segment-crc  the same with CRC
  without-RULE Weft, CRC off, without a rule of kernel/base/policy.h; only if named
  siw          mainline's siw as shipped
  siw-gso      siw with try_gso         siw-gso-crc  the same with CRC
  rxe          mainline's rxe, both hosts in one namespace, with a TCP of its own
"""
import argparse
import functools
import os
import pathlib
import shutil
import sys
import time

from perflib import commands, experiments, instruments, lab, report
from perflib.rows import SUBJECTS
from perflib.tables import BENCH, PROJECT, read_lines, understood, write_measurement

# The folders that measure; the others are measured.
INSTRUMENTS = ("perf", "scripts", "tests")


def die(text):
    raise SystemExit(f"bench: {text}")


def options_of(words):
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("perf/bench", description=__doc__, allow_abbrev=False, formatter_class=raw)
    parser.add_argument("--quick", dest="rows", action="store_const", const="quick", default="full", help="one instrument, fewer rows")
    parser.add_argument("--gate", dest="rows", action="store_const", const="gate", help="the rows of the regression gate, of TCP and Weft")
    repeated = {"action": "append", "default": [], "metavar": "NAME", "help": "only this one (repeatable)"}
    parser.add_argument("--instrument", dest="instruments", **repeated)
    parser.add_argument("--subject", dest="subjects", **repeated)
    parser.add_argument("--of", default="", metavar="REVISION", help="that revision's module and provider, by the instruments of this tree")
    parser.add_argument("--out", default="", metavar="FILE", help="default build/bench/bench.json, or quick.json; the report goes beside it")
    parser.error = lambda text: die(f"{text}; see perf/bench --help")
    options = parser.parse_args(words)
    # A quick run does not take away the results of a whole one.
    options.file = pathlib.Path(options.out or BENCH / ("quick.json" if options.rows == "quick" else "bench.json"))
    for name in options.instruments:
        instrument = instruments.EVERY.get(name) or die(f"there is no instrument '{name}'")
        if not (instrument.of_gate if options.rows == "gate" else instrument.of_others):
            die(f"{name} is no part of the gate" if options.rows == "gate" else f"{name} is part of the gate alone; add --gate")
    for name in options.subjects:
        if name not in SUBJECTS and not name.startswith("without-"):
            die(f"there is no subject '{name}'; there are {' '.join(SUBJECTS)}")
    return options


def default_instruments(options):
    """The instruments of a set of rows."""
    if options.rows != "full":
        return ["icount", "icount-slowcopy", "applications"] if options.rows == "gate" else ["icount"]
    if options.subjects and not any(name in subject for subject in options.subjects for name in ("tcp", "weft", "segment")):
        print(f"bench: virtio is left out: it has none of {' '.join(options.subjects)}")
    elif os.path.exists("/dev/net/tun") and os.geteuid() == 0:
        return ["icount", "uml", "virtio"]
    else:
        print("bench: virtio is left out: it needs root and /dev/net/tun")
    return ["icount", "uml"]


def of_revision(options, words):
    """Measures another revision, in a copy of it that has this tree's instruments. Returns the exit status."""
    named = lab.output_of("git", "describe", "--always", "--exclude=*", f"{options.of}^{{commit}}")
    if not named:
        die(f"there is no revision '{options.of}' here; a shallow clone lacks old ones (git fetch --unshallow)")
    tree = PROJECT / "build/of" / named
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    lab.must(f"git archive {named} | tar -x -C {tree}", shell=True)
    for folder in INSTRUMENTS:
        shutil.rmtree(tree / folder, ignore_errors=True)
    lab.must(f"git ls-files --cached --others --exclude-standard {' '.join(INSTRUMENTS)} | tar -c -T - | tar -x -C {tree}", shell=True)
    # The last --of and --out count: this one's is none.
    command = [tree / "perf/bench", *words, "--of", "", "--out", options.file.absolute()]
    status = lab.call(command, env=os.environ | {"WEFT_REVISION": named})
    shutil.rmtree(tree)
    return status


def collect(rows, revision, directory, names):
    """One object of all results: those of each instrument are in DIRECTORY/INSTRUMENT.results."""
    runs, kernel = [], ""
    for name in names:
        instrument, results = instruments.EVERY[name], read_lines(directory / f"{name}.results")
        about = next((result for result in results if result["subject"] == "lab"), {})
        if name.startswith("icount"):
            kernel = about.get("kernel", "")
        # Of all sets of rows the gate alone counts bytes so.
        title = instrument.gate_title if name == "icount" and rows == "gate" else instrument.title
        results = [result for result in results if result["subject"] != "lab"]
        runs.append({"instrument": name, "title": title, "lab": about, "results": results})
    kernel = kernel or runs[0]["lab"].get("kernel", "")
    return {"revision": revision, "set": rows, "kernel": kernel, "date": time.strftime("%Y-%m-%d"), "runs": runs}


def main(words):
    """Returns the exit status."""
    lab.end_on_signals()
    options = options_of(words)
    if options.of:
        return of_revision(options, words)
    revision = os.environ.get("WEFT_REVISION", "")
    # Consumers in the kernel and programs of others have tables of their own, and need this tree's apps.
    whole = options.rows == "full" and not (options.instruments or options.subjects or revision)
    names = options.instruments or default_instruments(options)
    subjects = options.subjects or (["tcp", "weft", "weft-crc"] if options.rows == "gate" else [])
    options.file.parent.mkdir(parents=True, exist_ok=True)
    print("bench: building", flush=True)
    lab.build("bench")
    # The peers: not needed for the gate, nor on virtio.
    needs_siw = options.rows != "gate" and "icount" in names and (not subjects or any("siw" in subject for subject in subjects))
    asked = instruments.Asked(options.rows, subjects, lab.siw() if needs_siw else "")
    every = [instruments.EVERY[name] for name in names]

    def measure(instrument):
        with understood(f"bench: {instrument.name} did not print what its results are made of"):
            return instrument.measure(asked, BENCH / f"{instrument.name}.results")

    ran = []  # experiments that the page shows

    def experiment(name):
        try:
            with understood(f"bench: {name} did not print what its results are made of"):
                status = experiments.every()[name].run([])
        except SystemExit as why:
            print(f"bench: {name}: {why}; the others go on", file=sys.stderr)
            return False
        ran.append(name)
        return status == 0

    # Labs that count do not disturb each other. Those that measure time follow.
    jobs = [functools.partial(measure, instrument) for instrument in every if instrument.counts]
    jobs += [functools.partial(experiment, name) for name in ("applications", "programs") if whole]
    well = lab.together(lambda job: job(), jobs)
    for instrument in (instrument for instrument in every if not instrument.counts):
        try:
            well.append(measure(instrument))
        except SystemExit as why:
            print(f"{why}; the others go on", file=sys.stderr)
            well.append(False)
            names.remove(instrument.name)
    if not names:
        return 1
    revision = revision or lab.output_of("git", "describe", "--always", "--dirty") or (PROJECT / "VERSION").read_text().strip()
    write_measurement(options.file, collect(options.rows, revision, BENCH, names))
    if names != ["applications"]:
        commands.table([str(options.file)])
    if "applications" in names:
        print()
        experiments.every()["applications"].show(read_lines(BENCH / "applications.results"))
    if options.rows != "gate":
        page = options.file.with_suffix(".html")
        report.write(options.file, page, {instrument.name: instrument.caution for instrument in every}, ran)
        shown = [path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path for path in (options.file, page)]
        print("bench: the figures are in {}, the report in {}".format(*shown))
    return 0 if all(well) else 1
