# SPDX-License-Identifier: GPL-2.0
"""
Makes rdma-core's own test suite fit an iWARP device. The suite moves its reliable connections from
INIT through RTR to RTS by hand, as InfiniBand does; a queue pair of iWARP reaches RTS by a
connection, which rdma_cm makes. Only these things of a test are changed:

 - to_rts() of RC resources waits until both ends have asked for each other, and connects them
   over rdma_cm, the address being the device's own;
 - queue pairs that a test takes back from the error state are new ones: a closed stream stays
   closed;
 - a region that was changed has a new key (as ibv_rereg_mr(3) allows): the peer is told;
 - the peer's memory is read once it has come to rest: a write is complete when TCP has it
   (RFC 5040, 5.3), which may be before it is placed;
 - rdma_cm tests learn the address here, since the device has no parent to look it up from,
   and say where they failed.
"""

import itertools
import sys
import time
import traceback
import unittest

ADDRESS = None

_ports = itertools.count(18500)
# Ends that wait for their peer: (own number, peer's number) -> (queue pair, its resources).
_waiting = {}


def install(directory, device, address):
    """Makes the suite in directory/tests importable, adapted to device at address."""
    global ADDRESS
    ADDRESS = address
    sys.path[:0] = [directory, f"{directory}/tests"]
    sys.argv[1:] = ["--dev", device, "--gid", "0"]

    from args_parser import parser

    parser.parse_args()
    import tests.base
    import tests.test_mr

    tests.base.RCResources.to_rts = _to_rts
    tests.base.RCResources.mem_read = _mem_read
    tests.base.RDMATestCase._get_ip_mac = _address_of
    tests.base.RDMACMBaseTest._rdmacm_exception_handler = staticmethod(_say_where)
    tests.test_mr.MRTest.restate_qps = _restate
    _tell_keys(tests.test_mr.MRTest, tests.test_mr.MRRes)


def forget():
    """Between two tests: what one left waiting is not the next one's peer."""
    _waiting.clear()


def _to_rts(resources):
    for qp, peer in zip(resources.qps, resources.rqps_num):
        other = _waiting.pop((peer, qp.qp_num), None)
        if other is None:
            _waiting[(qp.qp_num, peer)] = (qp, resources)
        else:
            connection = connect(other[0].qp_num, qp.qp_num)
            # It lasts as long as one of its ends does.
            for end in (resources, other[1]):
                end.__dict__.setdefault("connections", []).append(connection)


class Constants:
    """rdma_cm's constants by name: up to rdma-core 56 in a module, later in the enumerations of another."""

    def __init__(self):
        try:
            import pyverbs.cm_enums as module
        except ImportError:
            import pyverbs.librdmacm_enums as module
        self._places = [module, *(kind for kind in vars(module).values() if isinstance(kind, type))]

    def __getattr__(self, name):
        for place in self._places:
            if hasattr(place, name):
                return getattr(place, name)
        raise AttributeError(f"pyverbs has no constant {name}")


def _expect(channel, wanted):
    from pyverbs.cmid import CMEvent

    event = CMEvent(channel)
    if event.event_type != wanted:
        raise AssertionError(f"rdma_cm event {event.event_str()} (status {event.status}) instead of {wanted}")
    return event


def connect(active_number, passive_number):
    """Connects two queue pairs of one device; returns what keeps the connection open."""
    from pyverbs.cmid import CMID, AddrInfo, CMEventChannel, ConnParam

    ce = Constants()
    port = str(next(_ports))
    passive_channel, active_channel = CMEventChannel(), CMEventChannel()
    listener = CMID(creator=passive_channel, port_space=ce.RDMA_PS_TCP)
    listener.bind_addr(AddrInfo(src=ADDRESS, src_service=port, port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE))
    listener.listen()

    active = CMID(creator=active_channel, port_space=ce.RDMA_PS_TCP)
    active.resolve_addr(AddrInfo(src=ADDRESS, dst=ADDRESS, dst_service=port, port_space=ce.RDMA_PS_TCP))
    _expect(active_channel, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    active.resolve_route()
    _expect(active_channel, ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
    active.connect(ConnParam(resources=8, depth=8, qp_num=active_number))

    request = _expect(passive_channel, ce.RDMA_CM_EVENT_CONNECT_REQUEST)
    passive = CMID(creator=request, listen_id=listener)
    request.ack_cm_event()
    passive.accept(ConnParam(resources=8, depth=8, qp_num=passive_number))
    _expect(passive_channel, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    _expect(active_channel, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    return passive, active, listener, passive_channel, active_channel


def _restate(test):
    for player in (test.server, test.client):
        for qp in player.qps:
            qp.close()
        for numbers in (player.qps, player.qps_num, player.psns):
            numbers.clear()
        player.create_qps()
    test.client.pre_run(test.server.psns, test.server.qps_num)
    test.server.pre_run(test.client.psns, test.client.qps_num)


def _tell_keys(test_class, resources_class):
    create, rereg = test_class.create_players, resources_class.rereg_mr

    def create_and_remember(test, *arguments, **named):
        create(test, *arguments, **named)
        test.server.tell_keys = test.client.tell_keys = test.sync_remote_attr

    def rereg_and_tell(resources, *arguments, **named):
        rereg(resources, *arguments, **named)
        resources.tell_keys()

    test_class.create_players = create_and_remember
    resources_class.rereg_mr = rereg_and_tell


def _mem_read(resources, size=None, offset=0):
    size = resources.msg_size if size is None else size
    seen = resources.mr.read(size, offset)
    for _ in range(100):
        time.sleep(0.03)
        now = resources.mr.read(size, offset)
        if now == seen:
            break
        seen = now
    return seen


def _address_of(test, device, port, gid_index):
    test.args.append([device, port, gid_index, ADDRESS, None])


def _say_where(passive, exception):
    if isinstance(exception, unittest.SkipTest):
        sys.exit(5)
    print(f"{'passive' if passive else 'active'} side: {''.join(traceback.format_exception(exception))}", flush=True)
    sys.exit(2)
