# SPDX-License-Identifier: Apache-2.0
"""--kernels and --check on a GPU: what the driver records. Arguments: gpubench.

Exit code 77: skipped, because there is no CUDA device."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import GPUBENCH, FolderTest  # noqa: E402

POINTS = "--filter=^(copy|reduction)/n:(1048576|16777216)/"


class GpuCheck(FolderTest):
    columns = 200

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment.pop("GPUBENCH_CUPTI", None)

    def checked(self, *flags, **environment):
        out = self.folder / "run.json"
        result = subprocess.run([GPUBENCH, "--device=cuda:0", "--kernels", POINTS, f"--out={out}", *flags], env={**self.environment, **environment},
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.said = result.stderr
        run = json.loads(out.read_text())
        self.assertEqual(len(run["points"]), 4)
        for point in run["points"]:
            self.assertIn("seconds", next(iter(point["measurement"]["timings"]), {}))
        return run

    def assert_records(self, run):
        activities = [point["measurement"]["activity"] for point in run["points"]]
        for activity in activities:
            self.assertTrue("seconds" in activity or activity["reason"], activity)
        compared = [activity for activity in activities if "seconds" in activity]
        self.assertTrue(compared, activities)  # records of some GPUs overlap, and not those of all points can be told apart
        for activity in compared:
            self.assertGreaterEqual(activity["executions"], 20)
            self.assertEqual([kernel["launches"] for kernel in activity["kernels"]], [1])
            self.assertGreater(activity["kernels"][0]["registers"], 0)

    def test_records_stand_beside_device_times(self):
        self.assert_records(self.checked())

    def test_in_processes_of_their_own_too(self):
        self.assert_records(self.checked("--isolate"))

    def test_before_counters(self):
        run = self.checked("--metrics=l2_bytes")
        self.assert_records(run)
        for point in run["points"]:
            self.assertTrue(point["measurement"].get("counters") or point["measurement"].get("absent_counters"))

    def test_the_rule_of_nsight_compute_stands_beside_the_verdicts(self):
        out = self.folder / "rule.json"
        result = subprocess.run([GPUBENCH, "--device=cuda:0", "--check=ncu-rule", "--metrics=core", POINTS, f"--out={out}"],
                                env=self.environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        votes = [vote for point in json.loads(out.read_text())["points"] for vote in point["verdict"].get("votes", [])]
        rule = [vote for vote in votes if vote["check"] == "ncu-rule"]
        self.assertEqual(len(rule), 4, votes)
        for vote in rule:
            self.assertIn(vote["outcome"], ("agrees", "disagrees", "undecided"))
            self.assertRegex(vote["evidence"], r"^compute \d+ %, memory \d+ % of peak" + ("; ." if vote["outcome"] == "disagrees" else ""))

    def test_records_need_no_device_time(self):
        self.assert_records(self.checked("--time=stream"))

    def test_without_cupti_the_times_are_there_and_one_warning(self):
        run = self.checked(GPUBENCH_CUPTI="/nowhere/libcupti.so")
        self.assertEqual(len(run["warnings"]), 1, run["warnings"])
        self.assertIn("4 points on cuda:0 were not recorded: CUPTI cannot be loaded", run["warnings"][0])
        self.assertEqual(self.said.count("cannot be loaded"), 1)


if __name__ == "__main__":
    if subprocess.run([GPUBENCH, "--device=cuda:0", "--list", "--filter=^copy/n:1024/"], capture_output=True, check=False).returncode != 0:
        print("no CUDA device")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
