# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml and tests/python/wheel/check_wheel.py promise of a wheel. GPUBENCH_WHEEL names one to be checked as a whole."""
import importlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

import check_wheel
import gpubench

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def project():
    tomllib = pytest.importorskip("tomllib")
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_wheel_has_this_version_and_these_commands(project):
    found = project["tool"]["scikit-build"]["metadata"]["version"]
    text = (ROOT / found["input"]).read_text(encoding="utf-8")
    assert re.search(found["regex"], text)["value"] == gpubench.__version__
    for target in project["project"]["scripts"].values():
        module, function = target.split(":")
        assert callable(getattr(importlib.import_module(module), function))
    assert importlib.util.find_spec(project["project"]["entry-points"]["pytest11"]["gpubench"])


def test_a_wheel_that_lacks_something_is_told(tmp_path):
    wheel = tmp_path / "gpubench-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gpubench/__init__.py", "")
    with zipfile.ZipFile(wheel) as archive:
        missing = check_wheel.contents(archive.namelist())
    assert {"gpubench/bin/gpubench", "gpubench/_core.*.so", "entry_points.txt", "gpubench/py.typed"} <= set(missing)
    done = subprocess.run([sys.executable, check_wheel.__file__, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "is no wheel" in done.stderr


def test_one_wheel_is_for_every_python(project):
    assert project["tool"]["scikit-build"]["wheel"]["py-api"] == "cp310"
    assert project["project"]["requires-python"] == ">=3.10"
    # Of 3.10 and 3.11 the stable ABI lacks what nanobind needs; its own package has that.
    for requirements in (project["build-system"]["requires"], project["project"]["dependencies"]):
        assert any(each.startswith("nanobind-backend") for each in requirements)
    assert check_wheel.for_all_pythons("gpubench-0.2.0-cp310-abi3-linux_x86_64.whl")
    assert not check_wheel.for_all_pythons("gpubench-0.2.0-cp311-cp311-linux_x86_64.whl")


def test_the_headers_that_it_needs_are_in_the_source():
    for name in check_wheel.NEEDED:
        if name.startswith("gpubench/include/") and not name.endswith("version.h"):
            assert (ROOT / name.removeprefix("gpubench/")).exists(), name
        elif name.startswith("gpubench/") and name.endswith((".py", ".typed")):  # stubs come of the build
            assert (ROOT / "python" / name).exists(), name


def test_the_wheel_named(project):
    if not os.environ.get("GPUBENCH_WHEEL"):
        pytest.skip("GPUBENCH_WHEEL names no wheel")
    done = subprocess.run([sys.executable, check_wheel.__file__, os.environ["GPUBENCH_WHEEL"],
                           "--import-ms=10000"], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
