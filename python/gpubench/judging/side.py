# SPDX-License-Identifier: Apache-2.0
"""One side of a trial: a process with places for the inputs and outputs of a batch of calls."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

from . import arrays
from .cell import layout
from .checks import Earlier
from .device import Device
from .memory import Poison, Region, Rows, Sample, Spec
from .nursery import Nursery
from .process import CellProcess, Limits, Timed, Witness, slots_of, stride_of
from .verdict import Trouble

_SLACK_BYTES = 4096
_LOOKED_AT, _TELLING_BYTES = 64, 4  #: elements; bytes that are not as poison by chance
_SAMPLED_ELEMENTS, _SAMPLED_ON_HOST = 1024, 256


@dataclass
class Memory:
    """Inputs that processes can only read, where the system can have that, and outputs."""

    inputs: Any
    outputs: Any

    @classmethod
    def of_host(cls, input_bytes: int, output_bytes: int) -> Memory:
        return cls(Region(input_bytes, True), Region(output_bytes + _SLACK_BYTES, False))

    @classmethod
    def of_device(cls, device: Device, input_bytes: int, output_bytes: int) -> Memory:
        inputs = device.block(input_bytes)
        try:
            return cls(inputs, device.block(output_bytes + _SLACK_BYTES))
        except BaseException:
            inputs.close()
            raise

    def close(self) -> None:
        self.inputs.close()
        self.outputs.close()


class GpuWitness(Witness):
    """Takes the time by the GPU's clock as well."""

    def __init__(self, device: Device, sample: Sample):
        super().__init__(sample)
        self._device = device
        self._last: Any = None

    def begin(self) -> Any:
        self._device.synchronize()
        return self._device.mark()

    def look(self) -> Any:
        seen = self.sample.look()
        self._last = self._device.mark()
        return seen

    def end(self, first: Any) -> float:
        return self._device.seconds_between(first, self._last)


