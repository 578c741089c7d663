# SPDX-License-Identifier: Apache-2.0
"""Callables of JAX and Numba on the CPU, and streams of any framework. What is not installed is skipped."""
import ctypes
import sys
import types

import numpy
import pytest

import gpubench
from gpubench import harness
from gpubench._frameworks import handle_of


class Protocol:
    def __init__(self, pair):
        self.pair = pair

    def __cuda_stream__(self):
        return self.pair


def test_streams_are_taken_by_the_protocol_or_by_their_attributes():
    stream = gpubench.Stream(7)
    assert stream.__cuda_stream__() == (0, 7) and int(stream) == stream.ptr == handle_of(stream) == 7
    assert handle_of(Protocol((0, 9))) == 9 and handle_of(5) == 5
    assert handle_of(types.SimpleNamespace(__cuda_stream__=(0, 3))) == 3, "as a property"
    for name in ("cuda_stream", "ptr", "handle"):
        assert handle_of(types.SimpleNamespace(**{name: 11})) == 11
    assert handle_of(types.SimpleNamespace(handle=ctypes.c_void_p(11))) == 11 and handle_of(types.SimpleNamespace(handle=ctypes.c_void_p(None))) == 0
    with pytest.raises(TypeError, match="version 2"):
        handle_of(Protocol((2, 9)))
    with pytest.raises(TypeError, match="PyTorch, CuPy, Numba or cuda.core.*not a str"):
        handle_of("stream")


def test_little_memory_of_pytorch_is_kept_for_the_next_run():
    reserved = [0]
    cuda = types.SimpleNamespace(current_device=lambda: 7, MemPool=object,
                                 memory_stats_as_nested_dict=lambda: {"reserved_bytes": {"all": {"current": reserved[0]}}})
    seen = []
    for more in (2 << 20, 70 << 20, 0):
        with harness._memory_pool(types.SimpleNamespace(cuda=cuda)) as pool:
            seen.append(pool)
            reserved[0] += more
    del harness._pools[7]
    assert seen[0] is seen[1] and seen[1] is not seen[2]


@pytest.mark.gpu
class TestCudaCore:
    """A kernel compiled and launched by cuda.core, on the stream that it is handed."""

    SOURCE = """extern "C" __global__ void add_one(float* x, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] += 1.0F;
    }"""

    def test_a_kernel_takes_the_stream(self):
        core, torch = pytest.importorskip("cuda.core"), pytest.importorskip("torch")
        core = core if hasattr(core, "Program") else pytest.importorskip("cuda.core.experimental")
        torch.zeros(1, device="cuda")
        device = core.Device()
        device.set_current()
        options = core.ProgramOptions(arch=f"sm_{device.arch}")
        add_one = core.Program(self.SOURCE, "c++", options).compile("cubin").get_kernel("add_one")

        @gpubench.benchmark(device="cuda")
        def cuda_core(state):
            x = torch.zeros(2**20, device=state.device)
            state.reads(x)
            state.writes(x)
            config = core.LaunchConfig(grid=2**12, block=256)
            state.measure(lambda stream: core.launch(device.create_stream(stream), config, add_one, x.data_ptr(), numpy.int32(2**20)))

        point = gpubench.run(cuda_core, device="cuda:0", time_budget=0.02, drift_check=False, progress=False)[0]
        print(point, point.method("device"))
        assert not point.failure and point.seconds("device") > 0
        assert handle_of(device.create_stream(gpubench.Stream(torch.cuda.Stream().cuda_stream))) > 0


