# SPDX-License-Identifier: Apache-2.0
"""Names, messages and files with text that a terminal, a CI service or a spreadsheet would obey. Arguments: gpubench,
the hostile program and the source folder."""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import GPUBENCH, FolderTest  # noqa: E402

HOSTILE, SOURCE = (pathlib.Path(argument) for argument in sys.argv[2:4])
TEXT = "x\n::add-mask::y\r\x1b[2J\x9b\u202e ##[error]z ##vso[task.complete]"


class HostileText(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["LC_ALL"] = "C.UTF-8"
        kept = json.loads((SOURCE / "tests/reports/kept/run-2-a.json").read_text())
        cls.run_file = cls.folder / "run.json"
        for place in (kept["context"], kept["points"][0]["measurement"], *kept["devices"]):
            for key, value in place.items():
                if isinstance(value, str) and key not in ("kind", "id", "device"):
                    place[key] = "::error::" + TEXT
        kept["warnings"] = ["::error::" + TEXT]
        kept["context"]["environment"] = {"::error::" + TEXT: TEXT}
        cls.calibration_file = cls.folder / "calibration.json"
        calibration = json.loads((SOURCE / "tests/reports/kept/calibration-1-a.json").read_text())
        calibration["device"].update(architecture="::error::" + TEXT, kind="cpu")
        calibration["device"]["name"] = subprocess.run(
            [str(HOSTILE), "--device=cpu", "--filter=planted", "--quiet"], env=cls.environment, capture_output=True, text=True, errors="replace"
        ).stderr.split("device cpu: ")[1].split("\n")[0].split(" (")[0]
        cls.calibration_file.write_text(json.dumps(calibration))
        cls.run_file.write_text(json.dumps(kept))

    def said(self, *command):
        """Both streams, which hold nothing that is obeyed."""
        done = subprocess.run([str(word) for word in command], env=self.environment, capture_output=True, timeout=300)
        for stream in (done.stdout, done.stderr):
            text = stream.decode()
            for line in text.split("\n"):
                self.assertFalse(line.lstrip().startswith("::"), line)
                self.assertNotIn("##[", line)
                self.assertNotIn("##vso[", line)
            for character in text:
                self.assertTrue(character == "\n" or (ord(character) >= 0x20 and not 0x7F <= ord(character) < 0xA0), text)
                self.assertNotIn(character, "\u202e\u2066\u2028")
        return done.stdout.decode() + done.stderr.decode()

    def test_texts_of_files(self):
        base = self.folder / "base.json"
        shutil.copy(SOURCE / "tests/reports/kept/run-2-a.json", base)
        for words in (["report", self.run_file], ["compare", base, self.run_file], ["compare", self.run_file, base],
                      ["gate", "update", f"--store={self.folder}/gate", self.run_file],
                      ["gate", "check", f"--store={self.folder}/gate", base],
                      ["calibration", "show", self.run_file], ["calibration", "import", self.run_file],
                      ["--device=cpu", f"--resume={self.run_file}", f"--out={self.folder}/out.json"]):
            self.said(GPUBENCH, *words)

    def test_texts_of_a_calibration(self):
        said = self.said(HOSTILE, "--device=cpu", "--filter=planted", "--time-budget=0.01", f"--calibration={self.calibration_file}")
        self.assertIn("its architecture was ::error::x\\n::add-mask::y", said)

    def test_names_of_files(self):
        hostile = self.folder / (TEXT.replace("/", "") + ".json")
        self.assertIn("cannot be read", self.said(GPUBENCH, "report", hostile))
        hostile.write_text("{")
        self.assertIn("cut off", self.said(GPUBENCH, "compare", hostile, hostile))
        self.said(GPUBENCH, "report", f"--out={hostile}/{TEXT}.csv", self.run_file)
        self.said(GPUBENCH, f"--filter={TEXT}(")
        shutil.copy(self.run_file, hostile)
        self.said(GPUBENCH, "report", hostile, hostile)
        self.said(GPUBENCH, "report", self.run_file, f"--calibration={hostile}")

    def test_texts_of_operations(self):
        here = [HOSTILE, "--device=cpu", "--drift-check=off", "--time-budget=0.01"]
        self.assertIn("\\x3a:warning::planted", self.said(*here, "--list"))
        self.said(*here, "--once")
        said = self.said(*here)
        self.assertIn("first line\\n::add-mask::planted", said)
        self.assertLess(len(said), 100_000, "a text of 1 MiB is cut")
        self.said(*here, "--isolate")
        for form in ("console", "csv", "json"):
            self.said(*here, f"--benchmark_format={form}")

    def test_google_benchmarks_json_is_json(self):
        out, own = self.folder / "google.json", self.folder / "own.json"
        self.said(HOSTILE, "--device=cpu", "--drift-check=off", "--time-budget=0.01", "--filter=planted", f"--benchmark_out={out}", f"--out={own}")
        self.assertEqual(len(json.loads(own.read_text(encoding="utf-8"))["points"]), 1)
        def refused(word):
            raise AssertionError(f"{word} is no JSON")
        read = json.loads(out.read_text(encoding="utf-8"), parse_constant=refused)["benchmarks"][0]
        self.assertIsNone(read["not_a_number"])
        self.assertIsNone(read["endless"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
