# SPDX-License-Identifier: GPL-2.0
"""The instruments of perf/bench: how each measures, its title, and a caution about its figures."""
import dataclasses
import os
import shlex
import shutil
import subprocess
import sys

from perflib import counts, lab
from perflib.experiment import objects
from perflib.experiments import applications
from perflib.rows import measure_steps, rows
from perflib.tables import LEVELS, PROJECT, write_lines


@dataclasses.dataclass
class Asked:
    """The wishes of perf/bench: the set of rows, the subjects (none: all of the instrument's), and where siw's module is."""

    rows: str
    subjects: list
    siw: str = ""


def results_of(out):
    """All objects that steps have printed."""
    return objects(lab.said(out))


class Instrument:
    """measure() leaves FILE, an object a line. Returns whether all went well. Those that count are not disturbed, and all run at once."""

    name = title = caution = ""
    counts = of_gate = of_others = True

    def measure(self, asked, file):
        raise NotImplementedError


class InLab(Instrument):
    """In one boot of a lab, whose steps() begin their words with the speaker's name."""

    speaker, options = "measure", ()

    def steps(self, asked):
        return measure_steps(asked.rows, asked.subjects, asked.siw)

    def model(self, asked):
        return "max" if asked.rows == "gate" else lab.MODEL

    def measure(self, asked, file):
        name = lab.name_of(self.name)
        options = ["--icount", "--cpu", self.model(asked), *self.options, "--quiet", "--timeout", "7200", "--env", f"SIW={asked.siw}"]
        if asked.rows != "gate":
            options += lab.plugin(name)
        lab.say(f"bench: {self.name} begins; about {8 if asked.rows == 'full' else 4} minutes on an idle machine")
        out, well = lab.LABS / name / "out", True
        try:
            with lab.steps(name, options, self.speaker, self.steps(asked), prefix=f"    {self.name}: "):
                # Counts come at real prices as well.
                write_lines(file, results_of(out) + counts.results(out))
        except lab.Failed:
            if not lab.said(out):
                raise SystemExit(f"bench: {self.name}: the lab failed; see build/lab/{name}") from None
            print(f"bench: {self.name}: the lab did not end well; its results are incomplete (build/lab/{name})", file=sys.stderr)
            write_lines(file, results_of(out) + counts.results(out))
            well = False
        return well


class Icount(InLab):
    name = "icount"
    title = "veth, guest instructions counted, a copied byte as an eighth (-cpu max,-erms,-fsrm)"
    gate_title = "veth, guest instructions counted, a copied byte as one (-cpu max)"
    caution = (
        "Each guest instruction counts as one nanosecond, whatever the machine that emulates does meanwhile: the figures repeat to about "
        "a per cent. This processor model copies with byte-wise string instructions, which count once a byte, so copies look about ten "
        "times as dear as they are, for everybody alike."
    )


class SlowCopy(InLab):
    """Where copies are dear they hide the cost of a packet; where they are cheap the copies do. The gate looks at both."""

    name, title, of_others = "icount-slowcopy", Icount.title, False

    def model(self, asked):
        return lab.MODEL


class Applications(InLab):
    """Rows of NVMe: where a request waits for one answer, where posts gather, and where bytes cost. Writes of 128 KiB scatter by 7 %."""

    name, title, of_others = "applications", "NVMe of the kernel, guest instructions counted (-cpu max)", False
    speaker, options = "applications", ("--mem", "3072")

    def steps(self, asked):
        return applications.nvme_steps(("nvme-4k-read-1", "nvme-4k-write-32", "nvme-128k-read-8"), ("tcp", "weft"))


