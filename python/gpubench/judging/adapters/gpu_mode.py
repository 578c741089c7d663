# SPDX-License-Identifier: Apache-2.0
"""GPU MODE's form: reference.py with `generate_input`, `check_implementation` and mostly `ref_kernel`, beside task.yml; a candidate has `custom_kernel`,
which takes what `generate_input` returns as its one argument. Inputs may be changed, as outputs may lie among them: each call has copies."""
from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Callable

_BESIDE = ("task.py", "utils.py")  #: what submissions import, in the folder or the one above
_REFERENCE_NAMES = ("ref_kernel", "reference_kernel", "reference", "custom_kernel")


def matches(path: Path, names: set[str]) -> bool:
    return {"generate_input", "check_implementation"} <= names


def cases_of(text: str) -> dict[str, list[dict[str, Any]]]:
    """`tests` and `benchmarks` of a task.yml, where each case is one line, as GPU MODE writes them: - {"size": 128, "seed": 1}"""
    cases: dict[str, list[dict[str, Any]]] = {"tests": [], "benchmarks": []}
    section = ""
    for line in text.splitlines():
        heading = re.match(r"(\w+):", line)
        if heading:
            section = heading[1]
            if section in ("test", "benchmark"):
                raise ValueError(f"task.yml has `{section}`; write `{section}s`")
        entry = re.match(r"\s*-\s*(\{.*\})\s*(#.*)?$", line)
        if entry and section in cases:
            quoted = re.sub(r"([{,]\s*)([A-Za-z_]\w*)\s*:", r'\1"\2":', entry[1])
            try:
                case = ast.literal_eval(re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", quoted)))
            except (ValueError, SyntaxError):
                raise ValueError(f"task.yml has a case that cannot be read: {entry[1][:100]}") from None
            if isinstance(case, dict):
                cases[section].append(case)
    return cases


def problem(path: Path) -> Any:
    import inspect

    from ... import _core
    from ..problem import Problem
    from . import folders_of, run_problem
    module, files = run_problem(path)
    name = next((each for each in _REFERENCE_NAMES if hasattr(module, each)), None)
    if name is None:
        raise _core.UsageError(f"{path} has no reference: none of {', '.join(_REFERENCE_NAMES)}.")
    task = path.parent / "task.yml"
    found = cases_of(task.read_text(encoding="utf-8")) if task.is_file() else {"tests": [], "benchmarks": []}
    parameters = inspect.signature(module.generate_input).parameters
    # The seeds that a task names are known to candidates: the judge draws its own.
    cases = [{key: value for key, value in case.items() if key != "seed"} for case in (*found["benchmarks"][:1], *found["tests"])] or [{}]

    needed = [name for name, one in parameters.items() if name != "seed" and one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if needed and cases == [{}]:
        why = "has no case that can be read" if task.is_file() else "is not there"
        raise _core.UsageError(f"{task} {why}, and `generate_input` needs {', '.join(needed)}; give cases as GPU MODE writes them: - {{\"{needed[0]}\": 128, \"seed\": 1}}.")

    places = [[folder / name for folder in (path.parent, path.parent.parent) if (folder / name).is_file()] for name in _BESIDE]
    beside = [str(found[0]) for found in places if found]

    def make(case: Any, seed: int) -> Any:
        return module.generate_input(**case, **({"seed": seed} if "seed" in parameters else {}))

    def compare(data: Any, output: Any) -> str:
        answer = module.check_implementation(data, output)
        if isinstance(answer, tuple):
            return "" if answer[0] else str(answer[1] if len(answer) > 1 else "it is not right")
        return "it is not right" if answer is False else str(answer or "") if not isinstance(answer, bool) else ""

    return Problem(name=path.parent.name if path.stem == "reference" else path.stem, file=str(path), adapter=__file__,
                   make=lambda case, seed: (make(case, seed),), cases=cases, compare=lambda tree, output: compare(tree[0], output),
                   reference_facts={"names": [name], "folders": folders_of(path)},
                   candidate_facts={"names": ["custom_kernel"], "checks_itself": True}, beside=beside, mutable=True, hidden_files=[*files, str(task)])


def load(file: str, facts: dict[str, Any]) -> Callable[..., Any]:
    import loading
    return loading.callable_of(file, facts["names"], facts.get("folders", ()))  # type: ignore[no-any-return]
