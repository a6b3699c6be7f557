# SPDX-License-Identifier: GPL-2.0
"""A program's file of experiments, read and checked: what each experiment of apps/ writes.

{"name", "title", "experiments": [{"title", "what", "paper", "xlabel", "ylabel", "logx",
 "series": [{"name", "points": [[x, y], ...]}, ...], "table": [[header, ...], [row, ...], ...], "verdict"}, ...]}

`paper` may be empty, where no number or shape of it is known; so may series or table.
"""
import json
import math
import os

TEXTS = ("title", "what", "paper", "xlabel", "ylabel", "verdict")
MAY_BE_EMPTY = ("paper", "xlabel", "ylabel", "verdict")


class Wrong(Exception):
    """What is wrong in a file, with its name and the place in it."""


def need(condition, place, what):
    if not condition:
        raise Wrong(f"{place} {what}")


def number(value):
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a figure
        return False


def check_text(place, owner, key):
    need(isinstance(owner.get(key), str), place, f"has no text '{key}'")
    need(owner[key] or key in MAY_BE_EMPTY, place, f"has an empty '{key}'")


def check_series(place, series):
    need(isinstance(series, list), place, "has no list 'series'")
    for one in series:
        need(isinstance(one, dict) and isinstance(one.get("name"), str), place, "has a series without a name")
        points = one.get("points")
        need(isinstance(points, list) and points, place, f"has no points in the series '{one['name']}'")
        for point in points:
            need(isinstance(point, list) and len(point) == 2 and all(map(number, point)), place,
                 f"has a point of the series '{one['name']}' that is no pair of numbers: {point}")


def check_table(place, table):
    need(isinstance(table, list) and all(isinstance(row, list) for row in table), place, "has no list of rows 'table'")
    for row in table:
        need(row and len(row) == len(table[0]), place, f"has a row of {len(row)} columns in a table of {len(table[0])}: {row}")
        need(all(isinstance(cell, str) or number(cell) for cell in row), place,
             f"has a cell that is neither text nor number in the row {row}")


def check(file, record):
    """Throws Wrong unless the record is as this module says."""
    place = f"{file}: the file"
    need(isinstance(record, dict), place, "holds no object")
    for key in ("name", "title"):
        check_text(place, record, key)
    experiments = record.get("experiments")
    need(isinstance(experiments, list) and experiments, place, "has no experiments")
    for count, experiment in enumerate(experiments, 1):
        place = f"{file}: experiment {count}"
        need(isinstance(experiment, dict), place, "is no object")
        for key in TEXTS:
            check_text(place, experiment, key)
        need(isinstance(experiment.get("logx"), bool), place, "has no 'logx' that is true or false")
        check_series(place, experiment.get("series"))
        check_table(place, experiment.get("table"))
        need(experiment["series"] or experiment["table"], place, "has neither series nor table")
        for one in experiment["series"] if experiment["logx"] else ():
            need(all(point[0] > 0 for point in one["points"]), place,
                 f"has x values in the series '{one['name']}' that no logarithmic axis has")


def make_folder(folder):
    """Makes a folder where there is none. Throws Wrong."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Wrong(f"the folder {folder} can't be made: {error.strerror}; name another") from error


def replace(file, text):
    """Writes a file whole, or leaves the one that is there. Throws OSError."""
    whole = file.with_name(f"{file.name}.partial-{os.getpid()}")
    try:
        whole.write_text(text, encoding="utf-8")
        whole.replace(file)
    finally:
        whole.unlink(missing_ok=True)


def read(path):
    """The record in a file. Throws Wrong."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}; run the experiment first") from error
    except (ValueError, RecursionError) as error:
        raise Wrong(f"{path}: is no JSON: {error}; run the experiment again") from error
    check(path, record)
    return record
