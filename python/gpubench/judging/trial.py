# SPDX-License-Identifier: Apache-2.0
"""One problem with its reference running: candidates are checked against it, then timed beside it."""
from __future__ import annotations

import importlib.util
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .. import _core
from ..runs import Calibration
from . import floor, records, timing
from .adapters import with_bytecode
from .cell import accelerator, layout
from .cell.confine import let_be_read
from .checking import Checker, Doubt, refuse_changes, settle
from .device import Device, trouble_of
from .memory import Poison, Spec
from .probes import Probe, ProbeMaker, RandomReference, TooSmall
from .problem import Problem, ProblemError
from .process import Timed, nursery
from .settings import Settings, stored_calibration
from .side import Memory, Side, arrays_of
from .turns import Turns
from .verdict import Result, Trouble

_BATCH_BYTES = 64 << 20
_GPU_BATCH_BYTES = 4 << 30  #: of inputs, and as much of outputs
_GPU_BATCH_SECONDS = 0.02  #: the change of processes on a GPU takes most of a millisecond a batch
_RECORDED_BATCHES = 5
_WARM_CALLS = 64  #: of a batch whose inputs the cache holds
_HARNESS_SECONDS = 0.1  #: of sampling the reference by gpubench's own harness
_LOOKS = 4  #: more, of each round, before clocks that disagree are believed
_REST_SECONDS = 0.05  #: longer than threads of OpenMP and of BLAS spin
_RESTING = 0.1  #: of a processor's time, that is no work
_HELD_SECONDS = 0.05  #: after which what a held process has launched is done
_ROUNDS, _ROUNDS_ON_GPU = 3, 5


def _input_bytes(problem: Problem, case: Mapping[str, Any]) -> int:
    """Of one call."""
    return sum(layout.extent_bytes(spec) for spec in arrays_of(problem.fresh(case), on_device=True)[1])


