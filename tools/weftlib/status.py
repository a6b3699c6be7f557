# SPDX-License-Identifier: GPL-2.0
"""`weft status` and `weft show`: devices, connections and settings, as text or JSON."""

from weftlib import connections, devices, settings, slow
from weftlib.host import Failed
from weftlib.output import print_json, say, table

# More connections than these are counted, not listed; --all lists them.
LISTED = 32


def add_parsers(commands):
    status = commands.add_parser("status", help="devices, connections, and what runs slow and why")
    status.add_argument("device", nargs="?", help="this device alone")
    status.add_argument("--all", action="store_true", help=f"every connection, not the first {LISTED} of each device")
    status.add_argument("--json", action="store_true", help="as JSON, which weft(8) describes")
    status.set_defaults(run=run_status)
    show = commands.add_parser("show", help="the settings of a device: value, default and meaning")
    show.add_argument("device")
    show.add_argument("setting", nargs="?", help="this one's value alone")
    show.add_argument("--json", action="store_true", help="as JSON, which weft(8) describes")
    show.set_defaults(run=run_show)


class Seen:
    """A device with its connections, and the reasons why something may be slow."""

    def __init__(self, host, device):
        self.device = device
        self.connections = connections.find(host, device.name)
        self.listeners = connections.listeners(host, device.name)
        self.slow = slow.of_device(device)
        self.reasons = [slow.of_connection(device, connection) for connection in self.connections]

    def as_json(self):
        rows = zip(self.connections, self.reasons)
        return self.device.as_json() | {
            "listeners": self.listeners,
            "slow": self.slow,
            "connections": [connection.as_json() | {"slow": reasons} for connection, reasons in rows],
        }


def on_off(value):
    return "-" if value is None else "on" if value else "off"


def print_device(seen, everything):
    device = seen.device
    place = f"on {device.netdev}" if device.netdev else "on a card of another network namespace"
    mtu = f", MTU {device.mtu}" if device.mtu else ""
    say(f"{device.name} {place}: {device.state}, {device.rate}{mtu}, module {device.version}")
    for name, value in device.changed().items():
        default = settings.SETTINGS[name].default if name in settings.SETTINGS else "unknown"
        say(f"  {name} is '{value}' (default '{default}')")
    counted = device.counters
    if not counted:
        say(f"  its counters can't be read: rdma statistic show link {device.name}/1 has none")
    else:
        say(f"  sent {counted.get('tx_bytes', 0)} bytes, received {counted.get('rx_bytes', 0)}, since it was added")
    for listener in seen.listeners:
        say(f"  listens on {listener}")
    for reason in seen.slow:
        say(f"  ! {reason}")
    print_connections(seen, everything)


def print_connections(seen, everything):
    shown = len(seen.connections) if everything else min(len(seen.connections), LISTED)
    rows = []
    for connection in seen.connections[:shown]:
        rows.append(
            (
                str(connection.queue_pair),
                connection.process,
                connection.state,
                connection.peer or "-",
                {None: "-", True: "Weft", False: "other"}[connection.weft_peer],
                on_off(connection.crc),
                connection.frames(),
                (connection.transport or "-") + (f" x{len(connection.paths)}" if connection.paths else ""),
            )
        )
    notes = [[f"! {reason}" for reason in reasons] for reasons in seen.reasons]
    for line in table(("QP", "PROCESS", "STATE", "PEER", "IS", "CRC", "FRAMES", "OVER"), rows, notes):
        say(f"  {line}")
    if shown < len(seen.connections):
        say(f"  and {len(seen.connections) - shown} more connections (--all)")


def run_status(host, arguments):
    found = [Seen(host, device) for device in devices.find(host, arguments.device)]
    if arguments.json:
        print_json({"devices": [seen.as_json() for seen in found]})
        return 0
    if not found:
        say("there is no Weft device; rdma link add weft0 type weft netdev eth0, and weft doctor if that fails")
    for number, seen in enumerate(found):
        if number:
            say("")
        print_device(seen, arguments.all)
    return 0


def run_show(host, arguments):
    (device,) = devices.find(host, arguments.device)
    values = device.settings
    if arguments.setting is not None:
        if arguments.setting not in values:
            raise Failed(f"{arguments.device} has no setting '{arguments.setting}'; it has: {', '.join(values)}")
        values = {arguments.setting: values[arguments.setting]}
    if arguments.json:
        print_json({"device": arguments.device, "settings": [describe(name, value) for name, value in values.items()]})
    elif arguments.setting is not None:
        say(values[arguments.setting])
    else:
        rows = [(name, value or "-", *explained(name)) for name, value in values.items()]
        for line in table(("SETTING", "VALUE", "DEFAULT", "TAKES", "MEANING"), rows):
            say(line)
    return 0


def explained(name):
    setting = settings.SETTINGS.get(name)
    return (setting.default or "-", setting.takes, setting.meaning) if setting else ("?", "?", "newer than this tool")


def describe(name, value):
    setting = settings.SETTINGS.get(name)
    return {
        "name": name,
        "value": value,
        "default": setting.default if setting else None,
        "takes": setting.takes if setting else None,
        "meaning": setting.meaning if setting else None,
    }
