# SPDX-License-Identifier: Apache-2.0
"""The steps of examples/ci as a runner would take them, on the host. Arguments: a benchmark program and the source folder."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
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


class Comments(http.server.BaseHTTPRequestHandler):
    """Comments as GitHub and GitLab keep them; what was asked is kept too."""

    def do_GET(self):
        self.answer(self.server.comments)

    def do_POST(self):
        self.server.comments.append({"id": 7 + len(self.server.comments), **self.sent()})
        self.answer(self.server.comments[-1])

    def do_PATCH(self):
        number = int(self.path.rsplit("/", 1)[1])
        changed = next(comment for comment in self.server.comments if comment["id"] == number)
        changed.update(self.sent())
        self.answer(changed)

    do_PUT = do_PATCH

    def sent(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, content):
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN")))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *arguments):
        pass


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

        (self.folder / "examples").mkdir()
        (self.folder / "examples" / "ci").symlink_to(SOURCE / "examples" / "ci")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Comments)
        self.server.comments, self.server.asked, self.server.status = [{"id": 3, "body": "A person's."}], [], 200
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.folder)

    def bash(self, commands, code=0, **more):
        # As GitHub's and GitLab's runners call it.
        result = subprocess.run(["bash", "-eo", "pipefail", "-c", commands], cwd=self.folder, env=dict(self.environment, **more), capture_output=True, text=True, timeout=300)
        self.assertIn(result.returncode, code if isinstance(code, tuple) else (code,), f"{commands}\n{result.stdout}\n{result.stderr}")
        return result

    def test_github(self):
        steps = github_steps()
        self.assertEqual([(job, name) for job, name, _, _ in steps],
                         [("gate", "Build"), ("gate", "Measure"), ("gate", "Check"), ("gate", "Comment"), ("gate", "Update"), ("ab", "Build"), ("ab", "Alternate")])
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
        self.assertIn("<title>Performance over time</title>", (self.folder / "history.html").read_text())
        self.assertIn("always()", conditions["Comment"])
        here = {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": self.address, "GITHUB_REPOSITORY": "owner/project", "GITHUB_TOKEN": "secret", "PULL_REQUEST": "12"}
        for _ in range(2):
            self.bash(commands["gate", "Comment"], **here)
        self.assertEqual([comment["id"] for comment in self.server.comments], [3, 8], "the second replaced the first")
        self.assertIn("## gpubench: ", self.server.comments[1]["body"])
        self.assertEqual(self.server.asked[0], ("GET", "/repos/owner/project/issues/12/comments?per_page=100", "Bearer secret"))
        self.assertEqual(self.server.asked[-1][:2], ("PATCH", "/repos/owner/project/issues/comments/8"))
        self.server.status = 403
        refused = self.bash(commands["gate", "Comment"], code=1, **here)
        self.assertIn("Check the token", refused.stderr)
        self.assertNotIn("secret", refused.stderr + refused.stdout)
        del here["PULL_REQUEST"]
        self.assertIn("PULL_REQUEST is not set", self.bash(commands["gate", "Comment"], code=1, **here).stderr)
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
        measure, decide, comment = gitlab_steps()
        self.bash(measure)
        self.bash(decide, CI_PIPELINE_SOURCE="push", CI_COMMIT_SHA="4567cdef")
        checked = self.bash(decide, CI_PIPELINE_SOURCE="merge_request_event")
        self.assertIn("entry 1 (4567cdef)", checked.stdout)
        self.assertTrue((self.folder / "gate.md").is_file())
        here = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_API_V4_URL": self.address, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "9"}
        self.bash(comment, **here)
        self.assertEqual(self.server.asked, [], "no token, no comment")
        for _ in range(2):
            self.bash(comment, COMMENT_TOKEN="secret", **here)
        self.assertEqual(len(self.server.comments), 2)
        self.assertEqual(self.server.asked[0], ("GET", "/projects/5/merge_requests/9/notes?per_page=100", "secret"))
        self.assertEqual(self.server.asked[-1][:2], ("PUT", "/projects/5/merge_requests/9/notes/8"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
