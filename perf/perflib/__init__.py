# SPDX-License-Identifier: GPL-2.0
"""The instruments of perf/: experiments has a file for each experiment, the other modules are shared by these and by the
commands."""
