# SPDX-License-Identifier: GPL-2.0
"""Runs a table of cases, prints a line for each, and cleans up after one that failed. Over SCTP without mpa_alone.py's."""
import os
import struct
import subprocess
import sys
import time

import mpa_alone
import pinging
import tap
from hosts import OVER_SCTP, Failure, check
from hosts import case as maker
from wire import Malformed

# The exceptions by which a case says that the peer did something unexpected. Any other is a fault
# of the case, and ends the program.
WRONG = (Failure, Malformed, OSError, subprocess.SubprocessError, struct.error, IndexError)


def run(program, cases, recover):
    """Runs the cases that the command line names, or all; recover() follows one that failed. The program's status."""
    if not os.path.exists("/run/netns/B"):
        sys.exit(f"{program}: no host B here. Run: scripts/lab/run -- scripts/lab/two-hosts --weft -- tests/hostile/{program}")
    chosen = [case for case in cases if len(sys.argv) < 2 or any(part in case[0] for part in sys.argv[1:])]
    if not chosen:
        sys.exit(f"{program}: no case has any of this in its name: {' '.join(sys.argv[1:])}")
    left_out = mpa_alone.left_out(program, [name for name, _ in cases]) if OVER_SCTP else {}
    log = tap.Log()
    for pattern, (why, _) in left_out.items():
        log.tell(pattern, skip=why)
    alone = {name for _, names in left_out.values() for name in names}
    chosen = [case for case in chosen if case[0] not in alone]
    for name, case in chosen:
        began, why = time.monotonic(), None
        try:
            case()
        except WRONG as error:
            why = f"{type(error).__name__}: {error}"
            recover()
        log.tell(f"{name}, {time.monotonic() - began:.1f} s", why)
    return log.end()


def run_with_rping(program, cases, last=()):
    """The same, with an rping server on host A that must live through each; and then the last ones, at whose end it need not be there."""

    @maker
    def watched(case):
        case()
        check(pinging.Said.lives(), "the rping server died")

    def recover():
        if not pinging.Said.lives():
            pinging.start_server()

    pinging.start_server()
    afterwards = ("ordinary rping afterwards", pinging.ordinary_rping)
    status = run(program, [*((name, watched(case)) for name, case in [*cases, afterwards]), *last], recover)
    pinging.stop_server()
    return status
