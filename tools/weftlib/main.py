# SPDX-License-Identifier: GPL-2.0
"""The command line of weft(8)."""

import argparse
import os
import pathlib
import sys

from weftlib import change, doctor, status
from weftlib import host as hosts
from weftlib.output import say

# Modules that have commands, each by a function add_parsers().
PARTS = (status, change, doctor)


def version():
    """That of the release: its file is beside the modules, or in the tree at the top."""
    here = pathlib.Path(__file__).resolve()
    for folder in here.parents[1:3]:
        if (folder / "VERSION").is_file():
            return (folder / "VERSION").read_text(encoding="ascii").strip()
    return "unknown"


def parser():
    top = argparse.ArgumentParser(prog="weft", description="Shows, checks and sets what Weft does on this machine; see weft(8).")
    top.add_argument("--version", action="version", version=f"weft {version()}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for part in PARTS:
        part.add_parsers(commands)
    return top


def main(words=None, host=None):
    """Runs one command. Returns its exit status: 0, 1 if it failed, or the command's own (weft(8)); argparse exits with 2."""
    arguments = parser().parse_args(words)
    try:
        ended = arguments.run(host or hosts.Host(), arguments)
        sys.stdout.flush()
        return ended
    except hosts.Failed as error:
        say(f"weft: {error}", sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of the output has seen enough.
        sys.stderr.close()
        return 1
    except OSError as error:
        say(f"weft: {error.strerror}", sys.stderr)
        # Or Python tries once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
