# SPDX-License-Identifier: Apache-2.0
"""What a type checker says of a user's file. Skipped without mypy."""
import os
import pathlib
import subprocess
import sys

import pytest

import gpubench

FILE = """
import gpubench
from gpubench import profile

@gpubench.benchmark(n=gpubench.sizes(2**10, 2**12))
def add(state: gpubench.State, n: int) -> None:
    state.reads(n)
    state.measure(lambda: None)

@gpubench.benchmark
def plain(state: gpubench.State) -> None:
    state.measure(lambda: None)

@profile.profile_function
def called(x: int) -> int:
    return x

@profile.profile_function("other name")
def named(x: int) -> int:
    return x

run = gpubench.run(add, plain, device="cpu")
point: gpubench.Point = run["add/n:1024"]
points: list[gpubench.Point] = run[1:]
seconds: float | None = points[0].seconds()
version: str = gpubench.__version__
made: list[gpubench.Benchmark] = [add, plain]
number: int = called(1) + named(2)
module = gpubench.regime.GPUProfiler
"""
WRONG = """
import gpubench
gpubench.benchmrak
wrong: str = gpubench.run()[0]
if gpubench.run()[0].regime == "memroy":
    print("never")
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Lines by file: mypy takes its time, so both at once."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("types")
    for name, text in (("user.py", FILE), ("wrong.py", WRONG)):
        (folder / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "MYPYPATH": str(pathlib.Path(gpubench.__file__).parents[1])}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir=/dev/null", "user.py", "wrong.py"], cwd=folder,
                          env=environment, capture_output=True, text=True, check=False)
    assert "wrong.py" in done.stdout, done.stdout + done.stderr
    return lambda name: [line for line in done.stdout.splitlines() if line.startswith(name)]


def test_a_strict_file_has_no_errors(said):
    assert said("user.py") == []


def test_misspelt_names_and_wrong_types_are_found(said):
    lines = said("wrong.py")
    assert len(lines) == 3 and "benchmrak" in lines[0] and "Point" in lines[1] and "memroy" in lines[2]


def test_a_misspelt_name_is_told_what_it_may_be():
    with pytest.raises(AttributeError, match="benchmrak.*did you mean benchmark"):
        gpubench.benchmrak
