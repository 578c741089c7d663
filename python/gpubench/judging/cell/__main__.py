# SPDX-License-Identifier: Apache-2.0
"""The process of a candidate: python -I cell SETTINGS. It loads the candidate, calls it when it is told to, and copies what it returns to where the
judge reads it. Nothing here is trusted: the judge measures and checks from outside."""
from __future__ import annotations

import importlib
import itertools
import json
import mmap
import os
import resource
import socket
import struct
import sys
from typing import Any, Callable, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import audit  # noqa: E402
import confine  # noqa: E402
import layout  # noqa: E402
import loading  # noqa: E402

_TEXT_LIMIT = 2000
numpy: Any  #: once it is known where that lies
shares_memory: Callable[..., bool]  #: NumPy's
_NOT_YOURS = "It returns memory of the judge, into which results are copied."
Plan = tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...]  #: arguments and places of outputs, by call


class Cell:
    def __init__(self, settings: dict[str, Any]):
        self.settings = settings
        self.channel = socket.socket(fileno=settings["channel"])
        self.inputs = self.outputs = memoryview(b"")
        self.accelerator: Any = None  # where inputs and outputs lie on a GPU
        self.empties = 0
        self.function: Callable[..., Any] = lambda *arguments: None
        self.plan: Plan = ()
        self.prepared: Plan = ()  # the same, unless somebody has changed it
        self.input_specs: list[dict[str, Any]] = []
        self.output_specs: list[dict[str, Any]] = []
        self.mutable = self.copies = self.widens = self.writes_into = False
        self.state: tuple[Any, ...] = ()
        self.before: Any = {}
        self.hooks_before: set[str] = set()
        self.precise = ""  #: only the reference is asked for another type

    def map(self, request: dict[str, Any]) -> None:
        """Inputs for reading alone. Where the problem lets them be changed, each call has copies, or memory of its own on a GPU."""
        self.plan = self.prepared = ()
        self.mutable = request["mutable"]
        if self.settings["accelerator"]:
            module = loading.module_at(self.settings["accelerator"], "accelerator")
            self.accelerator = module.Accelerator()
            self.inputs, _ = self.accelerator.open(self.settings["inputs"], request["input_bytes"], self.mutable)
            self.outputs, _ = self.accelerator.open(self.settings["outputs"], request["output_bytes"], True)
            os.close(self.settings["inputs"])
            os.close(self.settings["outputs"])
            return
        self.inputs = memoryview(mmap.mmap(self.settings["inputs"], request["input_bytes"], mmap.MAP_SHARED, mmap.PROT_READ))
        self.outputs = memoryview(mmap.mmap(self.settings["outputs"], request["output_bytes"]))

    def finish(self) -> None:
        """Waits until what was called is done."""
        if self.accelerator is not None:
            self.accelerator.synchronize()

    def view(self, memory: Any, spec: dict[str, Any]) -> Any:
        if self.accelerator is None:
            return layout.as_framework(layout.view(memory, spec), spec)
        return self.accelerator.view(memory, spec, layout.extent(spec), layout.element_bytes(spec))

    def load(self, request: dict[str, Any]) -> None:
        for name in request["imports"]:  # so that what is replaced in them is seen, and their import is no part of the candidate's time
            try:
                importlib.import_module(name)
            except ImportError:
                pass  # the candidate may do without
        self.before, self.hooks_before = audit.snapshot(), audit.hooks()
        if request["adapter"] is None:  # the cost of a call that does nothing
            self.function = lambda *arguments: None
            if request.get("returns") is None:
                return
            made = [layout.on_device(layout.as_framework(layout.view(bytearray(extent), {**spec, "offset": 0}), spec), spec) for spec, extent in request["returns"]]
            result: Any = made[0] if len(made) == 1 else tuple(made)
            self.function = lambda *arguments: result
            return
        self.function = loading.module_at(request["adapter"], "adapter").load(request["file"], request["facts"])
        self.widens = bool(request["facts"].get("checks_itself"))
        self.writes_into = os.path.basename(request["adapter"]) == "c_library.py"

    def arguments(self, slot: dict[str, Any]) -> tuple[Any, ...]:
        arrays = [self.view(self.inputs, spec) for spec in slot["inputs"]]
        tree = layout.unflatten(slot["skeleton"], arrays)
        return tree if isinstance(tree, tuple) else (tree,)

    def prepare(self, request: dict[str, Any]) -> None:
        if request["precise"] != self.precise and hasattr(self.function, "precise"):
            self.function.precise(request["precise"])
        self.precise = request["precise"]
        self.plan = self.prepared = tuple((self.arguments(slot), tuple(self.view(self.outputs, spec) for spec in slot["outputs"])) for slot in request["slots"])
        self.input_specs = request["slots"][0]["inputs"]
        self.output_specs = [{**spec, "widens": self.widens} for spec in request["slots"][0]["outputs"]]
        self.copies = self.accelerator is None and (self.mutable or any("device" in spec for spec in self.input_specs))
        self.state = self.how_calls_are_made()
        self.finish()

    def how_calls_are_made(self) -> tuple[Any, ...]:
        """As `prepare` has left it."""
        return self.function, self.mutable, self.copies, self.widens, self.writes_into, json.dumps([self.input_specs, self.output_specs])

    def run(self) -> None:
        function = self.function
        if self.writes_into:
            for arguments, outputs in self.plan:
                function(self.own(arguments) if self.copies else arguments, outputs)
            self.finish()
            return
        for arguments, outputs in self.plan:
            store(outputs, self.output_specs, function(*(self.own(arguments) if self.copies else arguments)))  # places first: a call can reach its caller's variables
        self.finish()

    def run_empty(self) -> None:
        """What a batch costs without its calls. The GPU goes to this process and back, as it does for calls."""
        for _ in self.plan:
            self.empties += 1
        if self.accelerator is not None:
            self.accelerator.touch()
        self.finish()

    def own(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copies of arguments that a call may change, or that it wants on a GPU. They are made in the timed window, for the call that does nothing as well."""
        skeleton, leaves = layout.flatten(arguments)
        copies = [layout.on_device(each, spec) if "device" in spec else each.clone() if hasattr(each, "clone") else each.copy()
                  for each, spec in zip(leaves, self.input_specs)]
        return layout.unflatten(skeleton, copies)  # type: ignore[no-any-return]

    def changes(self, request: dict[str, Any]) -> list[str]:
        """What the candidate has replaced in this process."""
        state = self.plan is not self.prepared or self.state != self.how_calls_are_made()
        return [*(["how the harness calls it"] if state else []), *audit.changes(self.before, self.hooks_before)][:10]

    def harness_seconds(self, request: dict[str, Any]) -> float | str:
        """Of calls with the inputs of all places in turns, by gpubench's own harness, or why there are none. Only the reference is asked this."""
        sys.path.append(request["path"])
        from gpubench.harness import Benchmark, run
        turns, options = itertools.cycle([arguments for arguments, _ in self.plan]), request["options"]
        point = run(Benchmark(lambda state: state.measure(lambda: self.function(*next(turns))), "reference", {}, None), drift_check=False, progress=False, **options)[0]
        return point.seconds(options["time"]) or point.why_absent(options["time"])

    def describe(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """What the function returns: types and shapes."""
        arguments = self.plan[0][0]
        keys, leaves = layout.flatten_result(self.function(*(self.own(arguments) if self.copies or self.accelerator is None else arguments)))
        specs = [layout.spec_of(each if layout.is_array(each) else numpy.asarray(each)) for each in leaves]
        numbers = [{"number": True} if type(each) in (float, complex) else {} for each in leaves]
        return [{key: value for key, value in {**spec, "keys": path, **number}.items() if key != "strides"} for spec, path, number in zip(specs, keys, numbers)]


def store(outputs: Sequence[Any], specs: list[dict[str, Any]], result: Any) -> None:
    """Copies what was returned into the judge's memory; FP32 in place of FP64 as well, where the problem's own check says whether that will do."""
    if len(outputs) == 1 and type(result) is type(outputs[0]):
        keys: list[list[str]] = [[]]
        leaves = [result]
    else:
        try:
            keys, leaves = layout.flatten_result(result)
        except TypeError as error:
            raise Mismatch("type", f"It returns what cannot be read: {error}.") from None
    if len(keys) != len(specs) or any(path != spec.get("keys", path) for path, spec in zip(keys, specs)):
        _refuse_keys(keys, [spec.get("keys", []) for spec in specs])
    if len(leaves) != len(outputs):
        found = f"{len(leaves)} array{'' if len(leaves) == 1 else 's'}" if leaves else "None" if result is None else "no array"
        raise Mismatch("shape", f"It returns {found} in place of {len(outputs)}.")
    for leaf, output, spec in zip(leaves, outputs, specs):
        if type(output) is numpy.ndarray and (type(leaf) in layout.NUMBERS or type(leaf) is numpy.asarray(leaf).dtype.type):
            leaf = numpy.asarray(leaf)
            if not output.shape and (leaf.dtype.kind == output.dtype.kind or {leaf.dtype.kind, output.dtype.kind} == {"i", "u"}):
                leaf = leaf.astype(output.dtype)
        if type(leaf) is not type(output) and hasattr(output, "copy_") and type(leaf) is getattr(sys.modules["torch"].nn, "Parameter"):
            leaf = leaf.detach()
        if type(leaf) not in (type(output), getattr(output.dtype, "type", None)):  # or NumPy's number of that type
            raise Mismatch("type", f"It returns a {type(leaf).__module__}.{type(leaf).__name__} in place of a {type(output).__module__}.{type(output).__name__}.")
        if leaf.dtype != output.dtype and not (spec.get("widens") and (str(leaf.dtype)[-7:], str(output.dtype)[-7:]) == ("float32", "float64")):
            raise Mismatch("type", f"It returns {leaf.dtype} in place of {output.dtype}.")
        if tuple(leaf.shape) != tuple(output.shape):
            raise Mismatch("shape", f"It returns the shape {tuple(leaf.shape)} in place of {tuple(output.shape)}.")
        if hasattr(output, "copy_"):
            if leaf.data_ptr() == output.data_ptr() and leaf.numel():
                raise Mismatch("tampering", _NOT_YOURS)
            if leaf.device.type != spec.get("device", "cpu"):
                raise Mismatch("type", f"It returns a tensor on {leaf.device} in place of one on {spec.get('device', 'cpu')}.")
            output.copy_(leaf)  # in the GPU's stream; to the host's memory it waits for that
        else:
            if shares_memory(leaf, output):
                raise Mismatch("tampering", _NOT_YOURS)
            output[...] = leaf


def _refuse_keys(keys: Sequence[list[str]], wanted: Sequence[list[str]]) -> None:
    """Throws Mismatch where arrays lie under other keys; says nothing of their number."""
    lacking, odd = ([path for path in one if path not in other] for one, other in ((wanted, keys), (keys, wanted)))
    if not lacking and not odd and len(keys) == len(wanted):  # in another order
        odd, lacking = map(list, zip(*((path, place) for path, place in zip(keys, wanted) if path != place)))
    if lacking and odd:
        raise Mismatch("shape", f"It returns {_of_keys(odd[0])} in place of {_of_keys(lacking[0])}.")
    if lacking or odd:
        raise Mismatch("shape", f"It returns no array under {'.'.join(lacking[0])!r}." if lacking else f"It returns {_of_keys(odd[0])}, which the reference does not.")


def _of_keys(path: Sequence[str]) -> str:
    return f"an array under {'.'.join(path)!r}" if path else "an array under no key"


#: What PyTorch and Triton, cuBLAS and cuDNN say where the GPU's memory does not do.
_NO_MEMORY = ("CUDA error: out of memory", "STATUS_ALLOC_FAILED", "_ALLOCATION_FAILED")


def _of_exit(code: Any) -> str:
    said = isinstance(code, str)
    return f"It ended its process{': ' if said else ' with exit code '}{code if said or type(code) is int else 0 if code is None else 1}."[:_TEXT_LIMIT]


class Mismatch(Exception):
    """What is returned is not of the kind that was asked for."""

    def __init__(self, code: str, text: str):
        super().__init__(text)
        self.code = code


def _words(error: BaseException) -> dict[str, Any]:
    try:
        words = str(error)
    except BaseException:  # noqa: BLE001: the candidate's own
        words = "its text cannot be read"
    code = error.code if isinstance(error, Mismatch) else "memory" if isinstance(error, MemoryError) else "error"
    if type(error).__name__ in ("OutOfMemoryError", "OutOfMemory") or any(each in words for each in _NO_MEMORY):
        code = "memory"
    code = getattr(error, "judge_code", code)
    place = ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(os.getcwd()):
            place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno}: "
        trace = trace.tb_next
    if code == "memory" and not words.strip():
        words = "there is no more memory; --memory-limit=MIB gives more"
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{os.path.basename(error.filename)}, line {error.lineno}: "
    text = words if isinstance(error, (Mismatch, loading.Unusable)) else f"{place}{type(error).__name__}{words and ': '}{words}"
    if "read-only" in words:
        text += ". Inputs can only be read, unless the problem says `mutable = True`"
    return {"error": code, "text": text.replace(os.getcwd() + os.sep, "")[:_TEXT_LIMIT]}


def _receive(channel: socket.socket) -> bytes:
    def exactly(count: int) -> bytes:
        parts = b""
        while len(parts) < count:
            part = channel.recv(count - len(parts))
            if not part:
                os._exit(0)
            parts += part
        return parts
    return exactly(struct.unpack("<I", exactly(4))[0])


def main() -> None:
    settings = json.loads(sys.argv[1])
    missing = confine.confine(settings)
    for folder in settings["paths"]:
        if folder not in sys.path:
            sys.path.append(folder)
    sys.path.append(settings["folder"])
    global numpy, shares_memory
    numpy = importlib.import_module("numpy")
    shares_memory = numpy.may_share_memory
    sys.argv = ["candidate"]
    cell = Cell(settings)
    send, packed = cell.channel.sendall, struct.Struct("<I").pack

    def reply(answer: Any) -> None:
        text = json.dumps(answer).encode()
        send(packed(len(text)) + text)

    reply({"missing": missing})
    done = packed(2) + b"{}"
    while True:
        message = _receive(cell.channel)
        try:
            if message == b"run":
                cell.run()
                send(done)
                continue
            if message == b"run empty":
                cell.run_empty()
                send(done)
                continue
            if message == b"end":
                send(done)
                return
            request = json.loads(message)
            result = getattr(cell, request.pop("do"))(request)
            reply({} if result is None else {"result": result})
        except SystemExit as error:
            reply({"error": "error", "text": _of_exit(error.code)})
        except BaseException as error:  # noqa: BLE001: the candidate's own, whatever it is
            reply(_words(error))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
