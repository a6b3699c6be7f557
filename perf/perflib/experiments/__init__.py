# SPDX-License-Identifier: GPL-2.0
"""The experiments, a file each, whose words are its help; those that only run one of the driver's are together in driver."""
import functools
import importlib
import pkgutil

from perflib.experiment import Experiment


@functools.cache
def every():
    """All of them by name, in order."""
    found = []
    for name in (module.name for module in pkgutil.iter_modules(__path__)):
        module = importlib.import_module(f"{__name__}.{name}")
        own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
        here = getattr(module, "EXPERIMENTS", None) or [each() for each in own if issubclass(each, Experiment) and each.name]
        for experiment in here:
            experiment.help = module.__doc__ if experiment.help is None else experiment.help
        found += here
    return {experiment.name: experiment for experiment in sorted(found, key=lambda experiment: experiment.place)}
