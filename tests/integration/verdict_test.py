# SPDX-License-Identifier: GPL-2.0
"""Planted faults, one lab each: the runner of the labs must call every one of them failed.

The labs are scripts that run on this machine itself, by way of the runner's --planted and, as real ones do, of
tests/integration/lib.sh. Without this a lab that dies could count as passed. What lib.sh makes of programs and of repeats is
tried by itself."""
import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import verdict  # noqa: E402

LIBRARY = 'source "$LAB_PROJECT/tests/integration/lib.sh"\n'


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-planted-")
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)

    def put(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def plant(self, text, name="lab", interpreter="/bin/bash"):
        self.put(name, f"#!{interpreter}\n{text}").chmod(0o755)

    def ends(self, status, *arguments):
        """The output of the runner, which ends with this status."""
        done = subprocess.run([HERE / "run", "--planted", self.top, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def passes(self, text):
        self.plant(text)
        said = self.ends(0)
        self.assertRegex(said, r"(?m)^\d+ passed, 0 failed, \d+ skipped$")
        return said

    def fails(self, text, why, name="lab", interpreter="/bin/bash"):
        """The lab fails beside another that passes, and for this reason."""
        self.plant(LIBRARY + "ok good\nfinish\n", "good")
        self.plant(text, name, interpreter)
        said = self.ends(1)
        self.assertRegex(said, rf"(?m)^not ok - {name}: {name}: .*{why}")
        # It is counted, too: what make check adds up is the last line.
        self.assertRegex(said, r"(?m)^\d+ passed, [1-9]\d* failed, \d+ skipped$")

    def test_a_good_lab_passes(self):
        self.passes(LIBRARY + "ok one\nok two\nfinish\n")

    def test_a_failed_case_is_enough_said(self):
        self.plant(LIBRARY + "ok one\nnot_ok two 'it is broken'\nfinish\n")
        said = self.ends(1)
        self.assertIn("\n1 passed, 1 failed, 0 skipped\n", said)
        self.assertEqual(len(re.findall("(?m)^not ok", said)), 1, said)

    def test_death_of_the_runner(self):
        self.plant(LIBRARY + "ok good\nfinish\n", "good")
        self.plant(LIBRARY + "ok one\nkill -KILL $PPID\nok two\nexit 1\n")
        self.assertRegex(self.ends(1), "(?m)^not ok - lab: its runner died")

    def test_commands_that_are_left_out(self):
        for line in ("check sums test 1 = $((1 + 2 3))", "mistyped_helper", "check empty test $((1 / 0)) = 1"):
            self.fails(LIBRARY + f"ok one\n{line}\nok two\nfinish\n", "a command was left out")

    def test_traceback(self):
        self.fails("print('ok 1 - one', flush=True)\nraise KeyError(1)\n", "status 1, and no case", "py", "/usr/bin/python3")

    def test_no_case(self):
        self.fails(LIBRARY + "finish\n", "none of its tests has run")
        self.fails(LIBRARY + "echo 1..0\n", "no case ran")

    def test_program_without_cases(self):
        self.plant(LIBRARY + "ok one\ncases x 5 echo 1..0\nfinish\n")
        self.assertIn("\nnot ok - lab: x has cases: none of them has run\n", self.ends(1))

    def test_skip_that_is_allowed(self):
        self.plant(LIBRARY + "ok one\nskip udaddy 'no datagrams'\nfinish\n", "rdmacm")
        said = self.ends(0)
        self.assertRegex(said, r"skipped: rdmacm\*: udaddy: .*iWARP has connections only")
        self.assertIn("no longer skipped, so tests/skips need not say it: rdmacm*: mckey", said)

    def told(self, what, *arguments):
        """What a function of verdict.py prints."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            what(*arguments)
        return said.getvalue()

    def test_skip_that_happens_at_times(self):
        self.assertNotIn("no longer skipped", self.told(verdict.list_skips, {"lab": self.put("log", "ok 1 - one\n")}))

    def test_an_emulator_that_stumbles(self):
        """Begun again, once, and told; but not for a break point that is still there."""
        died = "if ((n < {times})); then echo 'Oops: int3: 0000'; echo 'Code: 31 {byte} <1f> 44'; exit 99; fi\n"
        for times, byte, status in ((1, "0f", 0), (2, "0f", 1), (1, "cc", 1)):
            count = self.put("results/count", "0")
            counted = f"n=$(<{count}) && echo $((n + 1)) >{count}\n"
            self.plant(LIBRARY + counted + died.format(times=times, byte=byte) + "ok one\nfinish\n")
            said = self.ends(status)
            self.assertEqual("booted again: lab" in said, byte == "0f", said)

    def test_machines_that_are_booted_again(self):
        """Told; and three of four are too many for chance."""
        for number in range(4):
            self.plant(LIBRARY + "ok one\nfinish\n", f"lab{number}")
        again = "echo 'lab: the machine had not booted after 9 s (its console: x): booting again, once'\n"
        for number, status in ((0, 0), (1, 0), (2, 1)):
            self.plant(again + LIBRARY + "ok one\nfinish\n", f"lab{number}")
            said = self.ends(status)
            self.assertIn(f"booted again: lab{number}", said)
        self.assertIn("not ok - lab0: 3 machines of 4 labs were booted again", said)
        self.assertIn("\n4 passed, 3 failed, 0 skipped\n", said)

    def test_a_silent_lockdep(self):
        said = self.passes("echo 'lab: lockdep is silent since it reported a fault of other code'\n" + LIBRARY + "ok one\nfinish\n")
        self.assertIn("integration: locks were not judged to the end: lab\n", said)

    def test_death_of_the_capture_judge(self):
        # The directory that it judges is not there, or has no capture of this run.
        head = "# lab: limit=60 where=planted judge=tests/capture/judge\n"
        self.fails(head + LIBRARY + "ok one\nfinish\n", "1 plans .* instead of 2", "capture")

    def test_counts_of_other_labs_stay(self):
        """As scripts/coverage labs --lab rping: it adds up those of devinfo as well."""
        kept = self.top / "results/cover"
        for name in ("rping", "devinfo"):
            self.plant(LIBRARY + "ok one\nfinish\n", name)
        for arguments, left in (((), True), (("rping",), True), ((), False)):
            self.ends(0, "--cover", *arguments)
            self.assertTrue(kept.joinpath("rping.status").exists())
            self.assertEqual(kept.joinpath("devinfo.status").exists(), left, arguments)
            if arguments:
                (self.top / "devinfo").unlink()

    def test_table(self):
        """Labs of one consumer are one row, logs of builds none, and each skip has its reason."""
        logs = {"perftest-1500": "ok 1 - a\nnot ok 2 - b: why\n", "perftest-9000": "ok 1 - c # SKIP no card\nsaid\n", "settings": "ok 1 - d\n", "module": "ok 1 - e\n"}
        for name, text in logs.items():
            self.put(f"{name}.log", text)
            if name != "module":
                self.put(f"{name}.status", "0")
        said = self.told(verdict.table, self.top)
        rows = [line.rsplit(maxsplit=4) for line in said.splitlines()[1:] if not line.startswith(" ")]
        self.assertEqual(rows, [["perftest", "3", "1", "1", "1"], ["our own tests", "1", "1", "0", "0"]])
        self.assertIn("    skipped: c: no card\n", said)

    def test_what_explains_a_failure(self):
        self.put("nfs.status", "1")
        self.put("nfs.log", "#   of another\nok 1 - a\n#   two lines\n#   say why\nnot ok 2 - b: status 1\n")
        said = self.told(verdict.list_failures, self.top, self.top)
        self.assertEqual(said, "    nfs | #   two lines\n    nfs | #   say why\n    nfs | not ok 2 - b: status 1\n")

    def test_a_machine_that_hung(self):
        """The last words of its log and console are shown, and who waits where, but not the idle threads of the kernel."""
        self.put("lab/test-iser/console.log", "console says\n")
        self.put(
            "lab/test-iser/hang.txt",
            "    PID    PPID STAT WCHAN                        TIME COMMAND\n"
            "      2       0 S    kthreadd                 00:00:00 [kthreadd]\n"
            "     77       2 D    weft_conn_close          00:00:01 [kworker/0:1]\n"
            "     90       1 S    do_wait                  00:00:01 /bin/bash tests/integration/iser.sh\n"
            "     91      90 S    hrtimer_nanosleep        00:00:00 sleep 290\n"
            "== 2 \n   [<0>] kthreadd+0x1/0x2\n"
            "== 77 \n   [<0>] weft_conn_close+0x1c/0x20 [weft]\n   [<0>] worker_thread+0x1/0x2\n",
        )
        for name, status in {"iser": "124", "nfs": "1"}.items():
            self.put(f"{name}.status", status)
            self.put(f"{name}.log", f"the log of {name}\n")
        said = self.told(verdict.list_failures, self.top, self.top / "lab")
        self.assertIn("| the log of iser\n    console | console says\n", said)
        self.assertIn("77 D [kworker/0:1]: weft_conn_close < worker_thread\n", said)
        self.assertIn("90 S /bin/bash tests/integration/iser.sh: do_wait\n", said)
        for silent in ("kthreadd", "sleep 290", "nfs"):
            self.assertNotIn(silent, said)


for case, lines, why in (
    ("unbound_variable", 'ok "$mistyped"\nfinish', "status 1, and no case failed"),
    ("early_exit", "exit 1", "status 1, and no case failed"),
    ("early_end_with_success", "exit 0", "0 plans"),
    ("death_by_a_signal", "kill -KILL $$", "status 137"),
    ("lines_that_were_not_counted", "(ok lost)\nfinish", "the plan is of 1 cases, and 2 were told of"),
    ("failure_that_was_not_counted", "echo 1..2", "the plan is of 2 cases, and 1 were told of"),
    ("skip_that_is_not_allowed", "skip two 'no reason'\nfinish", "tests/skips does not allow: two: no reason"),
):
    setattr(Runner, f"test_{case}", lambda self, lines=lines, why=why: self.fails(f"{LIBRARY}ok one\n{lines}\n", why))


class Library(unittest.TestCase):
    """What a script of this directory says, if it is made of these commands."""

    def says(self, commands, wanted):
        with tempfile.TemporaryDirectory(prefix="weft-library-") as folder:
            lab = {"LAB_PROJECT": str(HERE.parent.parent), "LAB_SCRATCH": folder}
            done = subprocess.run(["bash", "-c", f"{LIBRARY}{commands}\nfinish"], env={**os.environ, **lab},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertRegex(done.stdout.removesuffix("\n"), f"(?s){wanted}")

    def test_a_program_that_stops_half_way_or_miscounts_is_a_failure(self):
        for program, wanted in (
            ("echo ok 1 - a; sleep 0.1; echo ok 2 - b; echo 1..2", r"\Aok 1 - it: a\nok 2 - it: b\n1..2\n2 passed, 0 failed, 0 skipped\Z"),
            ("echo ok 1 - a; echo ok 2 - b \\# SKIP why; echo 1..2", "ok 2 - it: b # SKIP why\n1..2\n1 passed, 0 failed, 1 skipped"),
            ("echo ok 1 - a; echo not ok 2 - b: why: because; echo 1..2; exit 1",
             r"not ok 2 - it: b: why: because.*1 passed, 1 failed, 0 skipped\Z"),
            ("echo ok 1 - a", "not ok 2 - it comes to its end: it stopped with status 0"),
            ("echo ok 1 - a; exit 1", "not ok 2 - it comes to its end: it stopped with status 1"),
            ("echo ok 1 - a; kill -SEGV $$", "not ok 2 - it comes to its end: it stopped with status 139"),
            ("echo ok 1 - a; echo 1..1; exec sleep 50", "not ok 2 - it comes to its end: it still ran"),
            ("echo ok 1 - a; echo 1..2", "not ok 2 - it prints what it counts"),
            ("echo ok 1 - a; echo 1..2; exit 1", "not ok 2 - it prints what it counts"),
            ("echo ok 1 - a; echo 1..1; exit 3", "not ok 2 - it ends with the status of its cases"),
            ("echo ok 1 - a; echo not ok 2 - b: c; echo 1..2", "not ok 3 - it ends with the status of its cases"),
            ("nosuchprogram", "not ok 1 - it comes to its end"),
        ):
            self.says(f"cases it 5 bash -c '{program}'", wanted)

    def test_repeats_are_counted_and_too_many_fail(self):
        for commands, wanted in (
            ("ok a; n=0; twice() { ((++n % 2 == 0)) || return $again; }; for i in 1 2; do retry tool 3 twice; done",
             "retried: tool 2 of 2.not ok 2 - few retries.*1 passed, 1 failed"),
            ("ok a; n=0; once() { ((++n > 1)) || return $again; }; for i in {1..9}; do retry tool 3 once; done",
             "retried: tool 1 of 9.1..1.1 passed, 0 failed"),
            ("ok a; n=0; rare() { ((++n > 2)) || return $again; }; for i in {1..40}; do retry tool 3 rare; done",
             "retried: tool 2 of 40.1..1.1 passed, 0 failed"),
            ("n=0; never() { ((++n)); return $again; }; retry tool 3 never && ok b; echo $n times", "3 times.retried: tool 2 of 1"),
            ("n=0; wrong() { ((++n)); return 1; }; retry tool 3 wrong; echo $? after $n", "1 after 1.retried: tool 0 of 1"),
            ("await nothing 1 false", "not ok 1 - waiting: nothing"),
            ("true", "none of its tests has run"),
        ):
            self.says(commands, wanted)

    def test_a_channel_that_rping_closed_itself(self):
        """Only if that is all that rping said: data that did not match is a failure."""
        closed = "client DISCONNECT EVENT...\nrdma_get_cm_event: Bad file descriptor"
        for said, status, verdict in (
            (closed, 255, "ok 1 - pinged"), (f"ping data: a\n{closed}", 255, "ok 1 - pinged"), ("", 0, "ok 1 - pinged"),
            (f"data mismatch!\n{closed}", 255, "not ok 1 - pinged"), (closed, 1, "not ok 1 - pinged"), ("rdma_connect: refused", 255, "not ok 1 - pinged"),
        ):
            with tempfile.TemporaryDirectory(prefix="weft-rping-") as folder:
                rping = pathlib.Path(folder, "rping")
                rping.write_text(f"#!/bin/bash\ncat <<END\n{said}\nEND\nexit {status}\n", encoding="utf-8")
                rping.chmod(0o755)
                self.says(f"PATH={folder}:$PATH\ncheck pinged rping_client env 20 -a 10.0.0.1", f"(^|\n){verdict}")

    def test_a_channel_that_rpings_server_closed_itself(self):
        closed = "server DISCONNECT EVENT...\nwait for RDMA_READ_ADV state 10\nrdma_get_cm_event: Bad file descriptor"
        for said, status, verdict in (
            (closed, 255, "ok 1 - pinged"), (f"server ping data: a\n{closed}", 255, "ok 1 - pinged"),
            (closed, 143, "not ok 1 - pinged"), (f"cma event RDMA_CM_EVENT_REJECTED\n{closed}", 255, "not ok 1 - pinged"), ("", 255, "not ok 1 - pinged"),
        ):
            ends = f"CLIENT_STATUS=0 CLIENT_OUTPUT='' SERVER_STATUS={status} SERVER_OUTPUT={shlex.quote(said)}"
            self.says(f"{ends}\ncheck pinged rping_ended {status}", f"(^|\n){verdict}")
        self.says("CLIENT_STATUS=0 CLIENT_OUTPUT='' SERVER_STATUS=0 SERVER_OUTPUT=''\ncheck pinged rping_ended 1", "(^|\n)not ok 1 - pinged")

    def test_pings_that_are_missing(self):
        for said, verdict in (
            ("ping data: a\nping data: b", "ok 1 - pinged"), ("", "not ok 1 - pinged: 0 lines of data"), ("ping data: a", "not ok 1 - pinged: 1 lines of data"),
        ):
            session = f"session() {{ CLIENT_OUTPUT={shlex.quote(said)}; }}"
            self.says(f"{session}\nrping_of pinged 10.0.0.1 64 2", f"(^|\n){verdict}")
