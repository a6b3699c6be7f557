# SPDX-License-Identifier: GPL-2.0
"""frames of a segment against frames of a packet buffer, in packet buffers of many segments and of one"""
from perflib.experiments.markers import Contrast


class Aligned(Contrast):
    """With packet buffers of one segment a large frame begins anywhere."""

    name, place = "aligned", 21
    caption = (
        "**Alignment**: frames that each begin a segment, and frames as long as a packet buffer; with packet buffers of many segments, "
        "as cards with segmentation offload make them, and with one for each segment."
    )

    def contrast(self, steps):
        for crc in ("off", "preferred"):
            steps.do(f"set_all crc {crc}")
            for offload, buffers in (("on", ""), ("off", ", small packets")):
                steps.do(f"both ethtool -K eth0 tso {offload} gso {offload} gro {offload}")
                self.measure(steps.do("set_all fpdu segment"), f"frames of a segment{buffers}", crc)
                self.measure(steps.do("set_all fpdu large"), f"large frames{buffers}", crc)