class Trial:
    """Opens with the reference's process; close() ends it."""

    def __init__(self, problem: Problem, settings: Settings):
        self.problem, self.settings = problem, settings
        self._could_be_read = let_be_read(False)
        self.poison = Poison()
        self._flush: timing.Flush | None = None
        self._nothing_kind: Any = None
        self.notes: list[str] = []
        self.probes: list[Probe] = []
        first = self.problem.fresh(problem.cases[0])
        self._gives_one = len(first) == 1 and isinstance(first[0], (list, dict))
        _, specs, _ = arrays_of(first, on_device=True)
        self.device = "cuda:0" if any("device" in spec for spec in specs) else "cpu"
        triton = ["triton.testing"] if self.device != "cpu" and importlib.util.find_spec("triton") else []
        self._imports = [*(each for each in ("torch", "numpy") if each in sys.modules), *triton]
        self._nursery = nursery(self._imports) if self.device != "cpu" or "torch" in self._imports else None  # first of all, as it loads libraries for seconds
        self.gpu = self._gpu(specs) if self.device != "cpu" else None
        if self.device != "cpu":  # CUDA reserves far more addresses than memory
            without = self.gpu.left_out() if self.gpu is not None and settings.limits.namespaces else {}
            self.settings = settings = replace(settings, limits=replace(settings.limits, memory_bytes=None, without=without))
        self._rounds = settings.rounds or (_ROUNDS if self.gpu is None else _ROUNDS_ON_GPU)
        self._calibration, self._why_no_calibration = settings.calibration, ""
        if self._calibration is None:
            self._calibration, self._why_no_calibration = stored_calibration(self.device)
        self.turns = Turns(self.gpu.turns_of if self.gpu is not None else self.device, self._note, 5.0 * settings.limits.seconds)
        self._injection = records.library() if self.gpu is not None and settings.records else None
        self._records: records.Clock | None = None
        self._warm: records.Clock | None = None  #: the same of calls whose inputs the GPU's cache holds
        self._warm_calls = 0
        self._memories: list[Memory] = []
        #: That start processes, and live as long as these: a process ends with the thread that has started it.
        self.starters = ThreadPoolExecutor(max(8, self.processes_of_candidate))
        self._trusted: list[Side] = []
        try:
            input_bytes = sum(layout.extent_bytes(spec) for spec in specs)
            self._batch_bytes = _BATCH_BYTES
            self._sizes = (16 * input_bytes + 4 * _BATCH_BYTES, 16 * input_bytes + 16 * _BATCH_BYTES)
            if self.gpu is not None:
                largest = max(input_bytes, *(_input_bytes(problem, case) for case in (*problem.cases[1:], *problem.hidden_cases)), 0)
                self._batch_bytes = max(min(_GPU_BATCH_BYTES, self.gpu.free_bytes() // 12), 2 * input_bytes)
                self._sizes = (2 * largest + self._batch_bytes,) * 2  # in FP64, or with holes, inputs are twice as large
                self._sizes_of_check = (2 * largest + 16 * _BATCH_BYTES,) * 2
            with self.turns.beside_others():
                recorded = self._open()
            self._hidden = [timing.Inputs(each.tree, each.arrays, each.skeleton, f"hidden contents '{each.name}'", each.own_error)
                            for each in self.probes if each.kind == "hidden-contents"]
            self._try_what_the_problem_says()
            self.checker = Checker(problem, self.probes)
            self.notes += self.checker.notes
            self._record_reference(recorded)
        except BaseException:
            self.close()
            raise

    def _open(self) -> Side | None:
        """The reference's processes, and what it makes of the probes; returns the one that is recorded. How large outputs are it says itself: where they do not
        fit, all starts anew, as where it draws random numbers."""
        while True:
            self.references = [self.side(self.problem.adapter, self.problem.file, self.problem.reference_facts, hidden=False) for _ in range(self._rounds)]
            self.reference = self.references[0]
            self.nothing = self.side(None, "", {}, hidden=False)
            self._trusted = [*self.references, self.nothing]
            try:
                self._memory = self.memory()
                recorded = self._recorded_side()
                self._start_trusted(recorded)
                self._maker = ProbeMaker(self.problem, self.reference, float("inf") if self.gpu is None else self.gpu.free_bytes() // 3)
                self.probes = self._maker.make()
                self.notes += self._maker.notes
                return recorded
            except RandomReference:
                if self.problem.reference_facts.get("reseed", True):
                    raise ProblemError(f"The reference of {self.problem.name} gives other results for the same inputs; say with `compare` what is right.") from None
                self.problem.reference_facts["reseed"] = self.problem.candidate_facts["reseed"] = True
                self._note("The reference draws random numbers: they are seeded before each call, on both sides. Its precision is not judged.")
                self._close_trusted()
            except TooSmall as lack:
                self._close_trusted()
                self._sizes = self._sizes[0], 2 * lack.needed + self._batch_bytes  # in FP64 twice as large
                if self.gpu is not None:
                    self._sizes_of_check = self._sizes_of_check[0], self._sizes[1]
            except Trouble as trouble:
                hint = " `inputs` gives a list or dict, which is one argument; a tuple is several." if "missing" in trouble.text and self._gives_one else ""
                raise ProblemError(f"The reference of {self.problem.name} does not work: {trouble.text}{hint}") from None
            except (RuntimeError, accelerator.Refused) as error:
                if self.gpu is None or trouble_of(error) is None:
                    raise
                raise ProblemError(f"The GPU's memory does not hold {self.problem.name} with what checks it: {str(error).splitlines()[0]}") from None

    def _try_what_the_problem_says(self) -> None:
        """Of its own reference, so that no candidate is held to what does not work."""
        first = self.probes[0]
        wrong = self.problem.complaint(first.tree, first.expected, first.outputs)
        if wrong:
            raise ProblemError(f"The check of {self.problem.name} refuses its own reference: {wrong[:300].rstrip('.')}.")
        try:
            self._work_of(first)
        except Exception as error:  # noqa: BLE001: the problem's own
            raise ProblemError(f"`work` of {self.problem.name} does not work: {type(error).__name__}: {str(error).rstrip('.')}.") from None

    def _work_of(self, probe: Probe) -> tuple[float, dict[str, float]]:
        """Bytes and FLOP of one call."""
        return floor.work_of(probe.expected, probe.arrays, self.problem.work(probe.tree) if self.problem.work is not None else None)

    def _close_trusted(self) -> None:
        for each in self._trusted:
            each.close()
        self.give_back(self._memory)

    def _note(self, text: str) -> None:
        """Once."""
        if text not in self.notes:
            self.notes.append(text)

    def _gpu(self, specs: Sequence[Spec]) -> Device | None:
        """The GPU, where its memory can be shared; else inputs and outputs are copied, and a note says so."""
        why = "" if all("device" in spec for spec in specs) else "some inputs are on the GPU and some are not"
        try:
            if not why:
                return self.settings.device()
        except (accelerator.Refused, ImportError, RuntimeError) as error:
            why = str(error)
        self.notes.append(f"Inputs and outputs are copied between host and GPU in the timed window, as memory of the GPU is not shared: {why.rstrip('.')}.")
        return None

    def close(self) -> None:
        for each in self._trusted:
            each.close()
        for memory in self._memories:
            memory.close()
        self.probes.clear()  # as large as a third of a GPU's memory, which the next trial shares with other processes
        if self.gpu is not None:
            self.gpu.release_cached()
        self.starters.shutdown()
        if self._nursery is not None:
            self._nursery.close()
        let_be_read(self._could_be_read)

    def memory(self, for_batches: bool = True) -> Memory | None:
        """For the processes of one side, which work in turns; None where each has its own."""
        if self.gpu is None:
            return None
        made = Memory.of_device(self.gpu, *(self._sizes if for_batches else self._sizes_of_check))
        self._memories.append(made)
        return made

    def give_back(self, memory: Memory | None) -> None:
        if memory is not None:
            self._memories.remove(memory)
            memory.close()
            if self.gpu is not None:
                self.gpu.release_cached()

    def side(self, adapter: str | None, file: str, facts: dict[str, Any], hidden: bool = True, recorded: bool = False, imports: Sequence[str] = ()) -> Side:
        """A process for one side, not yet started; `imports`: what it loads beside what all do."""
        made = Side(adapter, file, facts, self.problem.mutable, self.settings.limits, self.poison, [*with_bytecode(self.problem.hidden_files), *self.turns.files] if hidden else (),
                    list(dict.fromkeys([*self._imports, *imports])), self.gpu, self._nursery)
        if recorded and self._injection is not None:
            made.process.variables = records.variables(f"{made.process.folder}/records", self._injection)
        return made

    @property
    def records_candidates(self) -> bool:
        return self._injection is not None

    @property
    def processes_of_candidate(self) -> int:
        """That are timed one after the other, and one that is recorded."""
        return self._rounds + (self._injection is not None)

    def start(self, side: Side, memory: Memory | None = None) -> None:
        """Starts the process of a candidate. Throws Trouble where it does not load."""
        side.start(*self._sizes, memory)

    def warm_up(self, side: Side) -> None:
        """A first call loads and compiles for seconds: in the processes of later rounds at once, before anybody waits for their times. Its result is no
        matter here, and may be another's, as several write it. Throws Trouble."""
        if self.gpu is None or self.problem.mutable:
            return
        probe = self.probes[0]
        side.place(probe.skeleton, probe.specs, probe.outputs, 1)
        side.fill(0, probe.arrays)
        self.gpu.synchronize()
        side.process.run()

    def time(self, started: Sequence[Side], result: Result, again: Callable[[], Side]) -> None:
        """Alone on the device and in turns with the reference, in rounds of fresh processes, which `again` gives, after the first of those that are started;
        every call is fresh, and checked. Throws Trouble."""
        side, recorded = started[0], None
        with self.turns.alone(), result.phase("time"):
            quiet = self._quiet_wait(started)
            plan = timing.Plan(self._calls_of_batch(side, self.reference), self.settings.min_blocks, "spike" if any(each.name == "spike" for each in self.probes) else "ties")
            rounds = self.rounds(side, again, plan, result, lambda found: timing.clocks_agree(found) or self._busy_gpu(found, quiet))
            if self._records is not None:
                last = again()
                warm, batches = self._all_recorded(last, plan.calls, lambda slot, inputs: self._check_recorded(last, slot, inputs, result))
                copy = self._copy_seconds(plan)
            elif self.device == "cpu":
                self._refuse_work_at_rest(side)
                if self.settings.cold:
                    self._time_cold(side, result)
        times = timing.Summary(rounds, frozenset(["candidate"] if side.writes_into else []))
        if self._records is not None:
            with result.phase("records"):
                found, found_warm = self._records_of(last, warm, batches, plan.calls, [each for each in started if each is not last])
            recorded = self._records.hold_against(found, copy, plan.calls, times, result)
            if self._warm is not None:
                result.warm_device_seconds, result.reference_warm_device_seconds, _ = self._warm.device_seconds(found_warm)
        self._sum_up(times, plan, result, recorded)

    def rounds(self, first: Side, again: Callable[[], Side], plan: timing.Plan, result: Result,
               trouble_of: Callable[[list[timing.Times]], Trouble | None] = lambda _: None) -> list[timing.Times]:
        """One of each process of the reference, with a process of the candidate, which are visited by turns: what disturbs one visit is mostly gone in the next.
        They go on while their speed-ups are too far apart, and there is time. Where clocks disagree, they are looked at some times more: a busy machine holds up
        one visit or another. Throws Trouble."""
        looks = 0
        start = time.monotonic()
        sides, rounds = [first], [timing.Times() for _ in self.references]
        while True:
            begin = time.monotonic()
            for place, (reference, times) in enumerate(zip(self.references, rounds)):
                if not reference.loaded:
                    reference.start(*self._sizes, self._memory)
                if place == len(sides):
                    sides.append(again())
                self._round(sides[place], reference, plan, result, times)
            now = time.monotonic()
            if len(rounds[0].blocks) < plan.min_blocks:
                continue
            if 2 * now - begin - start <= self.settings.time_budget and not timing.Summary(rounds).is_narrow(self.settings.narrow):
                continue
            trouble = trouble_of(rounds)
            if trouble is None or looks == _LOOKS:
                break
            looks += 1
        list(self.starters.map(refuse_changes, sides))
        if trouble is not None:
            raise trouble
        return rounds

    def _refuse_work_at_rest(self, side: Side) -> None:
        """A process that is asked nothing sleeps, once its threads have stopped to spin for more work: by the quietest of some looks, and beside the reference.
        Throws Trouble."""
        quietest = 1.0
        for _ in range(_LOOKS):
            time.sleep(_REST_SECONDS)
            begin, before = time.perf_counter(), [each.process.idle_cpu() for each in (side, self.reference)]
            time.sleep(_REST_SECONDS)
            after = [each.process.idle_cpu() for each in (side, self.reference)]
            own, usual = ((now - then) / (time.perf_counter() - begin) for now, then in zip(after, before))
            if own <= max(_RESTING, 3.0 * usual):
                return
            quietest = min(quietest, own)
        raise Trouble("idle-work", f"The clocks disagree: its process takes {quietest:.0%} of a processor while nothing is asked of it. Work is done ahead of calls, or "
                                   "after them.")

    def _quiet_wait(self, sides: Sequence[Side]) -> float:
        """How long the smallest work waits on the GPU while all processes of the candidate are held."""
        if self.gpu is None:
            return 0.0
        for each in sides:
            each.process.hold(True)
        try:
            time.sleep(_HELD_SECONDS)
            return self.gpu.wait_seconds()
        finally:
            for each in sides:
                each.process.hold(False)

    def _busy_gpu(self, rounds: Sequence[timing.Times], quiet: float) -> Trouble | None:
        """Work that never rests shows beside the reference, too: it is the candidate's where it is gone while its processes are held."""
        waits = [one for each in rounds for one in each.waits]
        if not waits or np.median(waits) <= max(5.0 * quiet, timing.BUSY_SECONDS):
            return None
        return Trouble("idle-work", f"The clocks disagree: the GPU was busy while nothing was asked of it. The smallest work waited {np.median(waits) * 1e3:.3g} ms, "
                                    f"and {quiet * 1e3:.3g} ms while its processes were held.")

    def _recorded_side(self) -> Side | None:
        if self._injection is None:
            return None
        made = self.side(self.problem.adapter, self.problem.file, self.problem.reference_facts, hidden=False, recorded=True)
        self._trusted.append(made)
        return made

    def _start_trusted(self, recorded: Side | None) -> None:
        """The reference; on a GPU all that is no candidate's at once, as each takes seconds to load its libraries."""
        sides = [self.reference] if self.gpu is None else [*self._trusted]
        started = [self.starters.submit(each.start, *self._sizes, self._memory) for each in sides]
        for each, side in zip(started, sides):
            error = each.exception()
            if error is not None and side is not recorded:
                raise error

    def _record_reference(self, side: Side | None) -> None:
        """The reference's activity records, for its own time on the GPU, and to know whether there are any here."""
        if self.gpu is None:
            return
        found, found_warm, why = None, None, "this gpubench has no library for them"
        if side is not None:
            why = "the reference's process left none"
            try:
                if side.loaded:
                    with self.turns.alone():
                        calls = self._calls_of_batch(side)
                        self._warm_calls = self._calls_within_cache(self.probes[0])
                        warm, batches = self._all_recorded(side, calls)
                    found, found_warm = self._records_of(side, warm, batches, calls)
            except Trouble as trouble:
                why = trouble.text.removesuffix(".")
        if found is not None and found_warm is not None and found.found:
            self._records = records.Clock(found, self._measured_by_harness(found, self._calls_beyond_cache(self.probes[0])))
            if found_warm.device_seconds is not None:
                self._warm = records.Clock(found_warm, self._measured_by_harness(found_warm, 1) if self._records.harness is not None else None)
        else:
            self._injection = None
            self.notes.append(f"Clocks are not held against activity records of the GPU: {why}.")

    def _measured_by_harness(self, recorded: records.Recorded, calls: int) -> records.Harness | None:
        """The reference with inputs of so many calls in turns, in one of its processes. One in which that fails is given up: who knows what it left there."""
        assert self.gpu is not None
        side, probe = self.references[-1], self.probes[0]
        if not side.loaded or recorded.kernels == 0.0:
            return None
        with self.turns.alone():
            try:
                inputs = self._fresh()
                side.place(probe.skeleton, probe.specs, probe.outputs, calls)
                for slot in range(calls):
                    side.fill(slot, inputs.arrays, inputs.skeleton)
                self.gpu.synchronize()
                found = side.process.ask("harness_seconds", path=str(Path(__file__).parents[2]),
                                         options={"time_budget": _HARNESS_SECONDS, **self.gpu.harness_options()})
            except Trouble as trouble:
                found = trouble.text
                side.close()
                fresh = self.side(self.problem.adapter, self.problem.file, self.problem.reference_facts, hidden=False)
                self._trusted[self._trusted.index(side)] = self.references[-1] = fresh
                fresh.start(*self._sizes, self._memory)
                self.reference = self.references[0]
        if not isinstance(found, str):
            return records.Harness(float(found), recorded.kernels)
        self.notes.append(f"Times on the device hold what recording adds to kernels, as gpubench's own harness does not measure the reference: {found.removesuffix('.')}.")
        return None

    def _all_recorded(self, side: Side, calls: int, check: Callable[[int, timing.Inputs], None] = lambda *_: None) -> tuple[list[Timed], list[Timed]]:
        """Batches of a recorded process whose inputs the GPU's cache holds, where it can, and then of others. `check` gets a call of each, which nobody knows before."""
        warm = self._recorded_batches(side, self._warm_calls, check, cold=False) if self._warm_calls else []
        return warm, self._recorded_batches(side, calls, check)

    def _recorded_batches(self, side: Side, calls: int, check: Callable[[int, timing.Inputs], None], cold: bool = True) -> list[Timed]:
        probe, batches = self.probes[0], []
        side.place(probe.skeleton, probe.specs, probe.outputs, calls)
        for which in np.random.default_rng().integers(calls, size=1 + _RECORDED_BATCHES):  # the first one warms up
            for slot in range(calls):
                inputs = self._fresh()
                side.fill(slot, inputs.arrays, inputs.skeleton)
                if slot == which:
                    checked = inputs
            batches.append(side.run(cold=cold))
            check(int(which), checked)
        return batches[1:]

    def _check_recorded(self, side: Side, slot: int, inputs: timing.Inputs, result: Result) -> None:
        """Who does less while it is recorded would seem to be fast. Throws Trouble."""
        probe = self.probes[0]
        with result.phase("compare"):
            self.reference.place(probe.skeleton, probe.specs, probe.outputs, len(side.slots))
            self.reference.fill(slot, inputs.arrays, inputs.skeleton)
            timing.run_reference(self.reference)
            doubt = self.checker.compare_call(side, slot, inputs, side.outputs(slot), self.reference.outputs(slot), "while its work on the GPU is recorded", result)
            settle([doubt], self._maker.own_error)

    def _records_of(self, side: Side, warm: Sequence[Timed], batches: Sequence[Timed], calls: int,
                    others: Sequence[Side] = ()) -> tuple[records.Recorded, records.Recorded]:
        """What a recorded process leaves of its batches, and of the warm ones. It is ended by that, and `others` with it, as each takes its time."""
        with self.turns.beside_others():
            ended = [self.starters.submit(each.close) for each in others]
            side.process.end()
            for each in ended:
                each.result()
        work = records.read(f"{side.process.folder}/records")
        side.close()
        sizes = [layout.extent_bytes(spec) for spec in self.probes[0].outputs]

        def summed_up(these: Sequence[Timed], calls: int, warm_up: int = 0) -> records.Recorded:
            return records.summed_up(work, [each.window_ns for each in these], calls, sizes, not side.writes_into, warm_up)

        return summed_up(batches, calls), summed_up(warm, self._warm_calls, self._warm_calls // 2)

    def _copy_seconds(self, plan: timing.Plan) -> float:
        """What copying the outputs of one call takes the GPU."""
        assert self.gpu is not None
        targets = [[self.reference.memory.outputs.view(spec) for spec in slot["outputs"]] for slot in self.reference.slots[:plan.calls]]
        return self.gpu.copy_seconds(self.probes[0].expected, targets)

    def _calls_of_batch(self, *sides: Side) -> int:
        """By the fastest of three calls of each side, each with inputs of its own."""
        probe = self.probes[0]
        self._start_nothing(probe)
        self.nothing.place(probe.skeleton, probe.specs, probe.outputs, 1)
        samples: list[float] = []
        made: list[float] = []
        for _ in range(3):
            start = time.perf_counter()
            inputs = self._fresh()
            if self.gpu is not None:
                self.gpu.synchronize()
            made.append(time.perf_counter() - start)
            empty = self.nothing.run(empty=True).undisturbed if self.gpu is not None else 0.0
            for each in sides:
                each.place(probe.skeleton, probe.specs, probe.outputs, 1)
                each.fill(0, inputs.arrays, inputs.skeleton)
                timed = timing.run_reference(each) if each is self.reference else each.run()
                samples.append(max(timed.undisturbed - empty, 2e-6))
            sides[0].earlier.add(sides[0].all_outputs()[0])
        target = _GPU_BATCH_SECONDS if self.gpu is not None else timing.BATCH_SECONDS
        return timing.calls_of_batch(samples, max(made[1:]), self._call_bytes(probe), self._batch_bytes, target)

    def _calls_beyond_cache(self, probe: Probe) -> int:
        """So many that no call finds its inputs in the cache, where they come in turns; no more than fit."""
        assert self.gpu is not None
        bytes_of_call = max(self._call_bytes(probe), 1)
        return max(1, min(1 + math.ceil(2 * self.gpu.cache_bytes() / bytes_of_call), timing.MAX_CALLS, self._batch_bytes // bytes_of_call))

    def _calls_within_cache(self, probe: Probe) -> int:
        """So many that half of the cache holds the arrays of all, and one more result that is copied from; the first half of them brings code and addresses there.
        0 where those are less than two."""
        assert self.gpu is not None
        results = floor.bytes_of(probe.expected)
        calls = (self.gpu.cache_bytes() // 2 - results) // max(floor.bytes_of(probe.arrays) + results, 1)
        return min(int(calls), _WARM_CALLS) if calls >= 2 else 0

    def _call_bytes(self, probe: Probe) -> int:
        """Of inputs and outputs; on a GPU, where each have a region, of what is more."""
        sizes = [layout.place(specs, 0)[1] for specs in (probe.specs, probe.outputs)]
        return sum(sizes) if self.gpu is None else max(sizes)

    def _round(self, side: Side, reference: Side, plan: timing.Plan, result: Result, times: timing.Times) -> None:
        """A visit of one process of each side."""
        probe = self.probes[0]
        if times.blocks:  # since the visit before
            times.idle_cpu += side.process.idle_cpu()
            times.reference_idle_cpu += reference.process.idle_cpu()
        for each in (side, reference, self.nothing):
            each.place(probe.skeleton, probe.specs, probe.outputs, plan.calls)
        random = np.random.default_rng()
        share = timing.share_checked(self._call_bytes(probe) * plan.calls, plan.calls)
        before: list[Any] = []
        doubts: list[Doubt | None] = []

        def check(slot: int, inputs: timing.Inputs, outputs: list[Any], expected: list[Any]) -> None:
            if random.random() < share or inputs.came_late:
                side.earlier.keep(before)
                side.refuse_changed_input(slot, inputs.arrays)
                doubts.append(self.checker.compare_call(side, slot, inputs, outputs, expected, f"in timed call {result.calls_timed + 1}", result))
            result.calls_timed += 1
            side.earlier.count()
            before[:] = outputs

        def checked(*of_call: Any) -> None:
            with result.phase("compare"):
                check(*of_call)

        timing.take_turns(reference, side, self.nothing, plan, self._fresh, checked, times, self._hidden)
        with result.phase("compare"):
            settle(doubts, self._maker.own_error)  # after which the reference has other places

    def _fresh(self) -> timing.Inputs:
        tree = self.problem.fresh(self.problem.cases[0])
        skeleton, _, given = self.reference.arrays_of(tree)
        return timing.Inputs(tree, given, skeleton)

    def _time_cold(self, side: Side, result: Result) -> None:
        probe = self.probes[0]
        self._flush = self._flush or timing.Flush()
        doubts: list[Doubt | None] = []

        def check(slot: int, inputs: timing.Inputs, outputs: list[Any], expected: list[Any]) -> None:
            doubts.append(self.checker.compare_call(side, slot, inputs, outputs, expected, "with cold caches", result))

        for each in (self.reference, side, self.nothing):
            each.place(probe.skeleton, probe.specs, probe.outputs, 1)
        result.cold_seconds = timing.cold_seconds(self.reference, side, self.nothing, self._fresh, check, self._flush)
        settle(doubts, self._maker.own_error)
        if result.cold_seconds is None:
            result.notes.append("There is no cold time: a call is too short for the clock.")

    def _classify(self, times: timing.Summary, probe: Probe, moved: float, flops: Mapping[str, float], result: Result) -> None:
        """Regime and advice, where the device's ceilings are known."""
        seconds = [each for each in (replace(times, rounds=[one]).seconds("candidate") for one in times.rounds) if each is not None]
        if self._calibration is None or not seconds:
            return
        written = min(moved, float(floor.bytes_of(probe.expected)))
        footprint = float(floor.bytes_of(probe.arrays + probe.expected))
        work = {"bytes_read": moved - written, "bytes_written": written, "footprint_bytes": footprint, "flops": dict(flops)}
        point = Calibration(self._calibration).judged("candidate", seconds, work, "the judge's")[0]
        if point.regime == "latency" and not flops:  # which may be what it does all the time
            result.regime = "unknown"
            return
        result.regime, result.regime_confidence = point.regime or None, point.confidence
        if point.advice:
            result.next_step = f"{point.advice[0]['action'][:1].upper()}{point.advice[0]['action'][1:]}.".replace("..", ".")

    def _start_nothing(self, probe: Probe) -> None:
        """The call that does nothing, for outputs of this kind."""
        kind = [[spec, layout.extent_bytes(spec)] for spec in probe.outputs]
        if self._nothing_kind == kind:
            return
        self._nothing_kind = kind
        self.nothing.set_returns(kind)
        if self.nothing.loaded:
            self.nothing.load()
        else:
            self.nothing.start(*self._sizes, self._memory)

    def _sum_up(self, times: timing.Summary, plan: timing.Plan, result: Result, recorded: float | None) -> None:
        """`recorded`: seconds of work on the GPU in a call."""
        probe = self.probes[0]
        result.speedup, why = times.speedup()
        if result.speedup is None:
            result.notes.append(f"There is no speed-up: {why}.")
        else:
            result.tie = result.speedup.low <= 1.0 <= result.speedup.high or abs(result.speedup.value - 1.0) < 0.01
        result.seconds, result.reference_seconds = times.seconds("candidate"), times.seconds("reference")
        moved, flops = self._work_of(probe)
        least = floor.floor_of(self._calibration, self._why_no_calibration, moved,
                               floor.bytes_of(probe.arrays + probe.expected) * plan.calls, flops, self.problem.precision)
        result.floor_seconds, result.limiter, result.floor_basis = least.seconds, least.limiter or None, least.basis
        if least.seconds is None:
            result.notes.append(f"There is no floor: {least.basis.removesuffix('.')}.")
        elif result.seconds is not None:
            result.floor_share = least.seconds / result.seconds
            gross = min(float(each.batches("candidate").min()) for each in times.rounds)
            if least.least is not None and gross < least.least:
                needs = f"{_core.label_of(least.limiter)} of this device needs at least {least.seconds * 1e6:.4g} us for it ({least.basis})"
                raise Trouble("floor", f"A call takes {gross * 1e6:.4g} us, but {needs}.")
        if least.least is not None and recorded is not None and recorded < 0.9 * least.least:
            raise Trouble("tampering", f"Its activity records show {recorded * 1e6:.4g} us of work for a call, less than the device can do it in: "
                                       f"{least.least * 1e6:.4g} us ({least.basis}). Work is hidden from them.")
        nothing = times.gross("nothing")
        result.next_step = floor.next_step(least, result.seconds, nothing)
        self._classify(times, probe, moved, flops, result)
        if timing.load_average() > 1.2:
            result.notes.append("The machine was busy, so intervals are wide: more programs than processors wanted to run.")

