# SPDX-License-Identifier: GPL-2.0
"""The result of a check of `weft doctor`."""

import dataclasses

OK = "ok"
WARNING = "warning"  # works, but worse than it could, or perhaps not for everybody
FAULT = "fault"  # keeps Weft from working
UNKNOWN = "unknown"  # can't be told from here


@dataclasses.dataclass
class Finding:
    """One check's result; mend is empty if there is nothing to mend."""

    check: str
    verdict: str
    what: str
    mend: str = ""

    def as_json(self):
        return dataclasses.asdict(self)
