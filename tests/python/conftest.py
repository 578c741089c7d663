# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package. None asserts a time."""
import os
import pathlib

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """A cache of calibrations of its own, unless the caller has one to share."""
    if "GPUBENCH_TEST_CACHE" in os.environ:
        os.environ["XDG_CACHE_HOME"] = os.environ["GPUBENCH_TEST_CACHE"]
    else:
        os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


CALIBRATION = pathlib.Path(__file__).resolve().parent / "cpu-calibration.json"


@pytest.fixture(scope="session")
def quick():
    """Options of a run that takes little time: its ceilings are made up."""
    return {"device": "cpu", "time_budget": 0.01, "drift_check": False, "progress": False, "calibration": CALIBRATION}


def has_gpu():
    import gpubench
    return any(device["kind"] == "cuda" for device in gpubench.devices())


def pytest_collection_modifyitems(config, items):
    """Tests marked gpu need one."""
    if any(item.get_closest_marker("gpu") for item in items) and not has_gpu():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="no GPU"))


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU")