class TestJax:
    @pytest.fixture(autouse=True)
    def jax(self, monkeypatch):
        monkeypatch.setenv("JAX_PLATFORMS", "cpu")
        self.jax = pytest.importorskip("jax")

    def test_a_jitted_function_is_waited_for_and_has_its_work(self, quick):
        jnp, waited = self.jax.numpy, []

        @gpubench.benchmark(n=[1024, 65536], dtype=[jnp.float32, jnp.int32])
        def jax_add(state, n, dtype):
            a, b = jnp.ones(n, dtype), jnp.ones(n, dtype)
            add = self.jax.jit(lambda x, y: x + y)
            state.reads(a, b)
            state.writes(4 * n)
            state.verify(lambda: bool((add(a, b) == 2).all()))
            state.measure(lambda: add(a, b))

        run = gpubench.run(jax_add, **quick)
        assert not run.failures and [point.arguments["dtype"] for point in run] == ["float32"] * 2 + ["int32"] * 2
        assert all(point.seconds() > 0 and point.data["measurement"]["verified"] for point in run)
        plain = self.jax.block_until_ready
        self.jax.block_until_ready = lambda result: waited.append(0) or plain(result)
        try:
            harness.settled(lambda: {"sum": jnp.ones(8).sum()}, on_gpu=False)()
            harness.settled(lambda: numpy.ones(8), on_gpu=False)()
        finally:
            self.jax.block_until_ready = plain
        assert len(waited) == 1, "results of JAX alone are waited for"

    def test_on_a_gpu_it_is_refused_in_words(self):
        with pytest.raises(gpubench.UsageError, match="streams of its own"):
            harness.settled(lambda: self.jax.numpy.ones(8), on_gpu=True)()
        assert (harness.settled(lambda: numpy.ones(8), on_gpu=True)() == 1).all()

    def test_the_regime_of_one_call(self, quick, monkeypatch):
        from gpubench import regime
        monkeypatch.setattr(regime, "calibration", lambda device: gpubench.Calibration.load(quick["calibration"]))
        x = self.jax.numpy.ones(2**20)
        result, profile = regime.GPUProfiler("cpu", verbose=False).profile_with_result(self.jax.numpy.cos, x)
        assert float(result[0]) == pytest.approx(0.5403, abs=1e-4)
        assert profile["achieved_bandwidth"] == pytest.approx(2 * 4 * 2**20 / (profile["runtime_ms"] * 1e-3))


class TestNumba:
    @pytest.fixture(autouse=True)
    def numba(self):
        self.numba = pytest.importorskip("numba")

    def test_a_compiled_function_is_compiled_before_it_is_timed(self, quick):
        @self.numba.njit
        def add(a, b, out):
            for i in range(a.size):
                out[i] = a[i] + b[i]

        @gpubench.benchmark(n=[1024])
        def numba_add(state, n):
            a, b, out = numpy.ones(n), numpy.ones(n), numpy.empty(n)
            state.reads(a, b)
            state.writes(out)
            state.verify(lambda: bool((out == 2).all()))
            state.measure(lambda: add(a, b, out))

        point = gpubench.run(numba_add, **quick)[0]
        assert not point.failure and point.data["measurement"]["verified"] and len(add.signatures) == 1

    @pytest.mark.gpu
    def test_a_kernel_takes_the_stream(self):
        cuda = pytest.importorskip("numba.cuda")

        @cuda.jit
        def add_one(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] += 1

        try:
            add_one[1, 32](cuda.to_device(numpy.zeros(32, "f")))
        except AttributeError as error:
            pytest.skip(f"Numba {self.numba.__version__} does not work with NumPy {numpy.__version__}: {error}")

        @gpubench.benchmark
        def numba_kernel(state):
            x = cuda.to_device(numpy.zeros(2**20, "f"))
            state.reads(x)
            state.writes(x)
            state.measure(lambda stream: add_one[2**12, 256, stream.numba()](x))

        point = gpubench.run(numba_kernel, device="cuda:0", time_budget=0.02, drift_check=False, progress=False)[0]
        print(point, point.method("device"))
        assert not point.failure and point.seconds("device") > 0


def test_inputs_are_made_on_the_stream_that_is_timed(monkeypatch):
    """Launches of a process that change streams often make every later kernel slower."""
    said = []
    cuda = types.SimpleNamespace(is_available=lambda: True, synchronize=lambda: said.append("wait"), current_stream=lambda: "user's",
                                 set_stream=said.append, ExternalStream=lambda handle: f"stream {handle}", use_mem_pool=None)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with harness._launching_on(7):
        assert said == ["wait", "stream 7"]
    assert said == ["wait", "stream 7", "wait", "user's"]
    with pytest.raises(ValueError), harness._launching_on(7):
        raise ValueError
    assert said[-1] == "user's"
    del said[:]
    with harness._frameworks(True, timed=False, own=("user's", None)) as prepare:
        for as_called in (False, True, False):
            prepare(7, as_called)
        assert said == ["wait", "stream 7", "user's", "stream 7"], "calls are made where the program makes them"
    del said[:]
    with harness._launching_on(0):
        assert said == [], "on a CPU nothing changes"
