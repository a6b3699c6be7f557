# SPDX-License-Identifier: GPL-2.0
"""`weft doctor`: runs the checks, and prints each fault with its mend."""

from weftlib import check_kernel, check_network, check_programs, devices
from weftlib.finding import FAULT, OK, WARNING
from weftlib.output import print_json, say

PORT = 18515  # perftest's


def port_number(text):
    value = int(text)
    if not 1 <= value <= 65535:
        raise ValueError
    return value


port_number.__name__ = "port"  # argparse's name for a wrong one


def add_parsers(commands):
    parser = commands.add_parser("doctor", help="look for what keeps Weft from working, with the mend of each")
    parser.add_argument("--port", type=port_number, default=PORT, help=f"port of TCP that peers must reach ({PORT}, perftest's)")
    parser.add_argument("--json", action="store_true", help="as JSON, which weft(8) describes")
    parser.set_defaults(run=run_doctor)


def examine(host, port):
    """All findings, in the order in which they should be mended."""
    found = devices.find(host)
    return [
        *check_kernel.findings(host),
        *check_programs.findings(host, found),
        *check_network.findings(host, found, port),
    ]


def run_doctor(host, arguments):
    findings = examine(host, arguments.port)
    faults = sum(finding.verdict == FAULT for finding in findings)
    warnings = sum(finding.verdict == WARNING for finding in findings)
    if arguments.json:
        print_json({"faults": faults, "warnings": warnings, "findings": [finding.as_json() for finding in findings]})
    else:
        for finding in findings:
            say(f"{finding.verdict:<8} {finding.check}: {finding.what}")
            if finding.mend:
                say(f"         mend: {finding.mend}")
        say(f"{sum(finding.verdict == OK for finding in findings)} ok, {warnings} warnings, {faults} faults")
    return 1 if faults else 0
