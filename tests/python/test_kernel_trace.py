# SPDX-License-Identifier: Apache-2.0
"""Events inside Triton's kernels. What a kernel would write is put into the buffer by hand; on a GPU a kernel does."""
import json

import pytest

torch = pytest.importorskip("torch")
from gpubench.kernel_trace import END, HEADER_WORDS, INSTANT, START, SmProfiler  # noqa: E402


def put(profiler, place, *records):
    """(time, sm, event, kind) of a group."""
    buffer = profiler.get_buffer()
    groups = profiler.num_blocks * profiler.num_groups
    at = HEADER_WORDS + groups + place * profiler.max_records * 2
    for index, (time, sm, event, kind) in enumerate(records[:profiler.max_records]):
        buffer[at + 2 * index] = time
        buffer[at + 2 * index + 1] = sm * 256 + event * 4 + kind
    buffer[HEADER_WORDS + place] = len(records)


@pytest.fixture
def profiler():
    made = SmProfiler(num_blocks=2, num_groups=2, max_events_per_group=3, device="cpu")
    made.register_event(0, "compute")
    made.register_event(torch.tensor(5), "sync")
    return made


def test_starts_and_ends_are_ranges(profiler, tmp_path):
    put(profiler, 0, (100, 7, 0, START), (150, 7, 0, START), (180, 7, 0, END), (300, 7, 0, END), (310, 7, 5, INSTANT))
    put(profiler, 3, (200, 131, 0, START), (260, 131, 5, INSTANT))
    events = profiler.events()
    assert [tuple(each) for each in events] == [
        (0, 0, 7, 0, START, 100, 300, False), (0, 0, 7, 0, START, 150, 180, False), (0, 0, 7, 5, INSTANT, 310, 310, False),
        (1, 1, 131, 0, START, 200, 260, True), (1, 1, 131, 5, INSTANT, 260, 260, False)]
    profiler.export(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {each["name"] for each in trace} == {"process_name", "thread_name", "compute", "sync"}
    assert [each["dur"] for each in trace if each["ph"] == "X"] == [0.2, 0.03, 0.06]
    profiler.export(tmp_path / "trace.perfetto-trace")
    assert (tmp_path / "trace.perfetto-trace").stat().st_size > 50


def test_statistics_and_imbalance(profiler, capsys):
    put(profiler, 0, (0, 1, 0, START), (30, 1, 0, END))
    put(profiler, 1, (0, 2, 0, START), (10, 2, 0, END))
    row = profiler.statistics()[0]
    assert (row["count"], row["total_ns"], row["mean_ns"], row["max_ns"], row["sm_imbalance"]) == (2, 40, 20, 30, 1.5)
    profiler.print_stats()
    assert "compute" in capsys.readouterr().out


def test_what_does_not_fit_is_counted(profiler, capsys):
    put(profiler, 2, *[(10 * i, 0, 0, i % 2) for i in range(9)])
    assert profiler.dropped == 3 and len(profiler.events()) == 3
    profiler.print_stats()
    assert "3 records did not fit" in capsys.readouterr().out
    profiler.init_buffer()
    assert profiler.dropped == 0 and len(profiler.events()) == 0


def test_off_takes_no_memory_and_records_nothing(tmp_path, capsys):
    off = SmProfiler(1000, 4, 1000, enabled=False, device="cpu")
    assert off.bytes == 8 * HEADER_WORDS and len(off.events()) == 0 and off.dropped == 0
    off.print_stats()
    assert "the profiler is off" in capsys.readouterr().out


def test_nonsense_is_refused(profiler):
    with pytest.raises(ValueError):
        SmProfiler(0, 1, 1)
    with pytest.raises(ValueError, match="0 to 31"):
        profiler.register_event(32, "x")


@pytest.mark.gpu
def test_a_kernel_records_its_programs():
    pytest.importorskip("triton")
    from triton_kernels import traced_add
    profiler = SmProfiler(num_blocks=64, num_groups=1, max_events_per_group=10)
    profiler.register_event(0, "compute")
    profiler.register_event(2, "sync")
    x = torch.ones(64 * 1024, device="cuda")
    out = traced_add(x, profiler.get_buffer())
    torch.cuda.synchronize()
    assert (out == 2).all()
    events = profiler.events()
    assert len(events) == 128 and profiler.dropped == 0 and not events["open"].any()
    assert set(events["block"]) == set(range(64)) and len(set(events["sm"])) > 8
    ranges = events[events["kind"] == START]
    assert (ranges["end_ns"] >= ranges["start_ns"]).all()
    traced_add(x, SmProfiler(64, 1, 1, enabled=False).get_buffer())
    traced_add(x, SmProfiler(8, 1, 1).get_buffer())  # programs beyond the buffer write nothing
    torch.cuda.synchronize()