class Side:
    """The reference, a candidate, or the call that does nothing."""

    def __init__(self, adapter: str | None, file: str, facts: dict[str, Any], mutable: bool, limits: Limits, poison: Poison, hidden: Sequence[str] = (),
                 imports: Sequence[str] = (), device: Device | None = None, nursery: Nursery | None = None):
        self._load: dict[str, Any] = {"adapter": adapter, "file": file, "facts": facts, "imports": list(imports)}
        self._mutable = mutable
        self._poison = poison
        self.device = device
        self._memory: Memory | None = None
        self._owns_memory = False
        self._rows: Rows | None = None
        self.slots: list[dict[str, Any]] = []
        self._inputs: list[list[Any]] = []  #: and the arrays there, by call
        self._outputs: list[list[Any]] = []
        self._placed: Any = None  #: for what kind of calls
        self._precise, self._has_new_numbers = "", False
        self.is_warm = False  #: whether these were made before
        self._seen: tuple[Sample, Any] | None = None  #: of the last batch's outputs, before the clock stopped
        self.process = CellProcess(limits, hidden, nursery=nursery)
        self.loaded = False
        self.earlier = Earlier()
        #: Whether it writes into the judge's memory itself, so that nothing is copied
        self.writes_into = bool(adapter) and str(adapter).endswith("c_library.py")

    def start(self, input_bytes: int, output_bytes: int, memory: Memory | None = None) -> None:
        """Starts the process with memory of these sizes, or that of others of its kind, and loads what it runs."""
        if self._owns_memory and self._memory is not None:
            self._memory.close()
        self._memory, self._owns_memory = memory, memory is None
        if self._memory is None:
            self._memory = Memory.of_device(self.device, input_bytes, output_bytes) if self.device else Memory.of_host(input_bytes, output_bytes)
        self._placed = None
        self.process.start(self._memory.inputs, self._memory.outputs, self.device.accelerator_file if self.device else None)
        self.process.map(self._memory.inputs, self._memory.outputs, self._mutable)
        self.load()

    def load(self) -> None:
        """Loads what it runs."""
        try:
            self.process.ask("load", **self._load)
        except Trouble as trouble:
            text = f"It did not load within {self.process.limits.seconds:g} s, which hold its compiling; --time-limit=SECONDS gives more." if trouble.code == "time-limit" else trouble.text
            raise Trouble("load" if trouble.code in ("error", "type", "shape") else trouble.code, text) from None
        self.loaded = True

    def set_file(self, file: str) -> None:
        """What it loads."""
        self._load["file"] = file

    def set_returns(self, kinds: list[Any]) -> None:
        """What the call that does nothing returns: specs, each with its bytes."""
        self._load["returns"] = kinds

    @property
    def memory(self) -> Memory:
        assert self._memory is not None
        return self._memory

    def place(self, skeleton: Any, inputs: list[Spec], outputs: list[Spec], count: int, precise: str = "") -> None:
        """Makes places for `count` calls of this kind, where there are no such yet."""
        if self._load["adapter"] is None:  # the call that does nothing returns no dict
            outputs = [{key: value for key, value in each.items() if key != "keys"} for each in outputs]
        kind = (skeleton, inputs, outputs, count, precise)
        if self._placed == kind:
            return
        self._placed, self.is_warm, self._seen = None, False, None
        self.slots, _, _ = slots_of(skeleton, inputs, outputs, count)
        self._precise = precise
        self._prepare()
        self._rows = Rows(self.memory.outputs, self.slots, stride_of(outputs), self._poison) if outputs else None
        self._inputs, self._outputs = ([[region.view(spec) for spec in slot[name]] for slot in self.slots]
                                       for region, name in ((self.memory.inputs, "inputs"), (self.memory.outputs, "outputs")))
        self._placed = kind

    def _prepare(self) -> None:
        self._has_new_numbers = False
        self.process.ask("prepare", slots=self.slots, precise=self._precise)

    def fill(self, slot: int, filled: Sequence[Any], skeleton: Any = None) -> None:
        """The inputs of one call; `skeleton`: what they stand in, where its numbers may be others than those of the call before."""
        for view, array in zip(self._inputs[slot], filled):
            view[...] = array
        if skeleton is not None and skeleton != self.slots[slot]["skeleton"]:
            self.slots[slot]["skeleton"] = skeleton
            self._placed, self._has_new_numbers = None, True

    def run(self, empty: bool = False, cold: bool = True, meanwhile: Callable[[], None] | None = None) -> Timed:
        """Poisons all outputs, then runs all calls once; `empty`: what that takes without the calls. `cold`: on a GPU, with nothing of their inputs in its cache.
        `meanwhile` is done while they run."""
        if self._has_new_numbers:
            self._prepare()
        if self._rows is not None:
            self._rows.poison()
        witness = None
        if self._rows is not None and self.device is None:
            witness = Witness(self._rows.sample(_SAMPLED_ON_HOST))
        elif self._rows is not None and self.device is not None:
            witness = GpuWitness(self.device, self._rows.sample(_SAMPLED_ELEMENTS))
            if cold:
                self.device.flush()
        timed = self.process.run(witness, b"run empty" if empty else b"run", meanwhile)
        self._seen = (witness.sample, timed.seen) if witness is not None and not empty else None
        if witness is not None and not empty and witness.sample.unwritten(timed.seen).any():
            self._refuse_late()
        return timed

    def _refuse_late(self) -> None:
        """What has changed since the judge looked."""
        if self._seen is None:
            return
        sample, seen = self._seen
        changed = sample.changed(seen, sample.look())
        if changed.any():
            raise Trouble("late", f"It went on to write its outputs after it had answered: {int(changed.sum())} of {len(changed)} elements that were looked at.")

    def refuse_evasion(self) -> None:
        """Throws Trouble where its time is not counted as it is. A GPU's times know no waiting for processors."""
        evasion = self.process.evasion() if self.device is None else ""
        if evasion:
            raise Trouble("tampering", evasion)

    def replace_in_time(self, slot: int, filled: Sequence[Any]) -> bool:
        """Gives a call other inputs while calls before it run. Whether that was done before it began."""
        self.fill(slot, filled)
        return not self.is_done(slot - 1)

    def is_done(self, slot: int) -> bool:
        """Whether the end of a call's result is written, or may be."""
        end = self._outputs[slot][-1].reshape(-1)[-_LOOKED_AT:]
        return arrays.bytes_of(end) < _TELLING_BYTES or self.unwritten(slot, -1, end) < 1.0

    def refuse_changed_input(self, slot: int, filled: Sequence[Any]) -> None:
        """Throws Trouble where an input is not what it was, though it may not be changed. On a CPU it cannot."""
        if self.device is None or self._mutable:
            return
        for which, (view, array) in enumerate(zip(self._inputs[slot], filled)):
            if not arrays.are_same(view, array):
                raise Trouble("guard", f"It wrote into its input {which}, which the problem does not allow.")

    def outputs(self, slot: int) -> list[Any]:
        """What one call left, copied."""
        return [arrays.copied(view) for view in self._outputs[slot]]

    def all_outputs(self) -> list[list[Any]]:
        """What each call left, copied. Throws Trouble where something was written beside it, or after its batch."""
        found = [self.outputs(slot) for slot in range(len(self.slots))]
        self._refuse_late()
        if self._rows is not None and not self._rows.guards_hold():
            raise Trouble("guard", "It wrote outside its outputs, into the guard zones around them.")
        return found

    def unwritten(self, slot: int, which: int, array: Any) -> float:
        """The share of an output that still is poison."""
        return self._poison.unwritten(array, self.slots[slot]["outputs"][which])

    def changes(self) -> list[str]:
        """What the candidate has replaced in its own process, as far as that can be told from there."""
        answer = self.process.ask("changes")
        if not isinstance(answer, list):
            raise Trouble("protocol", "What it wrote to the judge's channel is no answer.")
        return [str(each)[:200] for each in answer[:10]]

    def describe(self) -> list[Spec]:
        """What it returns of the first call's inputs."""
        return list(self.process.ask("describe"))

    def arrays_of(self, tree: Any) -> tuple[Any, list[Spec], list[Any]]:
        """Skeleton, specs and arrays of inputs, where this side's memory lies."""
        return arrays_of(tree, self.device is not None)

    def close(self) -> None:
        self.process.close()
        self._inputs, self._outputs, self._placed = [], [], None  # memory goes with the last array in it
        if self._owns_memory and self._memory is not None:
            self._memory.close()


def arrays_of(tree: Any, on_device: bool = False) -> tuple[Any, list[Spec], list[Any]]:
    """Skeleton, specs and arrays of inputs: NumPy's on the host, or as they are on the GPU."""
    skeleton, leaves = layout.flatten(tree)
    specs = [layout.spec_of(each) for each in leaves]
    return skeleton, specs, [each.detach() if on_device and hasattr(each, "detach") else each if on_device else layout.as_numpy(each) for each in leaves]
