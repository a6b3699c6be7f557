# SPDX-License-Identifier: GPL-2.0
"""The modules of weft(8): host reads the machine, the others judge and show it."""
