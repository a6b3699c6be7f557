# SPDX-License-Identifier: GPL-2.0
"""Tests segments.py on single segments, and on the file that it leaves for a dissector."""
import pathlib
import tempfile
import unittest

from made import make_segment
from packets import USER0, write_pcap
from segments import Segments
from wire.ddp import NAMES

# RFC 5040, 5.1 and RFC 7306, 6: queues other than 0, and payloads of a fixed size.
QUEUE = {"read request": 1, "terminate": 2, "atomic request": 1, "atomic response": 3}
SIZE = {"read request": 28, "immediate": 8, "immediate se": 8, "atomic request": 52, "atomic response": 12}


def said_of(*segments):
    """What a judge says of one direction's segments."""
    said = []
    Segments(lambda _, what: said.append(what), True).check_all(enumerate(segments))
    return said


class Headers(unittest.TestCase):
    def test_each_opcode_has_its_queue(self):
        for opcode, name in enumerate(NAMES):
            for queue in range(5) if name not in ("write", "read response") else ():
                said = said_of(make_segment(bytes(SIZE.get(name, 0)), opcode=opcode, queue=queue))
                self.assertEqual(said, [] if queue == QUEUE.get(name, 0) else [f"{name} on queue {queue}"])

    def test_each_opcode_has_its_size(self):
        for opcode, name in enumerate(NAMES):
            right = SIZE.get(name, 100)
            self.assertEqual(said_of(make_segment(bytes(right), opcode=opcode)), [])
            for size in 0, right - 1, right + 1:
                wrong = [f"{name} of {size} bytes"] if name in SIZE else []
                self.assertEqual(said_of(make_segment(bytes(size), opcode=opcode)), wrong)

    def test_immediate_data_has_four_bytes(self):
        for opcode in 8, 9:
            for at in range(8):
                payload = bytearray(8)
                payload[at] = 1
                wrong = [] if at < 4 else ["immediate data beyond four bytes"]
                self.assertEqual(said_of(make_segment(payload, opcode=opcode)), wrong)

    def test_atomic_operations(self):
        """FetchAdd, Swap and CmpSwap, and whatever they are to work with."""
        for operation in range(5):
            wrong = [] if operation < 3 else ["an atomic operation that there is not"]
            self.assertEqual(said_of(make_segment(bytes((0, 0, 0, operation)) + b"\xff" * 48, opcode=10)), wrong)

    def test_nothing_behind_what_cannot_be_judged(self):
        """One number is missing behind each, which nobody is told of."""
        for unknown in b"", b"\xc1\x40", make_segment(b"", opcode=14, queue=0):
            self.assertEqual(len(said_of(unknown, make_segment(b"", opcode=3, message=3))), 1)


class File(unittest.TestCase):
    def test_segments_left(self):
        """A header of pcap 2.4 for frames of the type USER0, and each segment behind a header that has no time."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "left.pcap")
            write_pcap(path, [b"first", b"second."], USER0)
            self.assertEqual(path.read_bytes(), bytes.fromhex(
                "d4c3b2a1 0200 0400 00000000 00000000 00000400 93000000"
                "00000000 00000000 05000000 05000000") + b"first" + bytes.fromhex(
                "00000000 00000000 07000000 07000000") + b"second.")
