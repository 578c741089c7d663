# SPDX-License-Identifier: Apache-2.0
"""gpubench trace as its user meets it. Arguments: the program, two folders with traces of PyTorch, a
calibration of an H200."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from command_line import FolderTest

TRACES, DATA, CALIBRATION = map(pathlib.Path, sys.argv[2:5])
KINETO = str(TRACES / "kineto.json")


class Trace(FolderTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=type(self).folder))

    def refused(self, *arguments, code=64):
        result = self.gpubench(*arguments)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def test_names_of_others(self):
        self.assertEqual(self.fine("hta", KINETO), self.fine("trace", "hta", KINETO))
        for name in ("flame", "timeline"):
            self.assertEqual(self.fine("help", name), self.fine("help", "trace", name))
        written = self.folder / "copy.trace.json"
        self.fine("trace", "convert", KINETO, "-o", written)
        self.assertGreater(len(json.loads(written.read_text())["traceEvents"]), 10)

    def test_a_file_alone_is_summed_up(self):
        self.assertEqual(self.fine("trace", KINETO), self.fine("trace", "summary", KINETO))
        self.assertIn("this is a trace: gpubench trace", self.refused("report", KINETO))

    def test_a_step_is_a_stack_that_adds_up(self):
        for traces, gpus in (([DATA / "train.json.gz"], 1), ([DATA / "compiled.json.gz"], 1), ([DATA / "graph.json.gz"], 1),
                             ([DATA / f"ddp_rank{rank}.json.gz" for rank in (0, 1)], 2)):
            for ceilings in ([], [f"--calibration={CALIBRATION}"]):
                told = json.loads(self.fine("trace", "steps", *traces, *ceilings, "--json"))
                self.assertEqual(len(told["steps"]), gpus)
                for step in told["steps"]:
                    parts = [part for part in told["step_parts"] if part["gpu"] == step["gpu"]]
                    self.assertAlmostEqual(sum(part["seconds"] for part in parts) / step["seconds"], 1.0, delta=0.02)
                    self.assertAlmostEqual(sum(part["share"] for part in parts), 1.0, delta=0.02)
                    self.assertLess(step["free_launch_seconds"], step["seconds"])
                    has_roofs = bool(ceilings) and traces[0].name == "train.json.gz"  # the others have no shapes
                    self.assertEqual(step["at_roof_seconds"] is not None, has_roofs, traces)
                    if has_roofs:
                        self.assertLessEqual(step["both_seconds"], step["at_roof_seconds"])
                        self.assertTrue(any(part["part"] == "above-roof" and part["kernel"].startswith("aten::") for part in parts))
        self.assertIn("--calibration=FILE gives them", self.fine("trace", "steps", DATA / "train.json.gz").replace("\n", " "))

    def test_a_step_is_drawn_and_may_be_a_range(self):
        train, page = DATA / "train.json.gz", self.folder / "steps.html"
        self.fine("trace", "steps", train, f"--calibration={CALIBRATION}", f"--out={page}")
        self.assertRegex(page.read_text(), r'<span class="part-above-roof" style="flex-grow:0\.\d+"')
        told = json.loads(self.fine("trace", "steps", train, "--range=Optimizer.step#AdamW.step", "--json"))
        self.assertEqual([(step["by"], step["count"]) for step in told["steps"]], [("range Optimizer.step#AdamW.step", 3)])
        self.assertIn("there is no range 'no such'", self.refused("trace", "steps", train, "--range=no such"))
        self.assertIn("No steps were found", self.fine("trace", "steps", KINETO))

    def test_parts_are_selected_for_every_action(self):
        train = str(DATA / "train.json.gz")
        whole = json.loads(self.fine("trace", "kernels", train, "--json"))["kernels"]
        part = json.loads(self.fine("trace", "kernels", train, "--json", "--iteration=1"))["kernels"]
        self.assertLess(sum(row["count"] for row in part), sum(row["count"] for row in whole) / 2)
        self.assertGreater(sum(row["count"] for row in part), 0)
        path = json.loads(self.fine("trace", "critical-path", train, "--json", "--from=0.001", "--to=0.002"))
        self.assertLessEqual(path["end_seconds"], 0.002)
        ranks = [str(DATA / f"ddp_rank{rank}.json.gz") for rank in (0, 1)]
        self.assertEqual([gpu["rank"] for gpu in json.loads(self.fine("trace", "summary", *ranks, "--rank=1", "--json"))["gpus"]], [1])
        self.assertIn("there is no iteration 99", self.refused("trace", "summary", train, "--iteration=99"))
        self.assertIn("there is no range 'none'", self.refused("trace", "summary", train, "--range=none"))
        self.assertIn("takes a number", self.refused("trace", "summary", train, "--from=x"))

    def test_what_was_written_is_said(self):
        for action, ending in (("summary", "json"), ("kernels", "csv"), ("flame", "html"), ("timeline", "html"), ("convert", "perfetto-trace")):
            out = self.folder / f"said.{ending}"
            self.assertIn(f"gpubench: wrote {out}", self.gpubench("trace", action, KINETO, "--out", out).stderr.splitlines(), action)
            self.assertNotIn("wrote", self.gpubench("trace", action, KINETO, "--quiet", "--out", out).stderr, action)

    def test_wrong_words(self):
        self.assertIn("Did you mean summary?", self.refused("trace", "sumary"))
        self.assertIn("needs an action: summary, ", self.refused("trace"))
        self.assertIn("this can be written as .json", self.refused("trace", "summary", KINETO, "--out=a.pdf"))
        self.assertIn("needs --out=FILE", self.refused("trace", "convert", KINETO))

    def test_any_format(self):
        recording = TRACES.parent.parent / "profile" / "data" / "plain_program.gprec"
        as_recording = self.fine("trace", "kernels", recording)
        for written in ("copy.perfetto-trace", "copy.trace.json"):
            self.fine("trace", "convert", recording, "-o", self.folder / written)
            self.assertEqual(self.fine("trace", "kernels", self.folder / written), as_recording)
        self.assertIn("saxpy", self.fine("trace", "kernels", TRACES / "official.perfetto-trace"))

    def test_two_files_of_one_rank(self):
        shutil.copy(KINETO, self.folder / "other.json")
        message = self.refused("trace", "summary", KINETO, self.folder / "other.json")
        self.assertIn("two traces are of rank 0: ", message)
        self.assertIn("other.json", message)

    def test_what_a_folder_of_captures_says_is_no_trace(self):
        details = self.folder / "execution_details.json"
        details.write_text('[{"file": "bs_32_rank0.json.gz", "batch_size": 32, "mode": "FULL"}]')
        self.assertIn("give the trace beside it", self.refused("trace", "summary", details))
        deep = self.folder / "a" / "b"
        deep.mkdir(parents=True)
        shutil.copy(KINETO, deep / "trace.json")
        self.assertEqual(self.fine("trace", "kernels", self.folder), self.fine("trace", "kernels", KINETO))

    def test_files_that_are_none(self):
        self.assertIn("No such file", self.refused("trace", "summary", self.folder / "none.json"))
        self.assertIn("No such file", self.refused("trace", self.folder / "none.json"))
        self.assertIn("this folder has no trace", self.refused("trace", "summary", self.folder))


class Kept(Trace):
    """Two ranks and a training step on an H200, as PyTorch 2.11 recorded them."""

    ranks = [str(DATA / f"ddp_rank{rank}.json.gz") for rank in (0, 1)]
    train = str(DATA / "train.json.gz")

    def test_summary_leads_with_what_to_do(self):
        lines = self.fine("trace", "summary", *self.ranks).splitlines()
        self.assertEqual(lines[0], "What to do first")
        self.assertTrue(lines[1].startswith("1. "))
        self.assertTrue(any("entered last" in line for line in lines))

    def test_json_has_the_fields_of_the_seed(self):
        summary = json.loads(self.fine("hta", self.train, "--json"))
        for field in ("gpu_idle_time_pct", "compute_time_pct", "communication_time_pct", "total_time_ms", "cuda_time_ms", "cpu_time_ms", "peak_memory_mb",
                      "allocated_memory_mb", "reserved_memory_mb", "total_time_us", "cpu_active_time_us", "gpu_active_time_us", "overlap_time_us"):
            self.assertIsInstance(summary[field], (int, float), field)
        self.assertAlmostEqual(summary["cuda_time_ms"], 6.727, delta=0.007)  # PyTorch's table: no two kernels overlap
        self.assertAlmostEqual(summary["reserved_memory_mb"], 880.80384)
        self.assertEqual(summary["total_time_us"], 1000 * summary["total_time_ms"])
        self.assertLessEqual(summary["overlap_time_us"], summary["gpu_active_time_us"])
        self.assertLessEqual({"name", "time_us"}, set(summary["top_kernels"][0]))
        self.assertAlmostEqual(summary["kernels"][0]["cuda_time_us"], 578.502)
        self.assertEqual(len(summary["bottlenecks"]), len(summary["recommendations"]))
        ranks = json.loads(self.fine("trace", "summary", *self.ranks, "--json"))
        for finding in ranks["findings"]:
            self.assertTrue(all(finding[key] for key in ("code", "text", "evidence", "advice", "threshold")), finding)
        self.assertEqual([gpu["rank"] for gpu in ranks["gpus"]], [0, 1])
        self.assertAlmostEqual(ranks["gpus"][0]["communication_seconds"], 18239.037e-6)
        self.assertIn(" communication ", self.fine("trace", "summary", *self.ranks))
        self.assertNotIn(" communication ", self.fine("trace", "summary", self.train), "where there is none, no column of zeros")

    def test_every_command_writes_json(self):
        for command, field in (("summary", "gpus"), ("idle", "queues"), ("kernels", "kernels"), ("memory", "memory"), ("critical-path", "sums"), ("flame", "frames"),
                               ("iterations", "iterations"), ("copies", "copies"), ("launches", "launches"), ("hta", "top_kernels"), ("timeline", "slices")):
            printed = json.loads(self.fine("trace", command, self.train, "--json"))
            self.assertIn(field, printed)
            file = self.folder / f"{command}.json"
            self.assertEqual(self.fine("trace", command, self.train, "-o", file), "")
            self.assertEqual(json.loads(file.read_text()), printed)

    def test_text_fits_80_columns_on_a_terminal_without_escapes_in_pipes(self):
        for command in ("summary", "idle", "kernels", "memory", "critical-path"):
            self.assertNotIn("\x1b", self.fine("trace", command, self.train))
        self.assertIn("\x1b[1m", self.fine("trace", "summary", self.train, "--color=always"))

    def test_kernels_by(self):
        self.assertIn("aten::mm", self.fine("trace", "kernels", self.train, "--by=operator"))
        self.assertIn("stream 7", self.fine("trace", "kernels", self.ranks[0], "--by=stream"))
        file = self.folder / "kernels.csv"
        self.fine("trace", "kernels", self.train, f"--out={file}")
        self.assertTrue(file.read_text().startswith("name,kind,count,total_seconds,"))

    def test_diff(self):
        difference = json.loads(self.fine("trace", "diff", *self.ranks, "--json"))
        self.assertEqual((difference["iterations_by"], difference["base_iterations"], difference["reason"]), ("ProfilerStep", 3, ""))
        self.assertEqual([row["name"] for row in difference["whole"]],
                         ["from first to last", "work on the GPU", "one iteration", "work on the GPU in one iteration"])
        low, high = (difference["whole"][2][f"difference_{end}_seconds"] for end in ("low", "high"))
        self.assertLess(low, high)
        self.assertIn("needs more arguments", self.refused("trace", "diff", self.train))

    def test_the_critical_path_is_drawn(self):
        page = self.folder / "path.html"
        self.fine("trace", "critical-path", self.train, "--by=range", f"--out={page}")
        for words in ("critical path", "compute: ", "ProfilerStep"):
            self.assertIn(words, page.read_text())

    def test_an_operator_is_called_again(self):
        inputs = {"Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"], "Input Strides": [[4, 1], [2, 1]], "Concrete Inputs": ["", ""]}
        file, script = self.folder / "mm.json", self.folder / "mm.py"
        file.write_text(json.dumps({"traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 100, "args": inputs},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {"correlation": 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 200, "dur": 20, "args": {"device": 0, "stream": 7, "correlation": 1}}]}))
        self.fine("trace", "replay", file, f"--out={script}")
        compile(script.read_text(), script, "exec")
        calls = script.read_text().split("CALLS = ")[1].split("\n)]")[0].splitlines()[1:]
        self.assertEqual(json.loads(json.loads(calls[0].strip().rstrip(",")))["strides"], [[4, 1], [2, 1]])
        rows = json.loads(self.fine("trace", "replay", file, "--operator=aten::mm", "--json"))["replay"]
        self.assertEqual([(row["operator"], row["count"], row["why_not"]) for row in rows], [("aten::mm", 1, "")])
        self.assertIn("there are aten::mm", self.refused("trace", "replay", file, "--operator=none", f"--out={script}"))

    def test_collectives_of_two_ranks(self):
        files = []
        for rank in (0, 1):
            event = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": rank, "tid": 7, "ts": 100 + 40 * rank, "dur": 100 - 40 * rank,
                     "args": {"device": rank, "stream": 7, "correlation": 1, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
                              "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}}
            call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5 + rank, "tid": 1, "ts": 50, "dur": 5, "args": {"correlation": 1}}
            files.append(self.folder / f"rank{rank}.json")
            files[-1].write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": [call, event]}))
        (row,) = json.loads(self.fine("trace", "collectives", *files, "--json"))["collectives"]
        self.assertEqual((row["collective"], row["group"], row["count"], row["bytes"]), ("allreduce", "0 [0, 1]", 1, 4000))
        self.assertAlmostEqual(row["latency_seconds"], 60e-6, 12)
        self.assertAlmostEqual(row["start_skew_seconds"], 40e-6, 12)
        self.assertAlmostEqual(row["bus_rate"], 4000 / 60e-6, 0)
        for file in files:
            file.write_text(file.read_text().replace("allreduce", "_reduce_scatter_base").replace("1000", "123456789"))
        for line in self.fine("trace", "collectives", *files, "--width=80").splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_verdicts_where_shapes_are_known(self):
        text = self.fine("trace", "summary", self.train, f"--calibration={CALIBRATION}")
        self.assertIn("By the ceilings of NVIDIA H200", text)
        summary = json.loads(self.fine("trace", "summary", self.train, f"--calibration={CALIBRATION}", "--json"))
        product = next(row for row in summary["verdicts"] if row["operator"] == "aten::mm")
        self.assertGreater(product["flops"], 0)
        self.assertIn(product["regime"], ("compute", "memory", "latency", "overhead"))
        without = json.loads(self.fine("trace", "summary", self.ranks[0], f"--calibration={CALIBRATION}", "--json"))
        self.assertEqual(without["verdicts"], [])
        self.assertIn("record_shapes=True", without["verdicts_rest"])

    def test_verdicts_of_convolutions(self):
        def launched(number, operator, values, kernel):
            start = number * 1000.0
            shapes = {"Input Dims": [[32, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []], "Input type": ["float", "float"] + 7 * [""]}
            return [{"ph": "X", "cat": "cpu_op", "name": operator, "pid": 1, "tid": 1, "ts": start, "dur": 100, "args": dict(shapes, **values)},
                    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start + 10, "dur": 5, "args": {"correlation": number}},
                    {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": start + 200, "dur": 100, "args": {"device": 0, "stream": 7, "correlation": number, "grid": [800, 1, 1], "block": [256, 1, 1]}}]

        values = {"Concrete Inputs": ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "True"]}
        file = self.folder / "convolutions.json"
        file.write_text(json.dumps(indent=1, obj={"traceEvents": launched(1, "aten::cudnn_convolution", values, "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw")
                                    + launched(2, "aten::cudnn_convolution", {}, "implicit_convolve_sgemm") + launched(3, "aten::fancy", {}, "fancy")}))
        summary = json.loads(self.fine("trace", "summary", file, f"--calibration={CALIBRATION}", "--json"))
        self.assertEqual(len(summary["verdicts"]), 1)
        row = summary["verdicts"][0]
        self.assertEqual(row["flops"], 2 * 32 * 64 * 56 * 56 * 64 * 3 * 3)
        self.assertAlmostEqual(row["flops_per_byte"], row["flops"] / row["bytes"])
        self.assertAlmostEqual(row["flops_per_second"] / (row["flops"] / row["median_seconds"]), 1.0)
        self.assertEqual(row["inputs"], "[32,64,56,56][64,64,3,3] [[1,1],[1,1],[1,1],1,False,False,True]")
        self.assertLess(row["achieved"], 1.0, "TF32 by the kernel's name: on the vector pipe it were 120 %")
        for words in ("convolutions and attention", "aten::fancy"):
            self.assertIn(words, summary["verdicts_rest"])

    def test_what_can_be_read_is_kept(self):
        import gzip
        cut = self.folder / "cut.json"
        text = gzip.open(self.train).read()
        cut.write_bytes(text[: len(text) * 9 // 10])
        result = self.gpubench("trace", "summary", cut)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("What to do first", result.stdout)
        self.assertIn("what came before is kept", result.stderr)

    def test_a_trace_of_a_cpu_alone(self):
        event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0}
        file = self.folder / "cpu.json"
        file.write_text(json.dumps({"traceEvents": [event]}))
        result = self.gpubench("trace", "summary", file)
        self.assertEqual(result.returncode, 0)
        self.assertIn("no work of a GPU", result.stderr)
        self.assertIn("5.00 us of the host alone", result.stdout)
        self.assertRegex(result.stdout, r"aten::mm +1 +5.00 us +100 % +5.00 us")
        self.assertNotIn("Nothing stands out", result.stdout)
        self.assertIn("in 1 part.", " ".join(self.fine("trace", "critical-path", file).split()))
        changed = self.fine("trace", "diff", file, file)
        self.assertNotIn("work on the GPU ", changed)
        self.assertEqual(" ".join(changed.split()).count("whole traces"), 1)
        for command in ("idle", "kernels"):
            self.assertIn("no work of a GPU", self.refused("trace", command, file, code=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
