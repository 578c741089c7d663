# SPDX-License-Identifier: Apache-2.0
"""gpubench trace timeline, flame and the page of diff as their user meets them. Arguments: the program, a folder with traces."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, TRACES = sys.argv[1], pathlib.Path(sys.argv[2])
KINETO = str(TRACES / "kineto.json")


class TracePages(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-trace-pages-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def gpubench(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], env=dict(os.environ, COLUMNS="80"), capture_output=True, text=True, timeout=300)

    def fine(self, *arguments):
        result = self.gpubench(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def written(self, name, *arguments):
        file = self.folder / name
        self.fine("trace", *arguments, f"--out={file}")
        return file.read_text()

    def test_flame_graph_in_all_formats(self):
        tree = json.loads(self.fine("trace", "flame", KINETO, "--json"))
        self.assertEqual(tree["name"], "all")
        self.assertAlmostEqual(tree["value"], sum(child["value"] for child in tree["children"]) + tree["self"], places=3)
        self.assertEqual(json.loads(self.written("a.json", "flame", KINETO)), tree)
        folded = self.written("a.folded", "flame", KINETO)
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), round(1000 * tree["value"]))
        self.assertTrue(all(line.startswith("all;") for line in folded.splitlines()))
        scope = json.loads(self.written("a.speedscope.json", "flame", KINETO))
        self.assertEqual(scope["profiles"][0]["endValue"], round(1000 * tree["value"]))
        page = self.written("a.html", "flame", KINETO)
        self.assertIn("Flame graph", page)
        self.assertNotIn('src="http', page)

    def test_knobs(self):
        host = json.loads(self.fine("trace", "flame", KINETO, "--json", "--time=host"))
        flat = json.loads(self.fine("trace", "flame", KINETO, "--json", "--time=host", "--max-depth=1"))
        depth = lambda node: 1 + max(map(depth, node["children"]), default=0)
        self.assertEqual(flat["value"], host["value"])
        self.assertGreater(depth(host), depth(flat))
        pruned = json.loads(self.fine("trace", "flame", KINETO, "--json", "--time=host", "--min-duration-us=1e6"))
        self.assertEqual((pruned["children"], pruned["self"]), ([], host["value"]))

    def test_timeline_and_diff_are_pages(self):
        self.assertIn("Timeline", self.written("t.html", "timeline", KINETO))
        self.assertIn("What changed, by stack", self.written("d.html", "diff", KINETO, KINETO))

    def test_wrong_words(self):
        for arguments, words in (((("timeline", KINETO)), "needs --out=FILE.html"), (("flame", KINETO), "needs --out=FILE"),
                                 (("flame", KINETO, "--out=a.pdf"), "this can be written as .html"), (("flame", KINETO, "--json", "--time=cpu"), "gpu"),
                                 (("flame", KINETO, "--json", "--max-depth=0"), "--max-depth")):
            result = self.gpubench("trace", *arguments)
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
