# SPDX-License-Identifier: GPL-2.0
"""The bytes of iWARP, made and taken apart: by hostile peers, which can make them wrong, and by judges of captures.

Since both have Weft as their other party, ../wire_test.py holds this package to bytes that are written out by hand from the RFCs.
"""


class Malformed(ValueError):
    """Bytes that the format does not allow."""
