# SPDX-License-Identifier: Apache-2.0
"""Executes docs/notebooks: the code cells by themselves, on the device at hand, and in Jupyter's kernel where that is installed. No time is asserted."""
import ast
import importlib.util
import json
import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))
VEGA_LITE = "application/vnd.vegalite.v6+json"


def cells_of(file):
    return json.loads(file.read_text(encoding="utf-8"))["cells"]


def test_there_are_three():
    assert [file.stem for file in NOTEBOOKS] == ["operators", "training_step", "triton_kernel"]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_it_is_small_and_kept_without_outputs(file):
    assert file.stat().st_size < 30_000 and "SPDX-License-Identifier" in file.read_text(encoding="utf-8")
    for cell in cells_of(file):
        assert cell["cell_type"] == "markdown" or (cell["outputs"] == [] and cell["execution_count"] is None)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_cells_run(file, tmp_path, monkeypatch):
    """As a notebook runs them: one after another, in one namespace, showing the last expression."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": file.stem}
    for place, cell in enumerate(cells_of(file)):
        if cell["cell_type"] != "code":
            continue
        source = tmp_path / f"{file.stem}_{place}.py"  # a file: Triton reads the source of its kernels
        source.write_text("".join(cell["source"]), encoding="utf-8")
        body = ast.parse(source.read_text(encoding="utf-8"), str(source)).body
        shown = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), str(source), "exec"), names)  # noqa: S102
        if shown is not None:
            value = eval(compile(shown, str(source), "eval"), names)  # noqa: S307
            if hasattr(value, "_repr_mimebundle_"):
                print(value._repr_mimebundle_()["text/plain"])


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_it_runs_in_a_kernel(file, tmp_path):
    for needed in ("nbclient", "ipykernel"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"no {needed}: pip install nbclient ipykernel")
    import nbclient
    import nbformat
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    if file.stem == "operators":
        kinds = [set(output.data) for output in outputs if output.output_type == "execute_result"]
        assert len(kinds) == 3, "a calibration, a run and a chart"
        assert all({VEGA_LITE, "text/plain"} <= each for each in kinds) and all("text/html" in each for each in kinds[:2])
        assert any(output.output_type == "stream" and "[" in output.text for output in outputs), "progress stands in the cell"
