# SPDX-License-Identifier: Apache-2.0
"""One side of a trial: a process with places for the inputs and outputs of a batch of calls."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from .cell import layout
from .checks import Earlier
from .memory import Poison, Spec
from .process import CellProcess, Limits, Timed, slots_of
from .verdict import Trouble


class Side:
    """The reference, a candidate, or the call that does nothing."""

    def __init__(self, adapter: str | None, file: str, facts: dict[str, Any], mutable: bool, limits: Limits, poison: Poison, hidden: Sequence[str] = (),
                 imports: Sequence[str] = ()):
        self._load: dict[str, Any] = {"adapter": adapter, "file": file, "facts": facts, "imports": list(imports)}
        self._mutable = mutable
        self._poison = poison
        self._places: tuple[Any, ...] = ()
        self.slots: list[dict[str, Any]] = []
        self.process = CellProcess(limits, hidden)
        self.loaded = False
        self.earlier = Earlier()

    def start(self, input_bytes: int, output_bytes: int) -> None:
        """Starts the process with memory of these sizes, and loads what it runs."""
        self.process.start(input_bytes, output_bytes)
        self.process.map(self._mutable)
        self.load()

    def load(self) -> None:
        """Loads what it runs."""
        try:
            self.process.ask("load", **self._load)
        except Trouble as trouble:
            raise Trouble("load" if trouble.code in ("error", "type", "shape") else trouble.code, trouble.text) from None
        self.loaded = True

    def set_file(self, file: str) -> None:
        """What it loads."""
        self._load["file"] = file

    def set_returns(self, kinds: list[Any]) -> None:
        """What the call that does nothing returns: specs, each with its bytes."""
        self._load["returns"] = kinds

    def place(self, skeleton: Any, inputs: list[Spec], outputs: list[Spec], count: int, precise: str = "") -> None:
        """Makes places for `count` calls of this kind. No contents are there yet."""
        self.slots, _, _ = slots_of(skeleton, inputs, outputs, count)
        self.process.ask("prepare", slots=self.slots, precise=precise)

    def fill(self, slot: int, arrays: Sequence[Any]) -> None:
        """The inputs of one call."""
        for spec, array in zip(self.slots[slot]["inputs"], arrays):
            self.process.inputs.view(spec)[...] = array

    def run(self) -> Timed:
        """Poisons all outputs, then runs all calls once."""
        for slot in self.slots:
            self._poison.apply(self.process.outputs, slot["outputs"])
        return self.process.run()

    def outputs(self, slot: int) -> list[Any]:
        """What one call left, copied. Throws Trouble where something was written beside it."""
        specs = self.slots[slot]["outputs"]
        arrays = [np.array(self.process.outputs.view(spec)) for spec in specs]
        if not self._poison.guards_hold(self.process.outputs, specs):
            raise Trouble("guard", "It wrote outside its outputs, into the guard zones around them.")
        return arrays

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

    def close(self) -> None:
        self.process.close()


def arrays_of(tree: Any) -> tuple[Any, list[Spec], list[Any]]:
    """Skeleton, specs and NumPy arrays of inputs."""
    skeleton, leaves = layout.flatten(tree)
    return skeleton, [layout.spec_of(each) for each in leaves], [layout.as_numpy(each) for each in leaves]
