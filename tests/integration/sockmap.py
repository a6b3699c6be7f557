#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Puts each TCP connection that a cgroup accepts into a sockmap, as service meshes do, or lets go of them again.

usage: tests/integration/sockmap.py attach | detach CGROUP

The program is a sock_ops one of BPF. It is written out here, so that no compiler is needed for it.
"""
import ctypes
import os
import struct
import sys

BPF = 321  # the system call's number on x86-64
MAP_CREATE, PROG_LOAD, PROG_ATTACH, PROG_DETACH = 0, 5, 8, 9
SOCKMAP, SOCK_OPS_PROGRAM, SOCK_OPS_ATTACH = 15, 13, 3
PASSIVE_ESTABLISHED = 5
SOCK_MAP_UPDATE = 53
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(BPF, command, room, len(room))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"bpf({command}): {os.strerror(error)}")
    return result


def op(code, to=0, source=0, offset=0, value=0):
    return struct.pack("<BBhi", code, source << 4 | to, offset, value)


def program(sockmap):
    """If a connection has been accepted: bpf_sock_map_update(context, sockmap, &zero, BPF_ANY)."""
    return b"".join((
        op(0xBF, 6, 1),  # r6 = context
        op(0x61, 2, 1),  # r2 = context->op
        op(0x55, 2, offset=8, value=PASSIVE_ESTABLISHED),  # another one: to the end
        op(0x62, 10, offset=-4),  # zero
        op(0xBF, 1, 6),
        op(0x18, 2, 1, value=sockmap),
        op(0),
        op(0xBF, 3, 10),
        op(0x07, 3, value=-4),
        op(0xB7, 4),
        op(0x85, value=SOCK_MAP_UPDATE),
        op(0xB7, 0, value=1),
        op(0x95),
    ))


def load(code):
    text, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(65536)
    attributes = struct.pack("<IIQQIIQ", SOCK_OPS_PROGRAM, len(code) // 8, ctypes.addressof(text), ctypes.addressof(licence),
                             1, len(log), ctypes.addressof(log))
    try:
        return bpf(PROG_LOAD, attributes)
    except OSError as error:
        sys.exit(f"{error}: {log.value.decode()}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("attach", "detach"):
        sys.exit(__doc__)
    CGROUP = os.open(sys.argv[2], os.O_RDONLY)
    if sys.argv[1] == "detach":
        bpf(PROG_DETACH, struct.pack("<III", CGROUP, 0, SOCK_OPS_ATTACH))
    else:
        SOCKS = bpf(MAP_CREATE, struct.pack("<IIII", SOCKMAP, 4, 4, 1))
        bpf(PROG_ATTACH, struct.pack("<III", CGROUP, load(program(SOCKS)), SOCK_OPS_ATTACH))
