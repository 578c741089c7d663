# SPDX-License-Identifier: Apache-2.0
"""Single charts and several runs by the command line. Usage: pictures_test.py GPUBENCH SOURCE_FOLDER"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "reports_html"))
import browser as headless  # noqa: E402

PROGRAM = sys.argv[1]
SOURCE = pathlib.Path(sys.argv[2])
RUN = str(SOURCE / "docs/results/h200/run.json")


def changed(run):
    """The same run with half of its points faster or slower."""
    for number, point in enumerate(run["points"]):
        for timing in point["measurement"]["timings"]:
            seconds, factor = timing["seconds"], 1 + (number % 4 > 1) * (number % 7 - 3) / 8
            ends = [end * factor for end in seconds["median_ci95"]]
            median = seconds["median"] * factor
            seconds.update(median=median, mean=median, median_ci95=ends, minimum=ends[0], lower_quartile=ends[0], upper_quartile=ends[1], maximum=ends[1])
    return run


class Pictures(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-pictures-"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def report(self, *arguments, **environment):
        quiet = ["--quiet"] if any(str(argument).startswith("--out") for argument in arguments) else []
        return subprocess.run([PROGRAM, "report", *quiet, *map(str, arguments)], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment}, timeout=300)

    def assert_refused(self, result, part):
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertIn(part, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)

    def test_specification(self):
        result = self.report(RUN, f"--out={self.folder}/h200-roofline.vl.json", f"--out={self.folder}/x.html")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        spec = json.loads((self.folder / "h200-roofline.vl.json").read_text())
        self.assertIn("vega-lite/v6", spec["$schema"])
        self.assertEqual(len(spec["datasets"]["points"]), 200)
        self.report(RUN, f"--out={self.folder}/x.vl.json", "--chart=time:saxpy")
        spec = json.loads((self.folder / "x.vl.json").read_text())
        self.assertEqual(spec["title"]["text"], "Time against size \u00b7 saxpy")

    def test_drawn_or_said_why_not(self):
        files = [self.folder / name for name in ("map.svg", "overview.png", "roofline.pdf")]
        result = self.report(RUN, *[f"--out={file}" for file in files])
        if result.returncode == 64:
            self.assertIn("pip install vl-convert-python", result.stderr)
            return
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for file, head in zip(files, (b"<svg", b"\x89PNG", b"%PDF-")):
            self.assertEqual(file.read_bytes()[:len(head)], head)

    def test_the_roofline_of_a_traces_operators(self):
        trace, ceilings = SOURCE / "tests/timeline/data/train.json.gz", SOURCE / "docs/results/h200/calibration-full.json"
        file = self.folder / "operators.svg"

        def summary(*arguments):
            return subprocess.run([PROGRAM, "trace", "summary", trace, f"--out={file}", *arguments], capture_output=True, text=True, check=False)

        without = summary()
        self.assertEqual(without.returncode, 64)
        self.assertIn("Give --calibration=FILE", without.stderr)
        result = summary(f"--calibration={ceilings}")
        if "pip install vl-convert-python" in result.stderr:
            self.skipTest("no vl-convert")
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in ("Operators of train.json.gz", "aten::", "FLOP per byte"):
            self.assertIn(words, file.read_text())

    def test_labels_lie_apart_in_print(self):
        """Boxes of all texts, as a browser has them, at the widths of a column and of a page."""
        path = headless.find()
        if not path:
            self.skipTest("no browser")
        page = headless.Browser(path)
        self.addCleanup(page.close)
        pile = '<svg width="90" height="40"><text x="9" y="20">one</text><text x="12" y="20">two</text><text x="80" y="20">three</text></svg>'
        pictures = {"pile": pile}
        later = self.folder / "later.json"
        later.write_text(json.dumps(changed(json.loads(pathlib.Path(RUN).read_text()))))
        both, narrow, wide = [RUN, later], "--width=85mm", "--width=170mm"
        # A chart, its runs, how it is drawn, and labels that it must have.
        cases = (("roofline", [RUN], [narrow], ["gemm_bf16", "saxpy", "dot"]), ("roofline", [RUN], [], ["gemm_bf16", "saxpy", "dot"]),
                 ("overview", [RUN], [narrow], ["triad", "gemm_fp32"]),
                 ("overview", [RUN], [wide, "--theme=dark"], ["triad", "gemm_fp32"]), ("overview", [RUN], ["--filter=^copy/"], ["copy"]),
                 ("times", both, [narrow], ["run", "later"]),
                 ("changes", both, [narrow], [r"gemm_fp32/n:\d+"]), ("changes", both, [wide, "--theme=dark"], [r"gemm_fp32/n:\d+"]))
        for number, (chart, runs, style, labels) in enumerate(cases):
            file = self.folder / f"{chart}-{number}.svg"
            result = self.report(*runs, f"--chart={chart}", *style, f"--out={file}")
            if "pip install vl-convert-python" in result.stderr:
                self.skipTest("no vl-convert")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            pictures[file.stem] = file.read_text()
            for label in labels:  # beside the map's axis, or the legend
                self.assertGreater(len(re.findall(f">{label}<", pictures[file.stem])), chart in ("overview", "times"), (file.stem, label))
            if "mm" in "".join(style):
                self.assertIn(f'width="{style[0][8:]}"', pictures[file.stem][:400])
            if "--theme=dark" in style:
                self.assertRegex(pictures[file.stem], f'<text[^>]* fill="#e8ebef"[^>]*>{labels[0]}<')
        for name, svg in pictures.items():
            file = self.folder / "picture.html"
            file.write_text(f'<!DOCTYPE html><meta charset="utf-8"><figure class="chart" id="{name}">{svg}</figure><script>document.documentElement.dataset.charts = 1</script>')
            page.open(file, 1400)
            self.assertEqual(len(page.evaluate(headless.OVERLAPS)), 2 if name == "pile" else 0, (name, page.evaluate(headless.OVERLAPS)))

    def test_for_paper(self):
        """Of a width in millimetres, with a title, in dark."""
        style = ["--width=85mm", "--title=Two <operations>", "--theme=dark", "--filter=^(copy|saxpy)/"]
        spec_file = self.folder / "roofline.vl.json"
        self.assertEqual(self.report(RUN, *style, f"--out={spec_file}").returncode, 0)
        spec = json.loads(spec_file.read_text())
        self.assertEqual((spec["title"]["text"], spec["config"]["background"]), (["Two <operations>"], "#171c22"))
        self.assertEqual({row["operation"] for row in spec["datasets"]["points"]}, {"copy", "saxpy"})
        files = [self.folder / f"roofline.{kind}" for kind in ("svg", "png", "pdf")]
        result = self.report(RUN, *style, *[f"--out={file}" for file in files])
        if "pip install vl-convert-python" in result.stderr:
            self.skipTest("no vl-convert")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        svg = files[0].read_text()
        self.assertRegex(svg, r'^<svg[^>]* width="85mm" height="[0-9.]+mm"')
        self.assertIn("Two &lt;operations&gt;", svg)
        self.assertAlmostEqual(int.from_bytes(files[1].read_bytes()[16:20], "big"), 85 / 25.4 * 300, delta=3)
        box = re.search(rb"/MediaBox\s*\[([0-9. ]+)\]", files[2].read_bytes())
        if box:  # not inside a compressed part
            self.assertAlmostEqual(float(box[1].split()[2]), 85 / 25.4 * 72, delta=1.5)

    def test_without_the_package(self):
        self.assert_refused(self.report(RUN, f"--out={self.folder}/map.svg", GPUBENCH_PYTHON="/nowhere/python"),
                            "pip install vl-convert-python")
        self.assertFalse((self.folder / "map.svg").exists())
        # A module in the working folder is not the package.
        (self.folder / "vl_convert.py").write_text("raise SystemExit('a stranger was imported')")
        bare = self.folder / "bare"
        bare.write_text(f"#!/bin/sh\nexec {sys.executable} -S -E \"$@\"\n")
        bare.chmod(0o755)
        result = subprocess.run([PROGRAM, "report", RUN, "--out=map.svg"], cwd=self.folder, capture_output=True, text=True,
                                check=False, env={**os.environ, "GPUBENCH_PYTHON": str(bare)})
        self.assertNotIn("stranger", result.stderr)

    def test_one_that_fails_costs_the_others_nothing(self):
        junk = self.folder / "junk"
        junk.write_text("#!/bin/sh\necho no picture\n")
        junk.chmod(0o755)
        names = ["map.png", "x.csv", "roofline.svg", "x.html", "map.pdf", "map.vl.json"]
        result = self.report(RUN, *[f"--out={self.folder}/{name}" for name in names], GPUBENCH_PYTHON=str(junk))
        self.assertEqual(result.returncode, 64, result.stderr)
        for name, line in zip(("map.png", "roofline.svg", "map.pdf"), result.stderr.splitlines(), strict=True):
            self.assertIn(f"{self.folder}/{name}: what was to draw it printed 11 bytes that are no {name[-4:]} file", line)
        self.assertEqual({file.name for file in self.folder.iterdir()}, {"junk", "x.csv", "x.html", "map.vl.json"})

    def test_refused(self):
        out = self.folder
        self.assert_refused(self.report(RUN, f"--out={out}/x.svg"), "holds no name of a chart")
        self.assert_refused(self.report(RUN, f"--out={out}/x.vl.json", "--chart=pie"), "no chart 'pie'")
        self.assert_refused(self.report(RUN, f"--out={out}/x.html", "--chart=map"), "Give --out=FILE with .png")
        self.assert_refused(self.report(RUN, "--width=85mm"), "--width in mm are about pictures. Give --out=FILE")
        self.assert_refused(self.report(RUN, f"--out={out}/map.svg", "--width=2mm"), "from 30 to 1000")
        self.assert_refused(self.report(RUN, f"--out={out}/x.vl.json", "--chart=time:none"), "it has copy, saxpy")
        self.assert_refused(self.report(RUN, f"--out={out}/times.vl.json"), "two or more")
        self.assertEqual(list(out.iterdir()), [])

    def test_several_runs(self):
        other = self.folder / "other.json"
        shutil.copy(RUN, other)
        result = self.report(RUN, other, f"--out={self.folder}/x.html", f"--out={self.folder}/changes.vl.json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        page = (self.folder / "x.html").read_text()
        self.assertIn("chart-rooflines", page)
        spec = json.loads((self.folder / "changes.vl.json").read_text())
        self.assertEqual({row["ratio"] for row in spec["datasets"]["changes"]}, {1.0})
        self.assert_refused(self.report(RUN, other, f"--out={self.folder}/x.csv"), "takes one run, not 2")
        text = self.report(RUN, other).stdout
        self.assertIn(f"other ({other})", text)
        self.assertEqual(text.count("gpubench 0."), 2)
        self.assertNotEqual(self.report(*[RUN] * 9).returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