class Uml(Instrument):
    name, title, counts, of_gate = "uml", "veth, User Mode Linux of a newer kernel at native speed, one processor", False, False
    caution = "The kernel runs as a program, at this machine's own speed, on one processor; medians of five turns."
    # rxe is not configured in this kernel, and its siw is as shipped.
    subjects = ("tcp", "tcp-gather", "tcp-big", "unix", "smc", "weft", "weft-crc", "segment", "segment-crc", "siw")
    work = PROJECT / "build/uml"

    def measure(self, asked, file):
        print(f"bench: {self.name} begins; about ten minutes on an idle machine", flush=True)
        subjects = asked.subjects or self.subjects
        share, stage = self.work / "share", self.work / "stage"
        for folder in (share, stage):
            shutil.rmtree(folder, ignore_errors=True)
        (share / "out").mkdir(parents=True)
        lab.must(["scripts/kernels/module", self.name, stage])
        kernel = lab.output_of("scripts/kernels/build", "--path", self.name)
        weft, siw = next(stage.glob("lib/modules/*/updates/weft.ko")), f"{kernel}/build/drivers/infiniband/sw/siw/siw.ko"
        # From the stage, because the host's root can't be written to.
        provider = str(next(stage.glob("**/libweft-rdmav*.so"))).partition("-rdmav")[0]
        # At native speed the counts of the other instruments are over in milliseconds. In turns, since one turn tells little: single ones
        # scattered from 1.0 to 7 times TCP's rate, by other work of the machine. Ends that poll and yield wait for the scheduler's tick
        # here, 20 ms a message: that would be half of all the time.
        steps = measure_steps(asked.rows, subjects, siw, weft, skip=("latency-64-polled",), times=4, turns=5, limit=120)
        values = {"LAB_NAME": self.name, "LAB_PROJECT": PROJECT, "PROJECT": PROJECT, "SIW": siw, "IBV_DRIVERS": provider}
        exported = shlex.join(f"{name}={value}" for name, value in values.items())
        command = shlex.join(["perf/guest/steps", "measure", *steps])
        (share / "command").write_text(f"export {exported}\n{command}\n", encoding="utf-8")
        status, output = self.boot(kernel, share), share / "output"
        said = output.read_text(encoding="utf-8", errors="replace").splitlines() if output.exists() else []
        print("".join(f"    {line}\n" for line in said if line.startswith("measure: ")), end="", flush=True)
        if status:
            console = (self.work / "console").read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            print(*console, f"{self.name}: it ended with status {status}; see {self.work}/console and {output}", sep="\n", file=sys.stderr)
        write_lines(file, results_of(share / "out"))
        return status == 0

    def boot(self, kernel, share):
        """On one processor of this machine, the last that it may use, because a program of the guest that the host wakes on another at
        times makes rounds differ. Returns the exit status of what ran there."""
        print(f"{self.name}: measuring; the machine should have nothing else to do", flush=True)
        words = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "timeout", "--foreground", "-k", "5", "1800", f"{kernel}/linux"]
        words += ["mem=768M", "root=none", "rootfstype=hostfs", "rootflags=/", "ro", "con=null", "con0=null,fd:1", "console=tty0"]
        words += ["seccomp=on", f"uml_dir={self.work}/", "panic=-1", "loglevel=4", f"init={PROJECT}/perf/uml/init", f"weft_share={share}"]
        with (self.work / "console").open("wb") as console:
            environment = os.environ | {"TMPDIR": str(self.work)}
            status = lab.call(words, stdin=subprocess.DEVNULL, stdout=console, stderr=console, env=environment)
        return int((share / "status").read_text(encoding="ascii")) if (share / "status").exists() else status or 1


class Virtio(Instrument):
    name, counts, of_gate = "virtio", False, False
    title = "virtio-net with TSO between two machines, instructions of each, a copied byte as an eighth"
    caution = (
        "Two virtual machines, whose network cards cut large packets into segments as real ones do (TSO). Counted are the instructions "
        "that each machine spends on a byte; a machine that waits spends none."
    )
    # Subject to the settings crc, fpdu and lend.
    subjects = {
        "tcp": "off large unchecked", "weft": "off large unchecked", "weft-crc": "required large unchecked",
        "lent-crc": "required large all", "segment": "off segment unchecked", "segment-crc": "required segment unchecked",
    }

    def measure(self, asked, file):
        print("bench: virtio begins; about two minutes on an idle machine", flush=True)
        subjects = [subject for subject in asked.subjects if subject in self.subjects or subject.startswith("without-")]
        for subject in (subject for subject in asked.subjects if subject not in subjects):
            print(f"virtio: {subject} is not measured here")
        if asked.subjects and not subjects:
            raise SystemExit(f"virtio: none of these is measured here; there are {' '.join(self.subjects)}")
        name, steps = f"virtio-{os.getpid()}", self.steps(subjects or self.subjects)
        print("virtio: two machines boot and measure", flush=True)
        try:
            with lab.machines(name, ["--mem", "1024", "--timeout", "1800"], "virtio", steps, ",side={side}") as (server, client):
                write_lines(file, joined(results_of(client), server, client))
        except lab.Failed:
            raise SystemExit(f"virtio: not measured; see build/lab/{name}-server and build/lab/{name}-client") from None
        return True

    def steps(self, subjects):
        steps = lab.Steps("card {side}", "lab")
        for subject in subjects:
            settings = self.subjects.get(subject, f"{self.subjects['weft']} {subject.removeprefix('without-')}")
            steps.do(f"subject={subject}", f"settings {settings}")
            for row in (row for row in rows() if row["set"] == "virtio" and row["name"].endswith("-sender")):
                words = f"{row['name'].removesuffix('-sender')} {row['words']} carrier={'tcp' if subject == 'tcp' else 'verbs'}"
                # Twice, so that work which is done only once is not counted.
                steps.do(*[f"card_row {words}"] * 2)
        return steps


def joined(results, server, client):
    """First the lab, then each result of the client with the instructions that either machine spent on a byte, programs and interrupts
    included, and the same at the prices of a real processor."""
    about, *results = results
    yield about
    # A clock of instructions says nothing of a machine that waits for another.
    timed = ("rate_msg_s", "rate_mb_s", "time_per_message_us")
    last = {(result["subject"], result["row"]): result for result in results}
    for (subject, row), result in sorted(last.items()):
        result = {field: value for field, value in result.items() if field not in timed}
        for side, out in (("sender", client), ("receiver", server)):
            transferred = result["messages"] * result["size_bytes"]
            each, _, _ = counts.folded(out / f"counts-{subject}-{row}", out / f"kallsyms-{subject}", transferred)
            levels = {level: each[level] for level in LEVELS if level in each}
            yield result | levels | {"row": f"{row}-{side}", "instructions_per_byte": each["instructions"]}


EVERY = {instrument.name: instrument for instrument in (Icount(), SlowCopy(), Applications(), Uml(), Virtio())}
