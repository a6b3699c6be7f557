# SPDX-License-Identifier: GPL-2.0
"""Runs a table of cases, prints a line for each, and cleans up after one that failed."""

import os
import struct
import subprocess
import sys
import time

import fpdu
import handshake
from handshake import Failure, check

# The exceptions by which a case says that the peer did something unexpected. Any other is a fault
# of the case, and ends the program.
WRONG = (Failure, fpdu.Malformed, OSError, subprocess.SubprocessError, struct.error, IndexError)


def run(program, cases, recover):
    """Runs the cases that the command line names, or all; recover() follows one that failed. How many did."""
    if not os.path.exists("/run/netns/B"):
        sys.exit(f"{program}: no host B here. Run: scripts/lab/run -- scripts/lab/two-hosts --weft -- tests/hostile/{program}")
    chosen = [case for case in cases if len(sys.argv) < 2 or any(part in case[0] for part in sys.argv[1:])]
    if not chosen:
        sys.exit(f"{program}: no case has any of this in its name: {' '.join(sys.argv[1:])}")
    failed = 0
    for name, case in chosen:
        began = time.monotonic()
        verdict = "ok"
        try:
            case()
        except WRONG as error:
            failed += 1
            verdict = f"not ok ({type(error).__name__}: {error})"
            recover()
        print(f"{name}: {verdict}, {time.monotonic() - began:.1f} s", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return failed


def run_with_rping(program, cases):
    """The same, with an rping server on host A that must live through each."""

    def watched(case):
        def run_one():
            case()
            check(handshake.SERVER_PROCESS.poll() is None, "the rping server died")

        return run_one

    def recover():
        if handshake.SERVER_PROCESS.poll() is not None:
            handshake.start_server()

    handshake.start_server()
    failed = run(program, [(name, watched(case)) for name, case in cases], recover)
    handshake.stop_server()
    return failed
