# SPDX-License-Identifier: GPL-2.0
"""Loads programs as modules, for what they have in common. They have no .py, since people run them by name, so import finds none."""
import importlib.machinery
import importlib.util


def program(path):
    """The program there, as a module; its main() does not run."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module
