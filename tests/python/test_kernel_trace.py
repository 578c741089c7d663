# SPDX-License-Identifier: Apache-2.0
"""Events inside Triton's kernels. What a kernel would write is put into the buffer by hand; on a GPU kernels do."""
import json
import pathlib
import shutil
import struct
import subprocess

import pytest

torch = pytest.importorskip("torch")
import gpubench  # noqa: E402
from gpubench.kernel_trace import INSTANT, START, SmProfiler  # noqa: E402

BEGIN, END, MOMENT = 1, 2, 4  # kinds of events in the buffer
TIMER = 1_790_857_026_000_000_000 // 32 * 32


def put(profiler, block, group, sm, *events):
    """(ns, kind, number) of a group, as a kernel writes them: a clock of 2 GHz."""
    buffer = profiler.get_buffer()
    memory = bytearray(buffer.numpy().tobytes())
    blocks, groups, slots = struct.unpack_from("<III", memory, 8)
    offset, = struct.unpack_from("<I", memory, 28)
    stride = (64 + 8 * slots + 63) // 64 * 64
    assert block < blocks and group < groups
    place = offset + (block * groups + group) * stride
    clock = lambda ns: 10**9 + 2 * ns
    timer = lambda ns: TIMER + ns // 32 * 32
    struct.pack_into("<4Q8I", memory, place, timer(events[0][0]), clock(events[0][0]), timer(events[-1][0]), clock(events[-1][0]),
                     block, 0, group | sm << 16, 9, len(events), blocks, 1, 0)
    for slot, (ns, kind, number) in enumerate(events[:slots]):
        struct.pack_into("<II", memory, place + 64 + 8 * slot, clock(ns) & 0xFFFFFFFF, kind | number << 4)
    buffer.copy_(torch.frombuffer(memory, dtype=torch.int64))


@pytest.fixture
def profiler():
    made = SmProfiler(num_blocks=2, num_groups=2, max_events_per_group=3, device="cpu")
    made.register_event(0, "compute")
    made.register_event(torch.tensor(5), "sync")
    return made


def test_starts_and_ends_are_ranges(profiler, tmp_path):
    put(profiler, 0, 0, 7, (0, BEGIN, 0), (32000, BEGIN, 0), (48000, END, 0), (64000, END, 0), (64032, MOMENT, 5))
    put(profiler, 1, 1, 131, (32000, BEGIN, 0), (96000, MOMENT, 5))
    events = profiler.events()
    assert [(int(e["block"]), int(e["group"]), int(e["sm"]), int(e["event"]), int(e["kind"]), bool(e["open"])) for e in events] == [
        (0, 0, 7, 0, START, False), (0, 0, 7, 0, START, False), (0, 0, 7, 5, INSTANT, False),
        (1, 1, 131, 0, START, True), (1, 1, 131, 5, INSTANT, False)]
    assert [int(e["end_ns"] - e["start_ns"]) for e in events] == pytest.approx([64000, 16000, 0, 64000, 0], abs=64)
    assert events["start_ns"][0] == pytest.approx(TIMER, abs=64)
    assert "without an end" in profiler.warnings[0]
    profiler.export(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"compute", "sync", "kernel", "process_name"} <= {each["name"] for each in trace}
    assert {each["args"]["name"] for each in trace if each["name"] == "thread_name"} >= {"block 0 warp 0", "block 1 warp 1"}
    profiler.export(tmp_path / "trace.perfetto-trace")
    assert (tmp_path / "trace.perfetto-trace").stat().st_size > 50


def test_statistics_and_imbalance(profiler, capsys):
    put(profiler, 0, 0, 1, (0, BEGIN, 0), (30000, END, 0))
    put(profiler, 0, 1, 2, (0, BEGIN, 0), (10000, END, 0))
    row = profiler.statistics()[0]
    assert row["name"] == "compute" and row["count"] == 2
    assert (row["total_ns"], row["mean_ns"], row["max_ns"]) == pytest.approx((40000, 20000, 30000), abs=64)
    assert row["sm_imbalance"] == pytest.approx(1.5, abs=0.01)
    profiler.print_stats()
    assert "compute" in capsys.readouterr().out


def test_what_does_not_fit_is_counted(profiler, capsys):
    put(profiler, 1, 0, 0, *[(1000 * i, END if i % 2 else BEGIN, 0) for i in range(9)])
    assert profiler.dropped == 3 and len(profiler.events()) == 3
    profiler.print_stats()
    assert "3 events did not fit" in capsys.readouterr().out
    profiler.init_buffer()
    assert profiler.dropped == 0 and len(profiler.events()) == 0


def test_off_takes_no_memory_and_records_nothing(tmp_path, capsys):
    off = SmProfiler(1000, 4, 1000, enabled=False, device="cpu")
    assert off.bytes < 1000 and len(off.events()) == 0 and off.dropped == 0
    off.print_stats()
    assert "the profiler is off" in capsys.readouterr().out
    off.export(tmp_path / "off.json")


