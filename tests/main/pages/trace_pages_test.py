# SPDX-License-Identifier: Apache-2.0
"""gpubench trace timeline, flame and the page of diff as their user meets them. Arguments: the program, a folder with traces."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import FolderTest  # noqa: E402

TRACES = pathlib.Path(sys.argv[2])
KINETO = str(TRACES / "kineto.json")


class TracePages(FolderTest):
    def written(self, name, *arguments):
        file = self.folder / name
        self.fine("trace", *arguments, f"--out={file}")
        return file.read_text()

    def test_flame_graph_in_all_formats(self):
        frames = json.loads(self.fine("trace", "flame", KINETO, "--json"))["frames"]
        self.assertEqual((frames[0]["name"], frames[0]["parent"]), ("all", None))
        total = frames[0]["total_seconds"]
        self.assertAlmostEqual(total, sum(frame["self_seconds"] for frame in frames))
        self.assertTrue(all(frame["parent"] < frame["frame"] for frame in frames[1:]))
        self.assertEqual(json.loads(self.written("a.json", "flame", KINETO))["frames"], frames)
        folded = self.written("a.folded", "flame", KINETO)
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), round(1e9 * total))
        self.assertTrue(all(line.startswith("all;") for line in folded.splitlines()))
        page = self.written("a.html", "flame", KINETO)
        self.assertIn("Flame graph", page)
        if (pathlib.Path(sys.argv[1]).parent / "vega/bundle.js").exists():  # else charts load from the network
            self.assertNotIn('src="http', page)

    def test_knobs(self):
        frames = lambda *knobs: json.loads(self.fine("trace", "flame", KINETO, "--json", "--time=host", *knobs))["frames"]
        whole = frames()
        flat = frames("--max-depth=1")
        self.assertEqual(flat[0]["total_seconds"], whole[0]["total_seconds"])
        self.assertGreater(len(whole), len(flat))
        pruned = frames("--min-duration-us=1e6")
        self.assertEqual([frame["self_seconds"] for frame in pruned], [whole[0]["total_seconds"]])

    def test_timeline_and_diff_are_pages(self):
        self.assertIn("Timeline", self.written("t.html", "timeline", KINETO))
        page = self.written("s.html", "summary", KINETO)
        self.assertLess(page.index("Time of the GPUs"), page.index("Drag over a stretch"), "the message first, then the timeline")
        self.assertIn("nvjet_sm90", self.written("k.html", "kernels", KINETO))
        self.assertIn("saxpy", self.written("k.html", "kernels", TRACES / "official.perfetto-trace"))
        self.assertIn("What changed, by stack", self.written("d.html", "diff", KINETO, KINETO))

    def test_wrong_words(self):
        for arguments, words in ((("flame", KINETO, "--out=a.pdf"), "this can be written as .json"),
                                 (("timeline", KINETO, "--out=a.svg"), "this can be written as .json"), (("flame", KINETO, "--json", "--time=cpu"), "gpu"),
                                 (("flame", KINETO, "--json", "--max-depth=0"), "--max-depth")):
            result = self.gpubench("trace", *arguments)
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
