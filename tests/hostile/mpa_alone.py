# SPDX-License-Identifier: GPL-2.0
"""The cases that are about MPA alone, with the reason why they are not tried over SCTP."""
import fnmatch

OWN_CRC = "SCTP has a CRC of its own, which the kernel checks"
WHOLE = "SCTP gives a message when it is whole"
NO_CRC_SETTING = "the setting crc means nothing over SCTP"
MARKERS = "there are no markers over SCTP"
URGENT = "SCTP has no urgent bytes"

# Patterns of names, of each program.
ALONE = {
    "stream.py": {
        "FPDU cut at every byte": WHOLE,
        "a byte at a time": WHOLE,
        "urgent bytes": URGENT,
        "path that widens again": "the size of a segment is TCP's",
        "FPDU of no bytes": "a message of no bytes breaks the session: session.py",
        "65535 bytes promised, *": WHOLE,
        "half a *": WHOLE,
        "bad CRC: *": OWN_CRC,
        "SEND: row, bad CRC": OWN_CRC,
        "response: bad CRC*": OWN_CRC,
        "response: half, *": WHOLE,
        "client: WRITE in pieces": WHOLE,
        "client: WRITE in pieces, bad CRC": OWN_CRC,
        "client: WRITE promises 65535 bytes": WHOLE,
        "marker*": MARKERS,
        "CRC that does not cover the markers": MARKERS,
    },
    "placed.py": {
        "damaged header*": OWN_CRC,
        "good frame, cut at every byte*": WHOLE,
        "good large frame, CRC off": NO_CRC_SETTING,
        "larger than the receive buffer, then *": WHOLE,
        "* bytes of a frame, then *": WHOLE,
        "urgent bytes in a frame in parts": URGENT,
        "header that promises too much*": WHOLE,
        "* promises 65535 bytes, CRC off": WHOLE,
        "any trailer, CRC off": NO_CRC_SETTING,
        "refusals, *CRC off": NO_CRC_SETTING,
    },
    "personas.py": {
        "be T6: *": "the setting fpdu_peers means nothing over SCTP",
        "ask for markers: *": MARKERS,
        "send markers: *": MARKERS,
    },
}


def left_out(program, names):
    """Of each pattern of this program's, the reason and the cases that it fits."""
    found = {pattern: (why, fnmatch.filter(names, pattern)) for pattern, why in ALONE.get(program, {}).items()}
    for pattern, (_, cases) in found.items():
        if not cases:
            raise ValueError(f"mpa_alone.py: {program} has no case like '{pattern}'")
    return found
