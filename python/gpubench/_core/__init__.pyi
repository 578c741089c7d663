# SPDX-License-Identifier: Apache-2.0
"""gpubench's engine. Use the package gpubench, whose names stay."""
from typing import Any

from collections.abc import Sequence

from . import profile as profile


version: str = '0.2.0'

class Error(RuntimeError):
    """What gpubench cannot do, in one sentence."""

class UsageError(Error):
    pass

class FlagError(UsageError):
    pass

class MetricNameError(UsageError):
    pass

class NoSuchDevice(Error):
    pass

class ReadError(Error):
    pass

class WriteError(Error):
    pass

class ChartError(Error):
    pass

class CudaError(Error):
    pass

class Run:
    """A run as the engine holds it. gpubench.Run is what users have."""

    @staticmethod
    def read(file: str) -> Run: ...

    @staticmethod
    def from_json(text: str) -> Run: ...

    def to_json(self) -> str: ...

    def write(self, file: str, chart: str = '') -> None: ...

    def html(self) -> str: ...

    def csv(self) -> str: ...

    def markdown(self) -> str: ...

    def console(self, color: bool = False, width: int = 120, kernels: bool = False) -> str: ...

    def chart(self, chart: str) -> str: ...

    def classify(self) -> None: ...

    def judge_by(self, file: str) -> None: ...

class Comparison:
    """Two sides of runs, point by point."""

    def to_json(self) -> str: ...

    def markdown(self) -> str: ...

    def csv(self) -> str: ...

    def console(self, color: bool = False, width: int = 120) -> str: ...

    def exit_code(self, fail_on: str = 'regression') -> int: ...

def compare(base: Sequence[Run], new: Sequence[Run], min_effect: float = 0.01, process_noise: float | None = None, force: bool = False, paired: bool = False, clock: str | None = None) -> Comparison: ...

def check_store(store: str, run: Run, min_effect: float = 0.01) -> Comparison | None: ...

def add_to_store(store: str, run: Run, label: str = '') -> str: ...

def devices() -> str:
    """All devices, as JSON."""

def why_no_gpu() -> str: ...

def stored_calibration(device: str) -> tuple[str | None, str]:
    """
    The calibration of a device in the cache as JSON, or why there is none.
    """

def calibrations_of(file: str) -> list[str]:
    """The calibrations in a file, as JSON."""

def calibration_table(json: str, color: bool = False, width: int = 120) -> str: ...

def draw(specification: str, format: str) -> bytes:
    """A Vega-Lite specification as png, svg or pdf."""

class FlameGraph:
    """Time by stack."""

    def json(self, weight: str = '') -> str: ...

    def folded(self, weight: str = '') -> str: ...

    def speedscope(self, name: str = 'gpubench') -> str: ...

class Timeline:
    """A trace as the engine holds it. gpubench.Timeline is what users have."""

    @staticmethod
    def read(file: str) -> Timeline: ...

    @staticmethod
    def from_json(text: str) -> Timeline: ...

    @property
    def warnings(self) -> list[str]: ...

    def __len__(self) -> int: ...

    def activity(self) -> dict[str, Any]: ...

    def breakdown(self) -> list[Any]: ...

    def kernels(self) -> list[Any]: ...

    def flame(self, min_duration_us: float = 0.0, max_depth: int = 512, group_small_kernels: bool = True, by_thread: bool = True) -> FlameGraph: ...

    def html(self, title: str) -> str: ...

    def analyze(self) -> Run:
        """As a run whose `program` says where the time went."""

    def write(self, file: str) -> None: ...

class KernelTrace:
    """Events inside kernels. gpubench.kernel_trace is what users have."""

    @staticmethod
    def header(blocks: int, groups: int, events: int, enabled: bool) -> tuple[bytes, int]:
        """With what a buffer begins, and its bytes."""

    @staticmethod
    def decode(buffer: bytes, names: Sequence[str], kernel: str, on_gpu: bool) -> KernelTrace: ...

    @property
    def dropped(self) -> int: ...

    @property
    def warnings(self) -> list[str]: ...

    def rows(self) -> list[tuple[int, int, int, int, int, int, int, bool]]: ...

    def json(self) -> str: ...

    def table(self) -> str: ...

    def write(self, file: str) -> None: ...

class State:
    """A point while its operation runs. gpubench.State is what users have."""

    def range(self, name: str) -> int: ...

    def reads(self, bytes: int) -> None: ...

    def writes(self, bytes: int) -> None: ...

    def flops(self, pipe: str, count: int) -> None: ...

    def footprint(self, bytes: int) -> None: ...

    def random_reads(self, count: int, table_bytes: int) -> None: ...

    def random_updates(self, count: int, table_bytes: int) -> None: ...

    def items(self, count: int) -> None: ...

    def counter(self, name: str, value: float, unit: str = '') -> None: ...

    def label(self, text: str) -> None: ...

    def skip(self, reason: str) -> None: ...

    def verify(self, check: object) -> None: ...

    def reset(self, function: object, takes_stream: bool, prepare: object, on_gpu: bool) -> None: ...

    def measure(self, function: object, takes_stream: bool, prepare: object, on_gpu: bool) -> None: ...

def register(name: str, kind: str, texts: Sequence[tuple[str, str]], number_names: Sequence[str], numbers: Sequence[Sequence[int]], function: object, repetitions: int | None = None) -> None: ...

def run(words: Sequence[str], worker: Sequence[str], say: object) -> Run: ...

def current_device() -> int:
    """The number of the GPU that this thread uses."""

def working_stream() -> int:
    """The stream that points are timed on, while they run; 0 on a CPU."""

def forget() -> None: ...

with_cuda: bool = False
