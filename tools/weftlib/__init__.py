# SPDX-License-Identifier: GPL-2.0
"""What weft(8) consists of: host is what it reads, the other modules are what it makes of that."""
