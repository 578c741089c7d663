# SPDX-License-Identifier: Apache-2.0
"""The steps of examples/ci as a runner would take them, on the host. Arguments: a benchmark program and the source folder."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = (pathlib.Path(argument) for argument in sys.argv[1:3])
QUICK = "--device=cpu --drift-check=off --time-budget=0.01 --filter=^(chain/steps:5000|sum/n:16384)/"


def blocks(lines, head):
    """The texts of the block scalars whose line, without its spaces, is `head`, with the line before each."""
    found = []
    for i, line in enumerate(lines):
        if line.strip() != head:
            continue
        indent = len(line) - len(line.lstrip())
        body = []
        for text in lines[i + 1 :]:
            if text.strip() and len(text) - len(text.lstrip()) <= indent:
                break
            body.append(text)
        margin = min(len(text) - len(text.lstrip()) for text in body if text.strip())
        found.append((i, "\n".join(text[margin:] for text in body) + "\n"))
    return found


def github_steps():
    """(job, name, condition, commands) of each step with commands."""
    lines = (SOURCE / "examples" / "ci" / "github.yml").read_text().splitlines()
    steps = []
    for place, commands in blocks(lines, "run: |"):
        job = next(line.strip(" :") for line in reversed(lines[:place]) if line.startswith("  ") and line[2] not in " #" and line.endswith(":"))
        start = next(i for i in range(place, -1, -1) if lines[i].strip().startswith("- "))
        head = "\n".join(lines[start:place])
        name = head.split("name: ", 1)[1].splitlines()[0]
        steps.append((job, name, head.split("if: ", 1)[1].splitlines()[0] if "if: " in head else "", commands))
    return steps


def gitlab_steps():
    lines = (SOURCE / "examples" / "ci" / "gitlab.yml").read_text().splitlines()
    script = lines.index("  script:")
    return [commands for place, commands in blocks(lines, "- |") if place > script]


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-ci-test-"))
        for place in (self.folder / "build", self.folder / "base" / "build"):
            place.mkdir(parents=True)
            (place / "gpubench").symlink_to(PROGRAM)
        self.environment = dict(os.environ, PROGRAM="build/gpubench", ARGUMENTS=QUICK, PROCESSES="3", STORE=str(self.folder / "store"),
                                XDG_CACHE_HOME=str(self.folder / "cache"))
        for name in ("GITHUB_SHA", "CI_COMMIT_SHA", "GITHUB_STEP_SUMMARY", "GPUBENCH_PLANTED"):
            self.environment.pop(name, None)
        # Ceilings that were measured under load are not kept unasked, and each run would measure its own.
        self.bash("build/gpubench --device=cpu --calibrate --accept-load --quiet")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def bash(self, commands, code=0, **more):
        # As GitHub's and GitLab's runners call it.
        result = subprocess.run(["bash", "-eo", "pipefail", "-c", commands], cwd=self.folder, env=dict(self.environment, **more), capture_output=True, text=True, timeout=300)
        self.assertIn(result.returncode, code if isinstance(code, tuple) else (code,), f"{commands}\n{result.stdout}\n{result.stderr}")
        return result

    def test_github(self):
        steps = github_steps()
        self.assertEqual([(job, name) for job, name, _, _ in steps],
                         [("gate", "Build"), ("gate", "Measure"), ("gate", "Check"), ("gate", "Update"), ("ab", "Build"), ("ab", "Alternate")])
        commands = {(job, name): text for job, name, _, text in steps}
        conditions = {name: condition for job, name, condition, _ in steps if job == "gate"}
        self.assertIn("pull_request", conditions["Check"])
        self.assertIn("push", conditions["Update"])
        self.bash(commands["gate", "Measure"])
        self.assertEqual(self.bash(commands["gate", "Check"], code=3).returncode, 3, "no baseline yet")
        self.bash(commands["gate", "Update"], GITHUB_SHA="0123abcd")
        page = self.folder / "page.md"
        # The same runs again are copies of the baseline: nothing is slower than itself.
        checked = self.bash(commands["gate", "Check"], GITHUB_STEP_SUMMARY=str(page))
        self.assertIn("entry 1 (0123abcd)", checked.stdout)
        self.assertIn("## gpubench: ", page.read_text())
        self.assertIn("## gpubench: ", (self.folder / "gate.md").read_text())
        self.bash(commands["gate", "Measure"], GPUBENCH_PLANTED="4")
        regression = self.bash(commands["gate", "Check"], code=(0, 1))
        if regression.returncode == 0:  # four times the work: only a machine that is swamped leaves that open
            self.assertIn("inconclusive", regression.stdout)
        quick = commands["ab", "Alternate"].replace("--total-budget=600", "--total-budget=30 --pairs=2")
        self.assertNotEqual(quick, commands["ab", "Alternate"])
        self.bash(quick, code=(0, 1))
        self.assertEqual(json.loads((self.folder / "ab.json").read_text())["base_processes"], 2)

    def test_both_are_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not installed (Debian package python3-yaml)")
        for name in ("github.yml", "gitlab.yml"):
            self.assertIsInstance(yaml.safe_load((SOURCE / "examples" / "ci" / name).read_text()), dict)

    def test_gitlab(self):
        measure, decide = gitlab_steps()
        self.bash(measure)
        self.bash(decide, CI_PIPELINE_SOURCE="push", CI_COMMIT_SHA="4567cdef")
        checked = self.bash(decide, CI_PIPELINE_SOURCE="merge_request_event")
        self.assertIn("entry 1 (4567cdef)", checked.stdout)
        self.assertTrue((self.folder / "gate.md").is_file())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
