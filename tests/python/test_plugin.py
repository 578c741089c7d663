# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, in sessions of its own. Baselines are written with other times by hand; none is asserted."""
import importlib.metadata
import json
import pathlib
import subprocess
import sys

TESTS = """
import numpy, pytest
OPTIONS = dict(device="cpu", time_budget=0.01, drift_check=False, calibration=%r)

def test_add(gpubench):
    a = numpy.ones(5000)
    point = gpubench(lambda: numpy.add(a, 1), reads=a, writes=a, flops={"fp64": a.size}, **OPTIONS)
    assert point.work["bytes_read"] == 40000 and point.regime

@pytest.mark.parametrize("n", [8])
def test_case(gpubench, n):
    assert gpubench(lambda: None, **OPTIONS).name == "test_case[8]"
    assert gpubench(lambda: None, **OPTIONS).name == "test_case[8]-2"
"""
FAILING = """
def test_fails(gpubench):
    gpubench(lambda: 1 / 0, **OPTIONS)
def test_wrong(gpubench):
    gpubench(lambda: None, verify=lambda: (False, "not so"), **OPTIONS)
"""


def pytest_in(folder, quick, *options, more=""):
    (folder / "test_times.py").write_text(TESTS % str(quick["calibration"]) + more)
    installed = any(each.metadata["Name"] == "gpubench" for each in importlib.metadata.distributions())  # a wheel: pytest finds it
    plugin = [] if installed else ["-p", "gpubench.pytest_plugin"]
    return subprocess.run([sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *options],
                          capture_output=True, text=True, cwd=folder, check=False)


def test_points_are_in_a_table_and_in_files(tmp_path, quick):
    done = pytest_in(tmp_path, quick, "--gpubench-out=all.json", "--gpubench-out=all.docx")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "= gpubench =" in done.stdout and "test_case[8]-2" in done.stdout and ".docx" in done.stdout
    assert [p["measurement"]["name"] for p in json.loads((tmp_path / "all.json").read_text())["points"]] == [
        "test_add", "test_case[8]", "test_case[8]-2"]


def test_a_session_calibrates_once(tmp_path, quick):
    (tmp_path / "conftest.py").write_text(f"""
from gpubench import harness
plain = harness.run
def run(*chosen, **given):
    with open("given.txt", "a") as stream:
        print(given.get("device"), given.get("calibration"), file=stream)
    return plain(*chosen, **{{"calibration": {str(quick["calibration"])!r}, **given}})
harness.run = run
""")
    (tmp_path / "test_three.py").write_text("""
def test_three(gpubench):
    for device in ("cpu", "cpu", None):
        gpubench(lambda: None, device=device, time_budget=0.01, drift_check=False)
""")
    pytest_in(tmp_path, quick, "test_three.py")
    given = [line.split() for line in (tmp_path / "given.txt").read_text().splitlines()]
    assert given[0] == ["cpu", "None"] and given[1][0] == "cpu" and given[1][1].endswith("0.json") and given[2] == ["None", "None"]
    assert not pathlib.Path(given[1][1]).exists()


def test_what_fails_fails_its_test(tmp_path, quick):
    done = pytest_in(tmp_path, quick, more=FAILING)
    assert done.returncode == 1 and "2 failed, 2 passed" in done.stdout
    assert "ZeroDivisionError" in done.stdout and "not so" in done.stdout


def slowed(node):
    """The same run with all times a hundredth of what they were."""
    if isinstance(node, dict):
        return {key: [x / 100 for x in value] if key in ("samples_seconds", "median_ci95") else
                value / 100 if key in ("median", "minimum", "maximum", "mean", "lower_quartile", "upper_quartile", "mad")
                else slowed(value) for key, value in node.items()}
    return [slowed(each) for each in node] if isinstance(node, list) else node


def test_a_slower_point_fails_its_test(tmp_path, quick):
    assert pytest_in(tmp_path, quick, "--gpubench-update").returncode == 4, "there is no store to add to"
    done = pytest_in(tmp_path, quick, "--gpubench-store=store")
    assert done.returncode == 0 and "store has no baseline of test_add, test_case[8], test_case[8]-2" in done.stdout, done.stdout
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-update")
    assert done.returncode == 0 and "wrote store" in done.stdout, done.stdout
    entry = next(pathlib.Path(tmp_path / "store").rglob("*.json"))
    entry.write_text(json.dumps(slowed(json.loads(entry.read_text()))))
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-fail-on=inconclusive")
    told = "test_add is slower", "test_add is inconclusive"  # the second where others use the cores meanwhile
    assert done.returncode == 1 and any(text in done.stdout for text in told), done.stdout
    assert pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-fail-on=never").returncode == 0
