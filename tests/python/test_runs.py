# SPDX-License-Identifier: Apache-2.0
"""Runs in Python: kept, shown, compared."""
import ctypes
import json
import os
import pathlib
import pickle
import subprocess
import sys

import numpy
import pytest

import gpubench


@pytest.fixture(scope="module")
def run(quick):
    @gpubench.benchmark(n=[1024, 65536])
    def add(state, n):
        a, b = numpy.ones(n), numpy.ones(n)
        state.reads(a, b)
        state.writes(b)
        state.flops("fp64", n)
        state.measure(lambda: numpy.add(a, b, out=b))
    return gpubench.run(add, **quick)


def test_saved_and_loaded_it_is_the_same(run, tmp_path):
    run.save(tmp_path / "run.json")
    again = gpubench.load(tmp_path / "run.json")
    assert again.data == run.data and [p.name for p in again] == ["add/n:1024", "add/n:65536"]
    assert gpubench.Run.from_dict(run.data).data == run.data
    with pytest.raises(gpubench.UsageError):
        run.save(tmp_path / "run.html")
    assert pickle.loads(pickle.dumps(run)).data == run.data and pickle.loads(pickle.dumps(run[0])).name == run[0].name


def test_a_file_is_loaded_by_load():
    with pytest.raises(TypeError, match="Run.load"):
        gpubench.Run("run.json")


def test_it_has_points_and_their_names(run):
    assert run[0] in run and run[0].name in run and "no-such" not in run


def test_no_folder_is_made_silently(run, tmp_path):
    for write in (run.save, run.report):
        with pytest.raises(gpubench.WriteError, match="there is no folder .*mispelt"):
            write(tmp_path / "mispelt" / "run.json")
    assert not (tmp_path / "mispelt").exists()


def test_the_command_line_reads_it(run, tmp_path):
    run.save(tmp_path / "run.json")
    done = gpubench.program("report", str(tmp_path / "run.json"))
    assert "add/n:65536" in done.stdout
    with pytest.raises(gpubench.Error, match="no-such"):
        gpubench.program("report", "no-such.json")


@pytest.mark.parametrize("extension", ["html", "csv", "md", "gbench.json", "nvbench.json", "prom", "junit.xml"])
def test_every_report_is_written(run, tmp_path, extension):
    file = tmp_path / f"run.{extension}"
    run.report(file)
    assert "add" in file.read_text()


def test_a_report_of_no_known_kind_is_refused(run, tmp_path):
    with pytest.raises(gpubench.Error):
        run.report(tmp_path / "run.docx")
    with pytest.raises(gpubench.WriteError):
        run.report("/proc/no/run.html")


def test_charts_are_vega_lite(run, tmp_path):
    chart = run.chart("roofline")
    assert "vega-lite" in chart.spec["$schema"] and chart.spec.get("datasets")
    chart.save(tmp_path / "chart.json")
    assert json.loads((tmp_path / "chart.json").read_text()) == chart.spec
    with pytest.raises(gpubench.ChartError, match="roofline"):
        run.chart("no such chart")


def test_a_notebook_gets_all_it_can_show(run):
    bundle = run._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "application/vnd.vegalite.v6+json"}
    assert "add/n:1024" in bundle["text/plain"] and "<iframe srcdoc=" in bundle["text/html"]
    for each in (run.chart("time"), run.calibrations[0]):
        bundle = each._repr_mimebundle_()
        assert "vega-lite" in bundle["application/vnd.vegalite.v6+json"]["$schema"]
        assert "/v6" in bundle["application/vnd.vegalite.v6+json"]["$schema"], "as the type says"
    assert "dram" in bundle["text/html"] and "http" not in bundle["text/html"]
    chart = run.chart("time")
    assert "<iframe srcdoc=" in chart._repr_mimebundle_()["text/html"] and "add/n:1024" in chart.html()
    linked = '<script src="http'
    assert (linked in chart.html()) == (linked in run.html()), "where pages have Vega inside, charts have it too"
    try:
        assert chart.svg().startswith("<svg") and "image/svg+xml" in chart._repr_mimebundle_()
    except gpubench.ChartError as error:
        assert "vl-convert" in str(error) or "vl_convert" in str(error)


def test_to_pandas_has_a_row_a_point(run):
    pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert list(frame["n"]) == [1024, 65536] and (frame["seconds"] > 0).all()
    assert {"bandwidth", "regime", "confidence", "host_seconds"} <= set(frame.columns)


