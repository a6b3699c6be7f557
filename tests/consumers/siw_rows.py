#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Things that fail on siw and that no program shows by itself: the answers of verbs, asked through
pyverbs on a pair of queue pairs connected over rdma_cm.

usage: siw_rows.py DEVICE ADDRESS (the device's own). Prints ok and not ok lines, and how many.
"""

import errno
import sys
import time

sys.path[:0] = [sys.path[0] + "/pyverbs", sys.path[0] + "/.."]
import adapter  # noqa: E402
import tap  # noqa: E402

import pyverbs.enums as e  # noqa: E402
from pyverbs.cq import CQ  # noqa: E402
from pyverbs.device import Context  # noqa: E402
from pyverbs.mr import MR, MW, MWBindInfo  # noqa: E402
from pyverbs.pd import PD  # noqa: E402
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError  # noqa: E402
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr  # noqa: E402
from pyverbs.wr import SGE, RecvWR, SendWR  # noqa: E402

SIZE = 4096
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ


class End:
    """One end of a connection and all that it needs."""

    def __init__(self, context):
        self.context = context
        self.pd = PD(context)
        self.cq = CQ(context, 64)
        self.mr = MR(self.pd, SIZE, ACCESS | e.IBV_ACCESS_MW_BIND)
        capacity = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=2, max_recv_sge=2)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = ACCESS
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=capacity, sq_sig_all=1)
        self.qp = QP(self.pd, init, attributes)

    def element(self, length=64, offset=0):
        return SGE(self.mr.buf + offset, length, self.mr.lkey)

    def completion(self):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            count, found = self.cq.poll(1)
            if count:
                expect(found[0].status == e.IBV_WC_SUCCESS, f"a completion with status {found[0].status}")
                return found[0]
        raise AssertionError("no completion within 20 s")


class Pair:
    def __init__(self, device):
        context = Context(name=device)
        self.near, self.far = End(context), End(context)
        self.connection = adapter.connect(self.near.qp.qp_num, self.far.qp.qp_num)


def expect(condition, why):
    if not condition:
        raise AssertionError(why)


def memory_windows(device):
    most = Context(name=device).query_device().max_mw
    expect(most > 0, f"max_mw is {most}")


def several_elements_of_a_read(device):
    most = Context(name=device).query_device().max_sge_rd
    expect(most > 1, f"max_sge_rd is {most}")
    pair = Pair(device)
    pair.far.mr.write("r" * 128, 128)
    request = SendWR(opcode=e.IBV_WR_RDMA_READ, num_sge=2, sg=[pair.near.element(60, 0), pair.near.element(68, 1000)])
    request.set_wr_rdma(pair.far.mr.rkey, pair.far.mr.buf)
    pair.near.qp.post_send(request)
    pair.near.completion()
    expect(pair.near.mr.read(60, 0) == b"r" * 60, "the first element's data is wrong")
    expect(pair.near.mr.read(68, 1000) == b"r" * 68, "the second element's data is wrong")


def resize_cq(device):
    cq = CQ(Context(name=device), 10)
    cq.resize(1000)
    expect(cq.cqe >= 1000, f"a queue resized to 1000 has {cq.cqe} entries")


def query_qp_state(device):
    end = End(Context(name=device))
    state = end.qp.query(e.IBV_QP_STATE)[0].qp_state
    expect(state == e.IBV_QPS_INIT, f"before it is connected it is in state {state}")
    pair = Pair(device)
    state = pair.near.qp.query(e.IBV_QP_STATE)[0].qp_state
    expect(state == e.IBV_QPS_RTS, f"connected, it is in state {state}")
    capacity = pair.near.qp.query(e.IBV_QP_CAP)[1].cap
    expect(capacity.max_send_wr >= 16 and capacity.max_recv_sge >= 2, f"its capacity is {capacity}")


def positive_errors(device):
    pair = Pair(device)
    for what, post in (
            ("a send with an unknown opcode", lambda: pair.near.qp.post_send(SendWR(opcode=99, num_sge=1, sg=[pair.near.element()]))),
            ("a send of too many elements", lambda: pair.near.qp.post_send(
                SendWR(num_sge=20, sg=[pair.near.element() for _ in range(20)]))),
            ("too many receives", lambda: [pair.near.qp.post_recv(
                RecvWR(num_sge=1, sg=[pair.near.element()])) for _ in range(5000)])):
        try:
            post()
        except PyverbsRDMAError as error:
            expect(error.error_code in (errno.EINVAL, errno.ENOMEM, errno.EOPNOTSUPP),
                   f"{what} returns {error.error_code}")
        else:
            raise AssertionError(f"{what} is accepted")


def invalidated_key(device):
    pair = Pair(device)
    window = MW(pair.far.pd, e.IBV_MW_TYPE_2)
    bind = SendWR(opcode=e.IBV_WR_BIND_MW)
    bind.set_bind_wr(window, MWBindInfo(pair.far.mr, pair.far.mr.buf, SIZE, e.IBV_ACCESS_REMOTE_WRITE))
    pair.far.qp.post_send(bind)
    pair.far.completion()
    pair.far.qp.post_recv(RecvWR(num_sge=1, sg=[pair.far.element()]))
    send = SendWR(opcode=e.IBV_WR_SEND_WITH_INV, num_sge=1, sg=[pair.near.element()])
    send.imm_data = bind.rkey
    pair.near.qp.post_send(send)
    done = pair.far.completion()
    expect(done.wc_flags & e.IBV_WC_WITH_INV, f"the flags are {done.wc_flags}")
    expect(done.imm_data == bind.rkey, f"the key is {done.imm_data:#x}, not {bind.rkey:#x}")
    window.close()


def write_with_immediate(device):
    pair = Pair(device)
    pair.near.mr.write("w" * 64, 64)
    pair.far.qp.post_recv(RecvWR(wr_id=5, num_sge=1, sg=[pair.far.element()]))
    request = SendWR(opcode=e.IBV_WR_RDMA_WRITE_WITH_IMM, num_sge=1, sg=[pair.near.element()], imm_data=0x01020304)
    request.set_wr_rdma(pair.far.mr.rkey, pair.far.mr.buf + 128)
    pair.near.qp.post_send(request)
    done = pair.far.completion()
    expect(done.opcode == e.IBV_WC_RECV_RDMA_WITH_IMM, f"the opcode is {done.opcode}")
    expect(done.wc_flags & e.IBV_WC_WITH_IMM, f"the flags are {done.wc_flags}")
    expect(done.imm_data == 0x01020304, f"the immediate is {done.imm_data:#x}")
    expect(pair.far.mr.read(64, 128) == b"w" * 64, "the data is wrong")


ROWS = {
    "write with immediate": write_with_immediate,
    "max_mw is not 0": memory_windows,
    "max_sge_rd is more than 1, and a read has two elements": several_elements_of_a_read,
    "resize_cq": resize_cq,
    "a completion carries the invalidated key": invalidated_key,
    "query_qp has a state": query_qp_state,
    "post returns positive errors": positive_errors,
}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    adapter.ADDRESS = sys.argv[2]
    log = tap.Log()
    for name, row in ROWS.items():
        why = None
        try:
            row(sys.argv[1])
        except (AssertionError, PyverbsError) as error:
            why = error
        log.tell(name, why)
    sys.exit(log.end())


if __name__ == "__main__":
    main()
