# SPDX-License-Identifier: Apache-2.0
"""Runs the Python blocks of other profilers' documents, as they stand, on gpubench. GPUBENCH_SEEDS names their folder, where
each document is a text file; skipped without it, and without PyTorch."""
import os
import pathlib
import re
import sys
import types

import pytest

FOLDER = os.environ.get("GPUBENCH_SEEDS", "")
DOCUMENTS = sorted(pathlib.Path(FOLDER).glob("*.txt")) if FOLDER else []
pytestmark = pytest.mark.skipif(not DOCUMENTS, reason="GPUBENCH_SEEDS names no folder of documents")


def blocks_of(file):
    return re.findall(r"^```python\n(.*?)^```", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE | re.DOTALL)


CASES = [(file.name[:3], place, block) for file in DOCUMENTS for place, block in enumerate(blocks_of(file))]


class Step:
    """Stands for a program's own step."""

    def __getattr__(self, name):
        return lambda *arguments: None

    def apply(self, psi, accumulators):
        self.apply_angular_scattering(psi, psi, None)


class TransportStep:
    def __init__(self, *arguments):
        pass

    def apply_angular_scattering(self, psi_in, psi_out, escapes):
        pass

    apply_energy_loss = lambda self, *arguments: None  # noqa: E731
    apply_spatial_streaming = lambda self, *arguments: None  # noqa: E731

    def apply(self, psi, accumulators):
        self.apply_angular_scattering(psi, psi, None)


def placeholders(torch, device):
    """What the documents leave to their readers."""
    import dataclasses
    import typing
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).to(device)
    data = torch.randn(32, 64, device=device)
    names = {"torch": torch, "model": model, "input": data, "input_tensor": data, "sample_input": data,
             "target": torch.randn(32, 8, device=device), "criterion": torch.nn.functional.mse_loss,
             "optimizer": torch.optim.SGD(model.parameters(), 0.1), "baseline_model": model, "optimized_model": model,
             "loss": model(data).sum(), "x": torch.randn(10**6, device=device), "psi_gpu": torch.ones(100, device=device),
             "step": TransportStep(), "dataclass": dataclasses.dataclass, "List": typing.List, "Dict": typing.Dict,
             "Path": pathlib.Path, "KernelInfo": object, "CompileBreak": object}
    for name in ("psi", "psi_in", "psi_out", "psi_tmp", "psi_tmp2", "dose", "escapes", "accumulators", "grid", "buckets", "lut"):
        names[name] = torch.ones(100, device=device)
    return names


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    torch = pytest.importorskip("torch")
    import gpubench
    from gpubench import compat
    compat.install()
    device = gpubench.devices()[0]["id"].split(":")[0]
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("seeds"))
    with torch.profiler.profile() as profiler:
        torch.ones(100, 100, device=device).sum()
    profiler.export_chrome_trace("trace.json")
    import smatrix_2d.gpu
    kernels = types.ModuleType("smatrix_2d.gpu.kernels")
    kernels.GPUTransportStepV3 = TransportStep
    kernels.create_gpu_transport_step_v3 = lambda *arguments: TransportStep()
    sys.modules["smatrix_2d.gpu.kernels"] = kernels
    yield {"torch": torch, "device": device, "documents": {}}
    os.chdir(before)


@pytest.mark.parametrize("document, place, block", CASES, ids=[f"{name}-{place}" for name, place, _ in CASES])
def test_block(world, document, place, block):
    if re.search(r"triton|sm_profiler|profiler_init|EVT_|profiler\.export\(\"trace", block):
        if not world["torch"].cuda.is_available():
            pytest.skip("Triton's kernels need a GPU")
        world["documents"].setdefault(document, {"__name__": document})["triton"] = pytest.importorskip("triton")
        if block.startswith("ctx ="):  # a list of calls, for inside of a kernel
            block = "@triton.jit\ndef listed(buffer_ptr, block_idx, group_idx, event_no):\n" + re.sub("^", "    ", block, flags=re.M)
    if "import cupy" in block:
        pytest.importorskip("cupy")
    # Each document is one program; what it leaves out is new for each block.
    names = world["documents"].setdefault(document, {"__name__": document})
    made = placeholders(world["torch"], world["device"])
    names.update({name: value for name, value in made.items() if name == "loss" or name not in names})
    text = block.replace("device='cuda'", f"device='{world['device']}'").replace("_ptr, ...):", "_ptr):")
    file = pathlib.Path(f"document_{document}_{place}.py").resolve()  # Triton reads the source of its functions
    file.write_text(text, encoding="utf-8")
    exec(compile(text, str(file), "exec"), names)  # noqa: S102
