# SPDX-License-Identifier: GPL-2.0
"""TCP sockets, Weft over TCP, Weft over SCTP"""
from perflib.experiments.markers import Contrast

# SCTP's window does not grow by itself, as TCP's does.
WINDOW = "sysctl -qw net.core.rmem_default=4194304 net.core.wmem_default=4194304"


class Transports(Contrast):
    """SCTP has a CRC in any case, which nobody computes over veth unless told so."""

    name, place = "transports", 22
    caption = (
        "**SCTP against TCP**: instructions of a message, both ends together: plain sockets, Weft over TCP, and Weft over SCTP. "
        "SCTP's own CRC is computed where CRC is named; elsewhere veth spares it."
    )

    def contrast(self, steps):
        self.measure(steps.do("modprobe sctp", WINDOW), "TCP sockets", "off", "tcp")
        for crc in ("off", "preferred"):
            steps.do(f"set_all crc {crc}", "set_all transport tcp", "set_all fpdu large")
            self.measure(steps, "Weft on TCP, large frames", crc)
            self.measure(steps.do("set_all fpdu segment"), "Weft on TCP, frames of a segment", crc)
            computed = "both ethtool -K eth0 tx-checksum-sctp off tx-sctp-segmentation off" if crc != "off" else ""
            self.measure(steps.do("set_all transport sctp", computed), "Weft on SCTP", crc)
