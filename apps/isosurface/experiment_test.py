#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what apps/isosurface/experiment makes of a lab's lines, with lines that are made up."""
import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "papers"))
import experiments_test  # pylint: disable=wrong-import-position
import record  # pylint: disable=wrong-import-position

experiment = experiments_test.load("isosurface")
BLOCKS = (4, 8, 16)


def lines(rate, response):
    """A lab's lines; `rate` and `response` are functions of transport and block."""
    for link in ("plain", "slow", "far"):
        for transport in ("rdma", "tcp"):
            for update in ("partial", "complete"):
                for block in BLOCKS:
                    yield f"row {link} {transport} {update} {block} " + json.dumps(
                        {"updates": 10, "updates_per_second": rate(transport, block), "median_ms": response(transport, block),
                         "p90_ms": 2 * response(transport, block), "chunks": 100, "bytes": 100000})


def result(rate, response):
    return experiment.result(experiment.Rows(["# a comment", *lines(rate, response)]))


class Results(unittest.TestCase):
    def test_what_papers_found_is_called_the_same(self):
        made = result(lambda transport, block: block * (1 if transport == "tcp" else 2), lambda _, block: float(block))
        record.check("made", made)
        self.assertEqual([one["verdict"].split(":")[0] for one in made["experiments"]], ["same trend"] * 6)
        self.assertIn("rdma has 2.00 to 2.00 times tcp's rate", made["experiments"][0]["verdict"])

    def test_the_contrary_is_called_so(self):
        made = result(lambda _, block: 1.0 / block, lambda _, block: 1.0 / block)
        verdicts = [one["verdict"].split(":")[0] for one in made["experiments"]]
        self.assertEqual(verdicts[:2], ["not the same trend"] * 2)

    def test_a_response_must_be_clearly_longer(self):
        made = result(lambda _, block: float(block), lambda _, block: 100 + block / 10)
        self.assertTrue(made["experiments"][1]["verdict"].startswith("not the same trend"))

    def test_a_guarantee_takes_the_chunk_with_the_shortest_response_that_reaches_it(self):
        made = result(lambda transport, block: block * (1 if transport == "tcp" else 2), lambda _, block: float(block))
        rows = made["experiments"][2]["table"]
        # Both reach 16. Six tenths of it, 9.6, RDMA reaches with blocks of 8 points, TCP with those of 16.
        self.assertEqual(rows[3], ["9.60", "2072", "8.00", "16408", "16.00"])
        self.assertEqual(rows[-1], ["16.00", "2072", "8.00", "16408", "16.00"])
        self.assertIn("rdma reaches 32.0 updates/s, tcp reaches 16.0", made["experiments"][2]["verdict"])

    def test_a_value_is_the_median_of_its_rounds(self):
        rows = experiment.Rows(f'row slow rdma partial 4 {{"median_ms": {value}}}' for value in (9, 1, 2))
        self.assertEqual(rows.curve("slow", "rdma", "partial", "median_ms"), [[280, 2]])

    def test_chunks_are_as_long_as_the_program_makes_them(self):
        self.assertEqual(experiment.chunk_bytes(4), 24 + 256)


if __name__ == "__main__":
    unittest.main()
