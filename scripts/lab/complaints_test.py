#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests the lab's search of a kernel's log: it finds every complaint, no ordinary line, and none
behind an allowed one.

The tests need no lab, because complaints_in of lib.sh reads a file. Without them an unknown kind of
complaint passes, or an ordinary line fails a run, and users allow everything.
"""

import pathlib
import subprocess
import tempfile
import unittest

LIBRARY = pathlib.Path(__file__).resolve().parent / "lib.sh"
COMPLAINTS = """\
Call trace:
BUG kmalloc-64 (Tainted: G O): Poison overwritten
IPv4: Attempt to release TCP socket in state 1 00000000deadbeef
WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 f+0x1/0x2
BUG: KASAN: use-after-free in f+0x1/0x2 [weft]
BUG: kernel NULL pointer dereference, address: 0000000000000008
BUG: sleeping function called from invalid context at mm/slab.h:494
BUG: scheduling while atomic: swapper/0/0/0x00000002
UBSAN: array-index-out-of-bounds in a.c:1:2
kernel BUG at mm/slub.c:1!
Oops: 0000 [#1] PREEMPT SMP NOPTI
general protection fault, probably for non-canonical address 0x1
watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [a:1]
rcu: INFO: rcu_preempt self-detected stall on CPU
INFO: task a:1 blocked for more than 120 seconds.
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
INFO: trying to register non-static key.
kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
refcount_t: underflow; use-after-free.
list_del corruption. prev->next should be 1
unregister_netdevice: waiting for eth0 to become free. Usage count = 2
ODEBUG: free active (active state 0) object type: timer_list
kmemleak: Memory pool empty, consider increasing CONFIG_DEBUG_KMEMLEAK_MEM_POOL_SIZE
kmemleak: Kernel memory leak detector disabled
kmemleak: Cannot allocate a kmemleak_object structure
turning off the locking correctness validator.
Call Trace:
"""
ORDINARY = """\
[ 0.1] Linux version 6.1.0 (debian-kernel@lists.debian.org)
[ 0.2] kasan: KernelAddressSanitizer initialized
[ 0.3] rcu: RCU debug extended QS entry/exit.
[ 0.4] mtrr: your CPUs had inconsistent fixed MTRR settings
[ 0.5] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc.
[ 0.6] debug: unmapping init [mem 0x1-0x2]
[ 0.6] kmemleak: Kernel memory leak detector initialized (mem pool available: 15718)
[ 0.6] kmemleak: Automatic memory scanning thread started
[ 0.7] weft: loading out-of-tree module taints kernel.
[ 0.8] weft: module verification failed: signature and/or required key missing - tainting kernel
"""
ORDERED = """\
[ 1.0] FAULT_INJECTION: forcing a failure.
[ 1.0] name failslab, interval 1, probability 0, space 0, times 0
[ 1.0] Call Trace:
[ 2.0] torture: vmalloc error: size 4096, page allocation failure: order:0
[ 2.0] Call Trace:
"""
FURTHER = """\
[ 3.0] Call Trace:
[ 4.0] FAULT_INJECTION: forcing a failure.
[ 4.0] BUG: KASAN: use-after-free in f+0x1/0x2 [weft]
[ 4.0] Call Trace:
"""
WARNING, LOCKING = "[ 1.0] WARNING: CPU: 0 PID: 1 at made/up.c:1\n", "[ 2.0] WARNING: possible recursive locking detected\n"
TRACE, END = "[ 1.0] Call Trace:\n", "[ 1.0] ---[ end trace 0000000000000000 ]---\n"


# lockdep's report on siw, shortened.
OF_SIW = """\
[ 5.0] WARNING: inconsistent lock state
[ 5.0] 6.1.0 #1 Tainted: G           O
[ 5.0] --------------------------------
[ 5.0] inconsistent {IN-SOFTIRQ-W} -> {SOFTIRQ-ON-R} usage.
[ 5.0] ib_send_bw/77 [HC0[0]:SC0[0]:HE1:SE1] takes:
[ 5.0] 0000000061a7b2c8 (clock-AF_INET){+++-}-{2:2}, at: siw_qp_llp_data_ready+0x3c/0x180 [siw]
[ 5.0] {IN-SOFTIRQ-W} state was registered at:
[ 5.0]   inet_child_forget+0x1d/0x90
[ 5.0] Call Trace:
[ 5.0]  [<60030b0e>] ? dump_stack+0x5e/0x140
[ 5.0]  [<60030ab0>] ? siw_qp_llp_data_ready+0x3c/0x180
"""
# The workqueues' report on NVMe, shortened.
OF_NVME = """\
[ 7.0] WARNING: CPU: 0 PID: 369 at kernel/workqueue.c:2635 check_flush_dependency.part.0+0x1ff/0x2c0
[ 7.0] workqueue: WQ_MEM_RECLAIM nvme-delete-wq:nvme_delete_ctrl_work [nvme_core] is flushing !WQ_MEM_RECLAIM events:srcu_drive_gp
[ 7.0] Call Trace:
[ 7.0]  [<6011e93e>] cleanup_srcu_struct+0x3e/0x240
[ 7.0] ---[ end trace 0000000000000000 ]---
"""


def judged(function, log, allowed=""):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(log)
        file.flush()
        said = subprocess.run(["bash", "-c", f'project=/ labs=/; source "$1"; {function}', "-", LIBRARY, file.name, allowed],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20, check=False)
    return said.stdout


def found(log, allowed=""):
    return judged('complaints_in "$3" "$2"', log, allowed)


def others(log):
    return judged('without_others "$2"', log)


class Complaints(unittest.TestCase):
    def test_every_kind_is_found(self):
        for line in COMPLAINTS.splitlines():
            self.assertTrue(found(f"[    1.000000] {line}\n").endswith(f"{line}\n"), line)

    def test_ordinary_lines_pass(self):
        self.assertEqual(found(ORDINARY), "")

    def test_an_allowed_warning_takes_its_trace_along_and_hides_no_other(self):
        self.assertEqual(found(WARNING + TRACE + END + LOCKING, r"made/up\.c"), LOCKING)

    def test_an_allowed_warning_without_an_end_takes_no_other_complaint_along_and_not_the_rest_of_the_log(self):
        self.assertEqual(found(WARNING + TRACE + LOCKING, r"made/up\.c"), LOCKING)
        many = "".join(f"{line}\n" for line in range(1, 151))
        self.assertRegex(found(WARNING + TRACE + many + "Call Trace:\n", r"made/up\.c"),
                         r"\Aan allowed warning without an end: .*\nCall Trace:\n\Z")

    def test_an_allocation_that_was_made_to_fail_takes_one_trace_along(self):
        allowed = "FAULT_INJECTION: forcing|page allocation failure"
        self.assertEqual(found(ORDERED, allowed), "")
        lines = FURTHER.splitlines(keepends=True)
        self.assertEqual(found(ORDERED + FURTHER, allowed), lines[0] + lines[2])

    def test_the_faults_of_others_go_with_their_reports_and_nothing_else_does(self):
        self.assertEqual(others(OF_SIW + LOCKING), LOCKING)
        self.assertEqual(others(OF_NVME + LOCKING), LOCKING)
        for within in (LOCKING, "[ 7.0] BUG: KASAN: use-after-free\n", "[ 7.0] Kernel panic - not syncing\n", "[ 7.0] Oops: 0000\n"):
            self.assertEqual(others(OF_NVME.split("[ 7.0] ---")[0] + within), within)

    def test_the_same_report_of_other_code_stays(self):
        for ours in (OF_SIW.replace("at: siw_qp_llp_data_ready", "at: llp_tcp_call"), OF_SIW.replace("clock-AF_INET", "slock-AF_INET"),
                     OF_NVME.replace("nvme-delete-wq", "weft"),
                     OF_NVME.replace("srcu_drive_gp", "weft_work"), OF_NVME.split("[ 7.0] Call")[0].replace("nvme-delete-wq", "weft")):
            self.assertEqual(others(ours + LOCKING), ours + LOCKING)


if __name__ == "__main__":
    unittest.main()
