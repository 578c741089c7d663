# SPDX-License-Identifier: Apache-2.0
"""What is measured while others use the same core is marked, and its ceilings are not kept unasked. Arguments: the program."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import GPUBENCH, FolderTest  # noqa: E402

FILTER = "--filter=^(copy|saxpy)/n:1024/"


class Load(FolderTest):
    columns = 200

    @classmethod
    def setUpClass(cls):
        if not pathlib.Path("/proc/self/schedstat").exists():
            raise unittest.SkipTest("this system does not tell how long threads wait")
        super().setUpClass()
        cls.environment["OMP_NUM_THREADS"] = "1"
        # All on one core, with three that never rest: a quarter of it is left.
        cls.core = min(os.sched_getaffinity(0))
        cls.busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=cls.pin) for _ in range(3)]

    @classmethod
    def tearDownClass(cls):
        for process in cls.busy:
            process.kill()
            process.wait()

    @classmethod
    def pin(cls):
        os.sched_setaffinity(0, {cls.core})

    def gpubench(self, *arguments, **more):
        return subprocess.run([str(GPUBENCH), *map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=300, preexec_fn=self.pin, **more)

    def stored(self):
        return list((self.folder / "cache").glob("gpubench/*.json"))

    def test_points_are_marked_and_never_certain(self):
        out = self.folder / "run.json"
        for _ in range(3):  # the scheduler may have owed a point so much that it had the core to itself
            result = self.gpubench("--device=cpu", FILTER, f"--out={out}")
            self.assertEqual(result.returncode, 0, result.stderr)
            run = json.loads(out.read_text())
            if all(point["measurement"]["conditions"]["core_share"] < 0.9 for point in run["points"]):
                break
        for point in run["points"]:
            self.assertLess(point["measurement"]["conditions"]["core_share"], 0.9)
            self.assertNotEqual(point["verdict"]["certainty"], "certain")
            self.assertNotIn("advice", point["verdict"])
            self.assertIn("measured under load", point["verdict"]["evidence"])
        self.assertLess(run["calibrations"][0]["core_share"], 0.9)
        self.assertTrue(all(ceiling["ci95"][0] >= 0 for ceiling in run["calibrations"][0]["ceilings"]))
        self.assertIn("! measured under load", result.stdout)
        said = " ".join(run["warnings"])
        self.assertIn("points on cpu were measured under load", said)
        self.assertIn("was measured under load: its threads had", said)
        again = self.gpubench("compare", out, out)
        self.assertIn("measured under load, when others ran", " ".join(again.stdout.split()))

    def test_a_calibration_is_stored_only_when_asked_for(self):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        quick = ("--device=cpu", "--calibrate", "--quiet")
        result = self.gpubench(*quick)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("It is not stored, and serves for 10 minutes.", result.stderr)
        self.assertEqual(self.stored(), [])
        served = self.folder / "served.json"
        serves = self.gpubench("--device=cpu", FILTER, f"--out={served}")
        self.assertNotIn("measuring a quick one", serves.stderr)
        self.assertIn("was measured under load: its threads had", " ".join(json.loads(served.read_text())["warnings"]))
        self.assertEqual(self.gpubench(*quick, "--accept-load").returncode, 0)
        self.assertEqual(len(self.stored()), 1)
        # Its caveat stands in a run that uses it.
        out = self.folder / "uses.json"
        self.gpubench("--device=cpu", FILTER, "--drift-check=off", f"--out={out}")
        self.assertIn("was measured under load: its threads had", " ".join(json.loads(out.read_text())["warnings"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
