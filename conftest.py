"""What all tests share: patience, and the modules that doctests can visit without torch."""

import os
import signal
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

# How fast examples are made says how busy the machine is, not whether the code is right.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# What a test's own process prints is read as UTF-8, whatever this machine prints in.
os.environ.setdefault("PYTHONIOENCODING", "utf-8")
# Whatever starts in the background of a shell ignores Ctrl-C, and so would the tests' processes.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NEED_TORCH = [
    "src/dris/learn/trainers/networks/*.py",
    "src/dris/integrations/passes.py",
    "experiments/dris_torch.py",
    "experiments/networks/*.py",
    "experiments/kinds/food_cell.py",
    "experiments/kinds/pictures.py",
    "experiments/targets/gradients.py",
    "experiments/targets/online.py",
    "experiments/targets/schedules.py",
    "tests/counted_training.py",
    "tests/killed_target.py",
    "tests/ray_training.py",
]
# What needs an extra is visited by tests/integrations only, marked frameworks, doctests included.
collect_ignore_glob = [
    "src/dris/integrations/lightning.py",
    "src/dris/integrations/huggingface.py",
    "src/dris/review_app/app.py",
    "tests/small_lightning.py",
    "tests/ddp_lightning.py",
    "tests/small_text.py",
]
if not find_spec("torch"):
    collect_ignore_glob += NEED_TORCH

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item):
        """Skip what came to need torch on its way, in the test or in what was made for it."""
        from dris.learn.extras import MissingExtraError

        try:
            return (yield)
        except MissingExtraError as error:
            pytest.skip(str(error))

    pytest_runtest_setup = pytest_runtest_call
