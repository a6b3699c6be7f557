# SPDX-License-Identifier: GPL-2.0
"""The machine as weft(8) sees it: files, and the output of other programs. Nothing else of the tool
touches either, so that tests can hand in a recorded machine."""

import json
import os
import platform
import resource
import subprocess

# A program that has not answered by then is stuck, and the tool must say so instead of hanging with it.
PATIENCE = 20


class Failed(Exception):
    """A reason to stop, told in one line that ends with the next step."""


class Host:
    """This machine. `patience` is how many seconds a program that is run may take; None has no limit."""

    def __init__(self, patience=PATIENCE):
        self.patience = patience

    def read(self, path):
        """The text of a file without its last line feed, or None if it can't be read."""
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read().removesuffix("\n")
        except OSError:
            return None

    def names(self, path):
        """The names in a directory, in order; none if it is not there."""
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def write(self, path, text):
        """Writes to a file that is there. Raises OSError with the kernel's reason."""
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.write(descriptor, text.encode() or b"\n")
        finally:
            os.close(descriptor)

    def run(self, *command):
        """(status, output, complaints) of a program; None if it is not installed."""
        path = f"/usr/sbin:/sbin:{os.environ.get('PATH', '/usr/bin:/bin')}"
        try:
            process = subprocess.Popen(  # pylint: disable=consider-using-with # which would wait for a program that nothing ends
                command,
                env=dict(os.environ, PATH=path, LC_ALL="C"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            return 124, "", str(error)
        try:
            output, complaints = process.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired as error:
            process.kill()
            return 124, "", str(error)
        return process.returncode, output.decode(errors="replace"), complaints.decode(errors="replace")

    def kernel(self):
        """The release of the running kernel."""
        return platform.release()

    def memlock(self):
        """How many bytes the caller may lock; None: any number."""
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        return None if soft == resource.RLIM_INFINITY else soft

    def is_root(self):
        return os.geteuid() == 0


def said(host, *command):
    """A program's output, or "" if it is missing or fails."""
    ran = host.run(*command)
    return ran[1] if ran and ran[0] == 0 else ""


def said_json(host, *command):
    """The list that a program prints as JSON; an empty one if it prints nothing, or is missing. Raises Failed if it fails, or
    prints something else, because then the list is unknown."""
    ran = host.run(*command)
    if ran and ran[0]:
        why = (ran[2] or ran[1]).strip().partition("\n")[0] or f"it ended with status {ran[0]}"
        raise Failed(f"'{' '.join(command)}' failed: {why}; see it by hand")
    try:
        # rdma(8) writes a process's name as it is, control characters too.
        found = json.loads(ran[1] if ran and ran[1] else "[]", strict=False)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise Failed(f"what '{' '.join(command)}' prints is no JSON; see it by hand")
    return found
