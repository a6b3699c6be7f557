# SPDX-License-Identifier: GPL-2.0
"""Enough of JSON Schema to hold `weft --json` to tools/schema.json. Stricter in one thing: a property that the schema does not
name is a fault, since then the schema does not describe it."""
import json
import pathlib

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "tools/schema.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def faults(value, rule, where="$"):
    """What in the value the rule does not allow, a line each."""
    if "$ref" in rule:
        return faults(value, SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]], where)
    if "anyOf" in rule:
        tried = [faults(value, one, where) for one in rule["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    if "enum" in rule:
        return [] if value in rule["enum"] else [f"{where}: {value!r} is none of {rule['enum']}"]
    names = rule.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        return [f"{where}: {value!r} is no {' or '.join(names)}"]
    found = []
    if isinstance(value, dict) and "properties" in rule:
        found += [f"{where}: {name} is missing" for name in rule.get("required", ()) if name not in value]
        found += [f"{where}: {name} is not described" for name in value if name not in rule["properties"]]
        for name, inner in rule["properties"].items():
            if name in value:
                found += faults(value[name], inner, f"{where}.{name}")
    if isinstance(value, list):
        for number, element in enumerate(value):
            found += faults(element, rule.get("items", {}), f"{where}[{number}]")
    return found
