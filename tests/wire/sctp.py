# SPDX-License-Identifier: GPL-2.0
"""DDP over SCTP (RFC 5043): its user messages, and the session control messages that stand for frames of MPA's handshake."""
from wire import Malformed, mpa

ADAPTATION = 1
# Payload protocol identifiers.
SEGMENT, CONTROL = 16, 17
# Function codes. Weft adds the last to two of them (docs/wire.md).
INITIATE, ACCEPT, REJECT, TERMINATE, ENHANCED_INITIATE, ENHANCED_ACCEPT, ENHANCED_REJECT = range(1, 8)
EXTEND = 0x8000


def numbered(number, behind=b""):
    """A message with its DDP-SSN; or the function code of a session control message, with its private data."""
    return number.to_bytes(2, "big") + behind


def split(data):
    """The same, taken apart."""
    if len(data) < 2:
        raise Malformed(f"a message of {len(data)} bytes: {data.hex()}")
    return int.from_bytes(data[:2], "big"), data[2:]


def control_of(frame):
    """The session control message that stands for a Request or Reply of MPA, without its DDP-SSN."""
    parsed = mpa.Parsed(frame)
    asks = parsed.key == mpa.REQUEST_KEY
    code = INITIATE if asks else REJECT if parsed.flags & mpa.REJECT else ACCEPT
    if parsed.flags & mpa.ENHANCED:
        code += ENHANCED_INITIATE - INITIATE
    return numbered(code | (EXTEND if parsed.flags & (mpa.EXTEND if asks else mpa.EXTENDED) else 0), parsed.private)


def frame_of(control):
    """The Request or Reply of MPA that a session control message stands for."""
    code, private = split(control)
    extend, enhanced = code & EXTEND, code & ~EXTEND >= ENHANCED_INITIATE
    code = (code & ~EXTEND) - (ENHANCED_INITIATE - INITIATE if enhanced else 0)
    if code not in (INITIATE, ACCEPT, REJECT):
        raise Malformed(f"a function code in {control.hex()} that begins nothing")
    flags = mpa.CRC | (mpa.ENHANCED if enhanced else 0) | (mpa.REJECT if code == REJECT else 0)
    if extend:
        flags |= mpa.EXTEND if code == INITIATE else mpa.EXTENDED
    make = mpa.request if code == INITIATE else mpa.reply
    return make(flags=flags, revision=2 if enhanced else 1, private=private)