def test_nonsense_is_refused(profiler):
    with pytest.raises(ValueError):
        SmProfiler(0, 1, 1)
    with pytest.raises(ValueError, match="0 to 4094"):
        profiler.register_event(4095, "x")
    with pytest.raises(ValueError):
        SmProfiler(1, 70000, 1, device="cpu")
    profiler.get_buffer().zero_()
    with pytest.raises(ValueError, match="no buffer of events"):
        profiler.events()


def test_any_bytes_are_survived(profiler):
    torch.manual_seed(1)
    for _ in range(20):
        profiler.get_buffer()[8:].random_()
        profiler.events()
        profiler.statistics()


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
    assert len(events) == 128 and profiler.dropped == 0 and not profiler.warnings
    assert set(events["block"]) == set(range(64)) and len(set(events["sm"])) > 8
    traced_add(x, SmProfiler(64, 1, 1, enabled=False).get_buffer())
    foreign = torch.full((8,), 7, dtype=torch.int64, device="cuda")
    traced_add(x, foreign)  # writes nothing
    small = SmProfiler(8, 1, 1)
    traced_add(x, small.get_buffer())
    torch.cuda.synchronize()
    assert (foreign == 7).all()
    assert small.dropped == 56 * 3 + 8 * 1, "programs without a place, and the third event of the others"
    assert len(small.events()) == 8


CUDA = """
#include <gpubench/compat/sm_profiler.h>
extern "C" __global__ void spin(uint64_t* buffer, long long clocks, int times) {
  const bool first = threadIdx.x == 0;
  for (int i = 0; i < times; ++i) {
    sm_profiler_event_start(buffer, i, first);
    const long long start = clock64();
    while (clock64() - start < clocks) {}
    sm_profiler_event_end(buffer, i, first);
    sm_profiler_event_instant(buffer, 7, first);
  }
}
"""


@pytest.mark.gpu
def test_triton_and_cuda_write_the_same(tmp_path):
    """The same spins, by both, into buffers of one format: as many events, as long, at the same places."""
    pytest.importorskip("triton")
    cupy = pytest.importorskip("cupy")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    include = pathlib.Path(gpubench.__file__).resolve().parents[2] / "include"
    if not pathlib.Path(nvcc).exists() or not (include / "gpubench").exists():
        pytest.skip("no nvcc, or not in a checkout")
    from triton_kernels import traced_spin
    major, minor = torch.cuda.get_device_capability()
    (tmp_path / "spin.cu").write_text(CUDA)
    subprocess.run([nvcc, "-std=c++20", "-cubin", f"-arch=sm_{major}{minor}", "-I", str(include), "-o", str(tmp_path / "spin.cubin"),
                    str(tmp_path / "spin.cu")], check=True)
    by_cuda = cupy.RawModule(path=str(tmp_path / "spin.cubin")).get_function("spin")
    blocks, clocks, times = 264, 40_000, 3
    found = []
    for which in ("triton", "cuda"):
        profiler = SmProfiler(blocks, 1, 2 * times)
        for _ in range(2):  # the first launch loads the kernel
            profiler.init_buffer()
            torch.cuda.synchronize()
            if which == "triton":
                traced_spin(profiler.get_buffer(), blocks, clocks, times)
            else:
                by_cuda((blocks,), (128,), (profiler.get_buffer().data_ptr(), cupy.int64(clocks), cupy.int32(times)))
                cupy.cuda.Device().synchronize()
            torch.cuda.synchronize()
        assert not profiler.warnings
        events = profiler.events()
        ranges = events[events["kind"] == START]
        found.append({"rows": len(events), "places": set(zip(events["block"].tolist(), events["group"].tolist(), events["event"].tolist())),
                      "sms": set(events["sm"].tolist()), "length": float((ranges["end_ns"] - ranges["start_ns"]).mean())})
        print(which, found[-1]["rows"], len(found[-1]["sms"]), found[-1]["length"])
    triton, cuda = found
    assert triton["rows"] == cuda["rows"] == blocks * times * 2
    assert triton["places"] == cuda["places"] and triton["sms"] == cuda["sms"]
    assert triton["length"] == pytest.approx(cuda["length"], rel=0.05)


@pytest.mark.gpu
@pytest.mark.parametrize("example", ["triton_matmul", "triton_softmax"])
def test_examples_run(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip("triton")
    import runpy
    file = pathlib.Path(gpubench.__file__).resolve().parents[2] / "examples" / f"{example}.py"
    if not file.exists():
        pytest.skip("not in a checkout")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file), run_name="__main__")
    print(capsys.readouterr().out)
    trace = json.loads((tmp_path / f"{example}.json").read_text())["traceEvents"]
    assert {"load", "compute", "store"} <= {each["name"] for each in trace}
