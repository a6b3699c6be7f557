# SPDX-License-Identifier: GPL-2.0
"""`weft set`: gives a setting a value, or says why it cannot have it."""

import errno

from weftlib import devices, settings
from weftlib.host import Failed
from weftlib.output import say


def add_parsers(commands):
    parser = commands.add_parser("set", help="give a setting of a device a value, for new connections")
    parser.add_argument("device")
    parser.add_argument("setting")
    parser.add_argument("value", nargs="+", help="several words are joined by spaces; 'default' is the default value")
    parser.set_defaults(run=run_set)


def choose(values, name, words):
    """The text to be written. Raises Failed if the setting does not take it."""
    value = " ".join(words)
    if name not in settings.SETTINGS and name in values:
        return value  # newer than this tool: the kernel judges it alone
    try:
        setting = settings.find(name)
        value = setting.default if value == "default" else value
        setting.check(value)
    except ValueError as error:
        raise Failed(str(error)) from None
    if name not in values:
        raise Failed(f"the module that is loaded has no setting '{name}': it is older than this tool (weft doctor)")
    return value


def why(error, path, value):
    if error.errno == errno.EACCES:
        return "only root may change it (sudo weft set)"
    if error.errno == errno.EINVAL and path.endswith("/transport"):
        return f"the kernel cannot load weft_{value}; modprobe weft_{value} says why"
    if error.errno == errno.EINVAL:
        return "the module does not take this value; it may be older than this tool (weft doctor)"
    return f"{path}: {error.strerror}"


def run_set(host, arguments):
    name, device = arguments.setting, arguments.device
    (found,) = devices.find(host, device)
    value = choose(found.settings, name, arguments.value)
    path = devices.file_of(device, name)
    try:
        host.write(path, value)
    except OSError as error:
        raise Failed(f"{name} of {device} stays as it was: {why(error, path, value)}") from None
    shown = " ".join((host.read(path) or "").split())
    say(f"{device}: {name} is '{shown}' for new connections, until the device or the module goes")
    if name == "transport" and shown == "sctp" and not sctp_is_here(host):
        say("but the kernel's sctp is not loaded: modprobe sctp, at both ends")
    return 0


def sctp_is_here(host):
    return bool(host.names("/sys/module/sctp") or host.names("/proc/net/sctp"))
