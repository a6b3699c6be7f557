# SPDX-License-Identifier: GPL-2.0
"""Labs (scripts/lab/run), in which everything is measured."""
import concurrent.futures
import contextlib
import contextvars
import os
import shutil
import signal
import subprocess
import sys
import threading

from perflib.tables import BENCH, PROJECT

LABS = PROJECT / "build/lab"
# Where the kernel copies by words, a byte counts as an eighth of an instruction, near its time; by bytes, as one.
MODEL = "max,-erms,-fsrm"
# A lab that counts instructions, on one processor; and one of two, whose time is real.
COUNTED, TIMED = ("--icount", "--cpu", MODEL), ("--mem", "4096")
# Two machines. sleep=on: in the other labs that count, the clock of a machine that waits leaps to its next timer; here the answer
# is still to come.
MACHINES = (*COUNTED, "--quiet", "--qemu", "-icount", "--qemu", "sleep=on")
# For each together() on the way to a program, its Programs.
running = contextvars.ContextVar("running", default=())
# Labs that run at once: each takes a processor, and more of them than processors take many times as long.
slots = threading.BoundedSemaphore(len(os.sched_getaffinity(0)))


def end_on_signals():
    """Labs are ended as well when this program is."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


class Programs(list):
    """Those that one together() has begun."""

    ended = False

    def end(self):
        self.ended = True
        for program in self:
            program.terminate()


class Failed(SystemExit):
    """A lab's command has failed."""


def must(words, log=None, program="perf", why="failed", **options):
    """Runs a program of the host, whose output goes to a file if that is named; ends this one if it fails."""
    out = log.open("w", encoding="utf-8") if log else None
    if call(words, **{"stdout": out, "stderr": out} | options):
        if log:
            print(*log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:], sep="\n", file=sys.stderr)
        raise SystemExit(f"{program}: {words if isinstance(words, str) else words[0]} {why}")


def output_of(*words):
    """A program's output, or nothing if it fails."""
    return subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False).stdout.strip()


def siw():
    """The path of mainline's siw.ko, which is built; or nothing."""
    built = subprocess.run(["scripts/mainline", "siw"], cwd=PROJECT, check=False)
    return output_of("scripts/mainline", "siw", "--path") if built.returncode == 0 else ""


def build(program="perf"):
    """Builds everything that a lab runs."""
    BENCH.mkdir(parents=True, exist_ok=True)
    for words in (["stage"], ["-C", "perf/driver"]):
        must(["make", "-s", *words], BENCH / "build.log", program, "fails: the tree does not build")


def plugin(name, which="count", more=""):
    """Options for a lab whose QEMU counts instructions by a plugin."""
    return ["--qemu", "-plugin", "--qemu", f"file={PROJECT}/build/perf/{which}.so,out={LABS}/{name}/counts{more}"]


def name_of(experiment, *more):
    return "-".join(("bench", experiment, str(os.getpid()), *more))


def say(line):
    """Prints a line at once, whole if others print too."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def call(words, prefix=None, **options):
    """Runs a program. With a prefix, each line of its output is printed behind that. Returns its exit status."""
    if prefix is not None:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    with subprocess.Popen(words, cwd=PROJECT, **options) as machine:
        for programs in running.get():
            programs.append(machine)
            if programs.ended:
                machine.terminate()
        try:
            for line in machine.stdout or ():
                say(prefix + line.rstrip("\n"))
            return machine.wait()
        finally:
            if machine.poll() is None:
                machine.terminate()


@contextlib.contextmanager
def lab(name, options, command, wrapper=(), sides=(), prefix=None):
    """Runs a command in a lab, or in one for each of `sides`, which a cable joins; {side} stands for the side's name. Yields the
    folders that it has filled, which go when all is well."""
    names = [f"{name}-{side}" for side in sides] or [name]
    for each in names:
        (LABS / each).mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    program = "scripts/lab/two-machines" if sides else "scripts/lab/run"
    with slots:
        status = call([*wrapper, program, *options, "--name", name, "--", *command], prefix)
    if status:
        raise Failed(status)
    yield [LABS / each / "out" for each in names]
    for each in names:
        shutil.rmtree(LABS / each, ignore_errors=True)


def steps(name, options, speaker, lines, **more):
    """A lab that runs steps; their words begin with the speaker's name."""
    return lab(name, options, ["perf/guest/steps", speaker, *lines], **more)


def machines(name, options, speaker, lines, marks=""):
    """The same on two machines, whose instructions are counted between these marks."""
    options = [*MACHINES, *options, *plugin(name + "-{side}", more=marks)]
    return steps(name, options, speaker, lines, sides=("server", "client"))


def together(run, names):
    """Calls run(name) for each name at once. Labs that count do not disturb each other. If one fails, the others are ended."""
    mine = Programs()
    context = contextvars.copy_context()
    context.run(running.set, (*running.get(), mine))
    with concurrent.futures.ThreadPoolExecutor(max(1, len(names))) as pool:
        jobs = [pool.submit(context.copy().run, run, name) for name in names]
        try:
            return [job.result() for job in jobs]
        except BaseException:
            mine.end()
            raise


def said(out):
    """The lines that steps have printed in a lab, of its output; of steps that say nothing there is no file."""
    return (out / "results").read_text(encoding="utf-8").splitlines() if (out / "results").exists() else []


class Steps(list):
    """Lines of shell for perf/guest/steps, and tags for the output of some."""

    def __init__(self, *lines):
        super().__init__(lines)
        self.tags = {}

    def do(self, *lines):
        """Lines, but for those that are empty."""
        self.extend(filter(None, lines))
        return self

    def ask(self, line, **tag):
        """A line whose output counts."""
        self.tags[len(self)] = tag
        return self.do(line)

    def said(self, out):
        """(tag, lines) of each line that was asked, in order."""
        found = {}
        for line in said(out):
            if line.startswith("#") and line[1:].isdigit():
                current = found.setdefault(int(line[1:]), [])
            else:
                current.append(line)
        for number in self.tags.keys() - found:
            raise ValueError(f"this step printed nothing: {self[number]}")
        return [(tag, found[number]) for number, tag in self.tags.items()]
