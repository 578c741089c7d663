# SPDX-License-Identifier: Apache-2.0
"""What the modules of this package share."""
from __future__ import annotations

import dataclasses
import json
import math
import os
import statistics
import tempfile
import time
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

from .. import _core
from ..runs import PathLike

MB = 1e6


class _NotKnown(float):
    """Not a number. In a text it says so in words, where scripts would print "nan"."""

    def __format__(self, form: str) -> str:
        return "not known"


NOT_KNOWN = _NotKnown("nan")


def pytorch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("this needs PyTorch: pip install torch, or gpubench[torch]") from error
    return torch


def synchronize(torch: Any) -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def as_json(thing: Any) -> Any:
    """What a dataclass holds, for a file."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {each.name: as_json(getattr(thing, each.name)) for each in dataclasses.fields(thing) if each.compare}
    if isinstance(thing, (list, tuple)):
        return [as_json(each) for each in thing]
    if isinstance(thing, Mapping):
        return {str(key): as_json(value) for key, value in thing.items()}
    if isinstance(thing, Path):
        return str(thing)
    return None if isinstance(thing, float) and not math.isfinite(thing) else thing


def write(file: PathLike, text: str) -> Path:
    path = Path(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _core.WriteError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def times_of(call: Callable[[], Any], iterations: int, torch: Any) -> list[float]:
    """Seconds of each call, by CUDA events where there is a GPU, else by the host's clock."""
    if not torch.cuda.is_available():
        samples = []
        for _ in range(iterations):
            start = time.perf_counter()
            call()
            samples.append(time.perf_counter() - start)
        return samples
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(iterations)]
    torch.cuda.synchronize()
    for begin, end in events:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) * 1e-3 for begin, end in events]


def speedup_of(base: Sequence[float], new: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """How many times faster the second is, by the medians, with its 95 % interval; None below six samples a side."""
    known = _core.ratio_of_medians(base, new)
    if known is None:
        return statistics.median(base) / statistics.median(new), None
    return known[0], (known[1], known[2])


@contextmanager
def trace_file(source: Any) -> Iterator[str]:
    """A trace as a file: the one named, or that of a torch.profiler.profile that has stopped."""
    if isinstance(source, (str, os.PathLike)):
        yield os.fspath(source)
        return
    if not hasattr(source, "export_chrome_trace"):
        raise TypeError(f"this takes a torch.profiler.profile or a trace file, not a {type(source).__name__}")
    if source not in _exported:  # PyTorch exports each only once
        folder = tempfile.TemporaryDirectory()
        file = os.path.join(folder.name, "trace.json")
        try:
            source.export_chrome_trace(file)
        except RuntimeError as error:
            folder.cleanup()
            raise _core.UsageError(f"The trace of this profiler cannot be had: {error} Give the file that was exported, or a "
                                   "profiler that has stopped and was not exported yet.") from error
        _exported[source] = folder
    yield os.path.join(_exported[source].name, "trace.json")


_exported: weakref.WeakKeyDictionary[Any, tempfile.TemporaryDirectory[str]] = weakref.WeakKeyDictionary()


def text_page(report: Any, title: str) -> str:
    """A report's fields as one page."""
    return _core.text_html(title, json.dumps(as_json(report), indent=2, ensure_ascii=False))


def export_report(report: Any, path: Path, kind: str | None, page: Callable[[], str]) -> Path:
    """Writes a report as JSON, or as the page that is given."""
    kind = kind or path.suffix.lstrip(".") or "html"
    if kind not in ("json", "html"):
        raise _core.UsageError(f"A report is written as html or json, not as {kind}.")
    return write(path, json.dumps(as_json(report)) if kind == "json" else page())
