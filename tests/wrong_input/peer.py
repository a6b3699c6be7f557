#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A TCP server that is no iWARP peer, for clients that must not hang on it."""

import argparse
import socket
import time

BEHAVIOURS = {
    "silent": "accept, and never say anything",
    "close": "accept, read the request, and close",
    "reset": "accept, read the request, and reset the connection",
    "http": "answer in another protocol",
    "garbage": "answer with bytes that mean nothing",
    "half": "send half of an MPA reply, and then nothing",
    "echo": "send every byte back: a request in answer to a request",
    "revision": "answer with a revision of MPA that does not exist",
    "long": "answer with a reply that announces more private data than MPA allows",
    "drip": "send an MPA reply a byte each second",
}


def reply(revision=1, length=0, flags=0):
    return b"MPA ID Rep Frame" + bytes([flags, revision]) + length.to_bytes(2, "big")


def serve(connection, behaviour):
    connection.settimeout(30)
    request = b"" if behaviour == "silent" else connection.recv(4096)
    if behaviour == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    answer = {
        "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
        "garbage": bytes(range(256)) * 4,
        "half": reply()[:10],
        "echo": request,
        "revision": reply(revision=9),
        "long": reply(length=60000) + b"x" * 60000,
    }.get(behaviour, b"")
    if behaviour == "drip":
        for byte in reply() + b"\0" * 100:
            connection.sendall(bytes([byte]))
            time.sleep(1)
    connection.sendall(answer)
    if behaviour in ("silent", "half"):
        # Until the other side has had enough.
        while connection.recv(4096):
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("behaviour", choices=BEHAVIOURS, help="; ".join(
        f"{name}: {text}" for name, text in BEHAVIOURS.items()))
    arguments = parser.parse_args()
    family = socket.AF_INET6 if ":" in arguments.address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((arguments.address, arguments.port))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    serve(connection, arguments.behaviour)
                except OSError:
                    pass


if __name__ == "__main__":
    main()
