# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, in sessions of its own. Baselines are written with other times by hand; none is asserted."""
import importlib.metadata
import json
import pathlib
import re
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
    assert done.returncode == 4 and "all.docx: cannot be written" in done.stderr, done.stdout + done.stderr
    done = pytest_in(tmp_path, quick, "--gpubench-out=all.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "= gpubench =" in done.stdout and "test_case[8]-2" in done.stdout
    assert [p["measurement"]["name"] for p in json.loads((tmp_path / "all.json").read_text())["points"]] == [
        "test_add", "test_case[8]", "test_case[8]-2"]


def test_a_session_whose_files_cannot_be_written_fails(tmp_path, quick):
    (tmp_path / "taken").write_text("")
    done = pytest_in(tmp_path, quick, "--gpubench-store=taken", "--gpubench-update", "--gpubench-out=taken/all.json", "--gpubench-out=all.json", "-k", "test_add")
    assert done.returncode == 4, done.stdout
    assert "Traceback" not in done.stdout + done.stderr and done.stdout.count("taken") >= 2
    assert (tmp_path / "all.json").exists()


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


def test_a_session_tells_its_drift_once(tmp_path, quick):
    (tmp_path / "conftest.py").write_text("""
from gpubench import harness
plain = harness.run
def run(*chosen, **given):
    with open("given.txt", "a") as stream:
        print(given.get("drift_check"), file=stream)
    return plain(*chosen, **{**given, "drift_check": False})
harness.run = run
""")
    (tmp_path / "test_two.py").write_text("""
def test_two(gpubench):
    for _ in range(2):
        gpubench(lambda: None, device="cpu", time_budget=0.01)
""")
    pytest_in(tmp_path, quick, "test_two.py")
    assert (tmp_path / "given.txt").read_text().split() == ["None", "False"]


SAME_NAMES = """
class TestFirst:
    def test_same(self, gpubench):
        assert gpubench(lambda: None, **OPTIONS).name == "TestFirst.test_same"
def test_taken(gpubench):
    gpubench(lambda: None, name="test_add", **OPTIONS)
"""


def test_points_of_two_tests_have_two_names(tmp_path, quick):
    done = pytest_in(tmp_path, quick, "--gpubench-store=kept", "--gpubench-update", more=SAME_NAMES)
    assert done.returncode == 1 and "1 failed, 3 passed" in done.stdout, done.stdout
    assert "test_times.py::test_add has a point test_add, too" in done.stdout
    assert "4 passed" in pytest_in(tmp_path, quick, more=SAME_NAMES).stdout


def test_misuse_is_told_in_a_sentence(tmp_path, quick):
    done = pytest_in(tmp_path, quick, "-k", "misused", more="""
def test_misused_arguments(gpubench):
    gpubench(max, 1, 2, **OPTIONS)
def test_misused_flops(gpubench):
    gpubench(lambda: None, flops=100, **OPTIONS)
def test_misused_device(gpubench):
    gpubench(lambda: None, **{**OPTIONS, "device": "cuda:99"})
""")
    assert "gpubench() times a callable that takes nothing: gpubench(lambda: f(x))" in done.stdout
    assert "flops takes operations by pipe, flops={'fp32': n}, not 100" in done.stdout
    assert "\nThere is no device 'cuda:99' here" in done.stdout


def test_files_are_not_written_by_sessions_of_several_workers(tmp_path, quick):
    (tmp_path / "conftest.py").write_text("def pytest_addoption(parser): parser.addoption('--workers', dest='numprocesses', type=int)")  # as pytest-xdist
    done = pytest_in(tmp_path, quick, "--workers=2", "--gpubench-out=all.json")
    assert done.returncode == 4 and "give -n0 with --gpubench-update and --gpubench-out" in done.stderr
    assert pytest_in(tmp_path, quick, "--workers=0", "--gpubench-out=all.json").returncode == 0


def test_what_fails_fails_its_test(tmp_path, quick):
    done = pytest_in(tmp_path, quick, more=FAILING)
    assert done.returncode == 1 and "2 failed, 2 passed" in done.stdout
    assert "ZeroDivisionError" in done.stdout and "not so" in done.stdout


def scaled(node, factor, steady=False):
    """The same run with all times so many times what they were, and nothing of the load meanwhile; where it is to be steady, all samples alike."""
    if isinstance(node, list):
        return [scaled(each, factor, steady) for each in node]
    if not isinstance(node, dict):
        return node
    if "median_ci95" in node:
        middle = node["median"]
        return {key: value if key == "count" else 0.0 if steady and key == "mad" else
                [factor * (middle if steady else each) for each in value] if key == "median_ci95" else
                factor * (middle if steady else value) for key, value in node.items()}
    node = {key: scaled(value, factor, steady) for key, value in node.items() if key != "conditions"}
    if "samples_seconds" in node:
        node["samples_seconds"] = [node["seconds"]["median"] if steady else factor * each for each in node["samples_seconds"]]
    return node


def test_a_slower_point_fails_its_test(tmp_path, quick):
    assert pytest_in(tmp_path, quick, "--gpubench-update").returncode == 4, "there is no store to add to"
    done = pytest_in(tmp_path, quick, "--gpubench-store=store")
    assert done.returncode == 0 and "store has no baseline of test_add, test_case[8], test_case[8]-2" in done.stdout, done.stdout
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-update")
    assert done.returncode == 0 and "wrote store" in done.stdout, done.stdout
    entry = next(pathlib.Path(tmp_path / "store").rglob("*.json"))
    entry.write_text(json.dumps(scaled(json.loads(entry.read_text()), 0.01)))
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-fail-on=inconclusive")
    told = "test_add is slower", "test_add is inconclusive"  # the second where others use the cores meanwhile
    assert done.returncode == 1 and any(text in done.stdout for text in told), done.stdout
    assert pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-fail-on=never").returncode == 0


def with_kernel(run, registers, blocks, seconds):
    """The run with a record of one kernel, as a GPU's would have."""
    launch = {"name": "gemm_tile(float*)", "grid": [264, 1, 1], "block": [256, 1, 1], "registers": registers, "static_shared_bytes": 0,
              "dynamic_shared_bytes": 0, "launches": 1}
    run["points"][0]["measurement"]["kernel_groups"] = [
        {**launch, "seconds": {"value": seconds, "ci95": [seconds, seconds]}, "blocks_per_multiprocessor": blocks}]


def test_stored_runs_teach_the_noise_and_every_ratio_is_told(tmp_path, quick):
    """A slow-down of 1.65, beside six stored runs that differ by a few per cent."""
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-update", "--gpubench-out=run.json", "-k", "test_add")
    assert done.returncode == 0, done.stdout
    slow = scaled(json.loads((tmp_path / "run.json").read_text()), 1.65, True)
    slow["context"]["created_utc"] = "2026-02-01T00:00:00Z"
    with_kernel(slow, registers=168, blocks=1, seconds=16.5e-6)
    (tmp_path / "slow.json").write_text(json.dumps(slow))
    first = json.loads(next((tmp_path / "store").rglob("*.json")).read_text())
    with_kernel(first["runs"][0], registers=96, blocks=2, seconds=10e-6)
    folder = next((tmp_path / "store").rglob("*.json")).parent
    next(folder.glob("*.json")).unlink()
    for i, factor in enumerate((1.0, 1.03, 0.98, 1.01, 0.97, 1.02)):
        entry = scaled(first, factor, True)
        entry["runs"][0]["context"]["created_utc"] = f"2026-01-0{i + 1}T00:00:00Z"
        path = folder / f"{i + 1:06}.json"
        path.write_text(json.dumps({**entry, "number": i + 1}))
    (tmp_path / "conftest.py").write_text("""
from gpubench import harness, load
harness.run = lambda *chosen, **given: load("slow.json")
""")
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "-k", "test_add")
    assert done.returncode == 1 and "test_add is slower: 1.6" in done.stdout, done.stdout
    assert re.search(r"test_add: slower, 1\.6\d+ x the baseline's time \(1\.\d+ to \d\.\d+\); runs differ by [23]\.\d%, as the stored runs show", done.stdout)
    assert "why: gemm_tile: 96 -> 168 registers a thread, 2 -> 1 blocks a multiprocessor" in done.stdout, done.stdout
    for old in sorted(folder.glob("*.json"))[1:]:
        old.unlink()
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "-k", "test_add")
    assert done.returncode == 0 and re.search(r"test_add: inconclusive, 1\.65\d* x .*as assumed of a single", done.stdout), done.stdout
    done = pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-threshold=10%", "-k", "test_add")
    assert done.returncode == 1 and "test_add is over the threshold of 10%: 1.65" in done.stdout, done.stdout
    assert pytest_in(tmp_path, quick, "--gpubench-store=store", "--gpubench-threshold=70%", "-k", "test_add").returncode == 0
    for wrong in ("nan", "-5%", "ten"):
        done = pytest_in(tmp_path, quick, "--gpubench-store=store", f"--gpubench-threshold={wrong}")
        assert done.returncode == 4 and f"takes a percentage, as 10%, not '{wrong}'" in done.stderr, done.stderr