def test_comparison_says_same_of_itself(run, tmp_path):
    comparison = gpubench.compare(run, run)
    assert {each["name"] for each in comparison.points} == {"add/n:1024", "add/n:65536"}
    assert all(each["ratio"] == pytest.approx(1.0) for each in comparison.points)
    assert comparison.exit_code("regression") == 0
    run.save(tmp_path / "one.json")
    assert len(gpubench.compare([tmp_path / "one.json", run], tmp_path / "one.json").points) == 2
    for extension in ("json", "md", "csv"):
        comparison.report(tmp_path / f"changes.{extension}")
    with pytest.raises(gpubench.UsageError):
        comparison.exit_code("sometimes")
    with pytest.raises(gpubench.UsageError):
        gpubench.compare([], run)


def test_bad_files_are_refused_with_their_names(tmp_path):
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(gpubench.ReadError, match="broken.json"):
        gpubench.load(tmp_path / "broken.json")
    with pytest.raises(gpubench.ReadError):
        gpubench.Timeline(tmp_path / "none.json")
    for files in ((), (["a.json", "b.json"],)):
        with pytest.raises(TypeError, match=r"takes a trace.*Timeline\(\*files\) takes a list"):
            gpubench.Timeline(*files)


def test_calibrations_are_kept(tmp_path):
    calibration = gpubench.calibrate("cpu")
    assert calibration["launch"] > 0 and gpubench.calibration("cpu").ceilings == calibration.ceilings
    calibration.save(tmp_path / "cpu.json")
    assert gpubench.Calibration.load(tmp_path / "cpu.json").ceilings == calibration.ceilings
    assert "dram" in str(calibration)
    assert "launch" in calibration and "no-such" not in calibration and list(calibration) == list(calibration.ceilings)


def test_ceilings_are_those_of_as_many_threads_as_this_process_uses(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    threads, cores = gpubench.devices()[-1]["units"], len(os.sched_getaffinity(0))
    wanted = [1, 4 * cores]
    openmp = ctypes.CDLL("libgomp.so.1")
    asked = []

    def ran(words, env, **options):
        asked.append(env["OMP_NUM_THREADS"])
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(subprocess, "run", ran)
    try:
        for each in wanted:
            openmp.omp_set_num_threads(each)  # as torch.set_num_threads does
            with pytest.raises(gpubench.Error, match="none is stored"):
                gpubench.calibrate("cpu")
    finally:
        openmp.omp_set_num_threads(threads)
    assert asked == ["1", str(cores)], "as many as take turns reach no ceiling"


def test_devices_and_doctor():
    assert [each["id"] for each in gpubench.devices()][-1] == "cpu"
    assert gpubench.doctor()


def test_a_chrome_trace_is_a_timeline(tmp_path):
    events = [{"ph": "X", "name": "kernel", "cat": "kernel", "pid": 0, "tid": 7, "ts": 10.0, "dur": 5.0,
               "args": {"device": 0, "stream": 7}}]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    timeline = gpubench.Timeline(tmp_path / "trace.json")
    assert timeline.program
    assert "Time of the GPUs" in str(timeline) and "no kernel was recorded" not in str(timeline)
    assert timeline.findings == [each["text"] for each in timeline.table("summary")]
    timeline.write(tmp_path / "again.json")
    assert "kernel" in (tmp_path / "again.json").read_text()
    for other in ("again.json.gz", "again.html"):
        with pytest.raises(gpubench.WriteError, match="written as .perfetto-trace or .json$"):
            timeline.write(tmp_path / other)
    bundle = timeline._repr_mimebundle_()
    assert "<iframe srcdoc=" in bundle["text/html"] and "kernel" in bundle["text/plain"]


IMPORT = "import time; t = time.perf_counter(); import gpubench; print(time.perf_counter() - t); import sys; " \
         "print('torch' in sys.modules, 'numpy' in sys.modules)"


def test_the_import_brings_no_framework():
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1:] == ["False", "False"]


def test_the_console_script_is_the_program():
    done = subprocess.run([sys.executable, "-m", "gpubench", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"gpubench {gpubench.__version__}"


def test_the_extension_shows_its_entry_alone():
    import shutil
    import gpubench._core as core
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    lines = subprocess.run(["nm", "-D", "--defined-only", core.__file__], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in lines.splitlines() if line.split()[-2] in "TWVuDBR"}
    own = {name for name in names if "cuda" in name.lower() or "gpubench" in name}
    assert "PyInit__core" in names and not own, sorted(own)[:10]
