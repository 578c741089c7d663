# SPDX-License-Identifier: Apache-2.0
"""gpubench bisect as its user meets it, in small repositories whose benchmark tells made-up times. Argument: the program."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from command_line import GPUBENCH, CommandLineTest

# A benchmark without work: the times of its commit with a noise of 0.3 %, in the place of those of a real run.
BENCH = f"""#!{sys.executable} -IS
import json, os, pathlib, random, sys
here = pathlib.Path(__file__).parent
out = next(word.split("=", 1)[1] for word in sys.argv if word.startswith("--out="))
times = json.loads((here / "times.json").read_text())
run = json.loads(pathlib.Path(os.environ["TEMPLATE"]).read_text())
random.seed(os.urandom(8))
common = random.gauss(1, 0.001)
point = run["points"][0]
run["points"] = []
for name, seconds in times.items():
    seconds *= common * random.gauss(1, 0.003)
    one = json.loads(json.dumps(point))
    measurement = one["measurement"]
    measurement.update(name=name, operation=name.split("/")[0])
    measurement.pop("conditions", None)
    timing = measurement["timings"][0]
    for key in ("block_sizes", "samples_clock_hz"):
        timing.pop(key, None)
    timing["samples_seconds"] = [seconds * (1 + 0.0005 * (i % 5 - 2)) for i in range(20)]
    for key, value in timing["seconds"].items():
        if isinstance(value, float):
            timing["seconds"][key] = seconds
    timing["seconds"].update(count=20, mad=0.0, median_ci95=[seconds * 0.999, seconds * 1.001])
    run["points"].append(one)
run["context"]["created_utc"] = f"2026-01-01T00:00:{{random.randrange(60):02}}Z"
pathlib.Path(out).write_text(json.dumps(run))
time_of_day = os.environ.get("SLOW_RUNS")
if time_of_day:
    import time
    time.sleep(float(time_of_day))
"""

# What makes the package of one file, without setuptools.
BACKEND = """import zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    parts = {"times_package.py": open("times_package.py").read(),
             "times_package-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: times-package\\nVersion: 1\\n",
             "times_package-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}
    parts["times_package-1.dist-info/RECORD"] = "".join(f"{name},,\\n" for name in [*parts, "times_package-1.dist-info/RECORD"])
    with zipfile.ZipFile(f"{folder}/times_package-1-py3-none-any.whl", "w") as wheel:
        for name, text in parts.items():
            wheel.writestr(name, text)
    return "times_package-1-py3-none-any.whl"
"""


class Bisect(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        template = json.loads((cls.folder / "run.json").read_text())
        template.update(points=template["points"][:1], calibrations=[], boundaries=[], findings=[])
        (cls.folder / "template.json").write_text(json.dumps(template))
        cls.environment.update(TEMPLATE=str(cls.folder / "template.json"), GIT_AUTHOR_NAME="Jane Doe", GIT_AUTHOR_EMAIL="jane@example.com",
                               GIT_COMMITTER_NAME="Jane Doe", GIT_COMMITTER_EMAIL="jane@example.com", GIT_CONFIG_GLOBAL="/dev/null")

    def git(self, repository, *words):
        result = subprocess.run(["git", "-C", str(repository), *words], env=self.environment, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()

    def history(self, name, times_of, commits=16, further=lambda repository, i: None):
        """A repository whose commit i has the times times_of(i). Returns it and the commits' hashes."""
        repository = self.folder / name
        repository.mkdir()
        self.git(repository, "init", "--quiet", "--initial-branch=main")
        bench = repository / "bench.py"
        bench.write_text(BENCH)
        bench.chmod(0o755)
        hashes = []
        for i in range(commits + 1):
            (repository / "times.json").write_text(json.dumps(times_of(i)))
            (repository / "number").write_text(str(i))
            further(repository, i)
            self.git(repository, "add", "--all")
            self.git(repository, "commit", "--quiet", "--allow-empty", f"--message=Change {i} <b>|x|</b>")
            hashes.append(self.git(repository, "rev-parse", "HEAD"))
        return repository, hashes

    def bisect(self, repository, good, bad, *arguments, run="./bench.py"):
        return self.stored("bisect", good, bad, f"--repository={repository}", f"--run={run}", *arguments)

    @staticmethod
    def steps(*changes):
        """{"point-0": 1e-3, ...}, each slower by its factor from its commit on."""
        return lambda i: {f"point-{n}": 1e-3 * (factor if i >= at else 1.0) for n, (at, factor) in enumerate(changes)}

    def changes_in(self, file):
        return {each["point"]: each for each in json.loads(file.read_text())["changes"]}

    def test_finds_a_culprit_for_each_point(self):
        repository, hashes = self.history("several", self.steps((5, 1.06), (9, 1.05), (17, 2.0)), commits=12)
        (repository / "number").write_text("not in a commit")
        out = [self.folder / f"several.{e}" for e in ("json", "md", "html")]
        result = self.bisect(repository, hashes[0], "main", *[f"--out={file}" for file in out])
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        changes = self.changes_in(out[0])
        self.assertEqual({point: each["commit"] for point, each in changes.items()}, {"point-0": hashes[5], "point-1": hashes[9]})
        self.assertAlmostEqual(changes["point-0"]["change"], 0.06, delta=0.02)
        self.assertGreater(changes["point-0"]["probability"], 0.95)
        document = json.loads(out[0].read_text())
        self.assertLessEqual(document["builds"], 12)
        self.assertIn("Jane Doe", result.stdout)
        self.assertIn("x slower", result.stdout)
        self.assertIn("changes that are in no commit", " ".join(result.stdout.split()))
        self.assertTrue(all(len(line) <= 80 for line in result.stdout.splitlines() if "time/GOOD" not in line and "[" not in line), result.stdout)
        self.assertIn(f"git show {hashes[5][:10]}", result.stdout)
        self.assertNotIn("<b>", out[1].read_text().replace("\\<b\\>", "").replace("&lt;b&gt;", ""))
        self.assertIn("&lt;b&gt;", out[2].read_text())
        # The user's checkout is as it was, and no worktree is left.
        self.assertEqual((repository / "number").read_text(), "not in a commit")
        self.assertEqual(len(self.git(repository, "worktree", "list").splitlines()), 1)
        # Again: all was measured already.
        again = self.bisect(repository, hashes[0], "main")
        self.assertEqual(again.returncode, 1)
        self.assertIn("going on with", again.stderr)

    def test_leaves_out_what_cannot_be_built(self):
        def break_some(repository, i):
            (repository / "build.sh").write_text("echo it is broken >&2; exit 1\n" if i in (4, 5, 6, 8) else "exit 0\n")

        repository, hashes = self.history("broken", self.steps((6, 1.1)), commits=12, further=break_some)
        out = self.folder / "broken.json"
        result = self.bisect(repository, hashes[0], hashes[12], "--build=sh build.sh", "--build-ahead=3", f"--out={out}")
        self.assertEqual(result.returncode, 4, result.stderr)
        document = json.loads(out.read_text())
        self.assertEqual({each["commit"] for each in document["changes"]}, set(hashes[4:8]))
        self.assertTrue(any("it is broken" in each["reason"] for each in document["left_out"]), document["left_out"])
        ends = self.bisect(repository, hashes[4], hashes[12], "--build=sh build.sh")
        self.assert_refused(ends, "GOOD", "it is broken", code=2)
        self.assertEqual(len(self.git(repository, "worktree", "list").splitlines()), 1)

    def test_goes_on_after_an_interruption(self):
        repository, hashes = self.history("interrupted", self.steps((3, 1.1)), commits=8)
        command = [str(GPUBENCH), "bisect", hashes[0], "main", f"--repository={repository}", "--run=./bench.py"]
        process = subprocess.Popen(command, env={**self.environment, "SLOW_RUNS": "0.2"}, stderr=subprocess.PIPE, text=True)
        state = None
        until = time.monotonic() + 60
        while time.monotonic() < until and not state:
            state = next((file for file in (self.folder / "cache" / "gpubench" / "bisect").glob("*/search.json")
                          if json.loads(file.read_text())["good"] == hashes[0] and len(json.loads(file.read_text())["pairs"]) >= 3), None)
            time.sleep(0.02)
        self.assertIsNotNone(state)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("same command goes on", errors)
        self.assertGreater(len(self.git(repository, "worktree", "list").splitlines()), 1)
        kept = len(json.loads(state.read_text())["pairs"])
        result = self.bisect(repository, hashes[0], "main")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"going on with {kept} pairs", result.stderr)
        self.assertIn(hashes[3][:10], result.stdout)
        self.assertEqual(len(self.git(repository, "worktree", "list").splitlines()), 1)

    def test_builds_with_cmake_in_folders_of_their_own(self):
        def project(repository, i):
            if i == 0:
                (repository / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(small NONE)\nfile(READ number number)\n"
                                                           "configure_file(times.json times.json COPYONLY)\nconfigure_file(bench.py bench.py COPYONLY)\n")

        repository, hashes = self.history("cmake", self.steps((2, 1.1)), commits=3, further=project)
        result = self.bisect(repository, hashes[0], "main", "--build=cmake --build build", run="build/bench.py")
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        self.assertIn(hashes[2][:10], result.stdout)
        self.assertFalse((repository / "build").exists())

    def test_builds_python_packages_in_environments_of_their_own(self):
        def package(repository, i):
            (repository / "times_package.py").write_text(f"times = {self.steps((1, 1.1))(i)!r}\n")
            if i == 0:
                (repository / "pyproject.toml").write_text('[project]\nname = "times-package"\nversion = "1"\n[build-system]\nrequires = []\n'
                                                           'build-backend = "backend"\nbackend-path = ["."]\n')
                (repository / "backend.py").write_text(BACKEND)
                (repository / "bench2.py").write_text(BENCH.replace('json.loads((here / "times.json").read_text())', '__import__("times_package").times')
                                                      .replace("here =", "sys.path.remove(str(pathlib.Path(__file__).parent)); here ="))

        repository, hashes = self.history("python", self.steps(), commits=1, further=package)
        result = self.bisect(repository, hashes[0], "main", "--build=pip install --no-build-isolation --no-index --quiet --disable-pip-version-check .",
                             run="python bench2.py")
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        self.assertIn(hashes[1][:10], result.stdout)

    def test_says_when_nothing_is_slower(self):
        repository, hashes = self.history("equal", self.steps((99, 2.0)), commits=3)
        result = self.bisect(repository, hashes[0], "main")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertIn("No point is slower", result.stdout)

    def test_says_what_is_wrong_in_one_sentence(self):
        repository, hashes = self.history("wrong", self.steps((2, 1.1)), commits=3)
        self.assert_refused(self.stored("bisect", hashes[0], "main", f"--repository={repository}"), "--run")
        self.assert_refused(self.bisect(repository, "no-such", "main"), "There is no commit no-such")
        self.assert_refused(self.bisect(repository, "--all", "main"), code=64)
        self.assert_refused(self.bisect(repository, "main", hashes[0]), "BAD is older than GOOD")
        self.assert_refused(self.bisect(repository, "main", "main"), "the same commit")
        self.assert_refused(self.bisect(self.folder / "cache", "a", "b"), "no git repository")
        self.git(repository, "checkout", "--quiet", "--detach", hashes[1])
        (repository / "number").write_text("aside")
        self.git(repository, "commit", "--quiet", "--all", "--message=Aside")
        aside = self.git(repository, "rev-parse", "HEAD")
        self.assert_refused(self.bisect(repository, aside, "main"), "no ancestor", hashes[1])
        shallow = self.folder / "shallow"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", "--branch=main", f"file://{repository}", str(shallow)], env=self.environment, check=True)
        self.assert_refused(self.bisect(shallow, hashes[0], "main"), "--unshallow")
        self.assert_refused(self.bisect(repository, hashes[0], "main", run="false"), "GOOD", "exit code 1", code=2)
        self.assert_refused(self.bisect(repository, hashes[0], "main", "--build-limit=1", "--build=sleep 30"), "--build-limit", code=2)
        self.assert_refused(self.bisect(repository, hashes[0], "main", run="true"), "wrote no result.", code=2)
        cmake = "--build=printf 'CMake Error at a.cmake:3 (find_package):\n\n  Could not find X.\n\n'; exit 1"
        self.assert_refused(self.bisect(repository, hashes[0], "main", cmake), "(find_package): Could not find X.", code=2)
        self.assertEqual(len(self.git(repository, "worktree", "list").splitlines()), 1)

    def test_names_merges_submodules_and_points_that_are_gone(self):
        inner = self.folder / "inner"
        inner.mkdir()
        self.git(inner, "init", "--quiet", "--initial-branch=main")
        (inner / "file").write_text("inside")
        self.git(inner, "add", "--all")
        self.git(inner, "commit", "--quiet", "--message=Inner")

        def times(i):
            return {**self.steps((99, 1.0))(i), **({"old-point": 1e-3} if i < 2 else {})}

        repository, hashes = self.history("merged", times, commits=3)
        self.git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "inner")
        self.git(repository, "commit", "--quiet", "--all", "--message=Submodule")
        self.git(repository, "checkout", "--quiet", "-b", "side")
        (repository / "times.json").write_text(json.dumps({"point-0": 1.2e-3}))
        self.git(repository, "commit", "--quiet", "--all", "--message=Slower")
        self.git(repository, "checkout", "--quiet", "main")
        (repository / "number").write_text("main goes on")
        self.git(repository, "commit", "--quiet", "--all", "--message=Other work")
        self.git(repository, "merge", "--quiet", "--no-edit", "side")
        merge = self.git(repository, "rev-parse", "HEAD")
        result = self.bisect(repository, hashes[1], "main", "--build=test -f inner/file || ! test -f .gitmodules")
        words = " ".join(result.stdout.split())
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        self.assertIn(merge[:10], words)
        self.assertIn("It is a merge", words)
        self.assertIn("old-point is gone in BAD", words)

    def test_says_what_to_do_where_noise_hides_the_answer(self):
        repository, hashes = self.history("noisy", self.steps((9, 1.0)), commits=2)
        self.addCleanup(self.environment.update, XDG_CACHE_HOME=self.environment["XDG_CACHE_HOME"])
        for attempt in range(5):  # some pairs of runs happen to agree
            self.environment["XDG_CACHE_HOME"] = str(self.folder / f"cache-{attempt}")  # or it goes on with them
            result = self.bisect(repository, hashes[0], "main", "--min-effect=0.001")
            if "undecided whether it is slower in BAD" in " ".join(result.stdout.split()):
                break
        self.assertEqual(result.returncode, 4, result.stderr + result.stdout)
        self.assertRegex(" ".join(result.stdout.split()), r"undecided whether it is slower in BAD: point-0.* pairs of runs vary too much to tell: let each run measure longer")

    def test_runs_what_takes_the_file_elsewhere(self):
        """Benchmarks of other tools have no --out: {out} says where the file's name goes."""
        repository, hashes = self.history("elsewhere", self.steps((2, 1.2)), commits=3)
        out = self.folder / "elsewhere.json"
        result = self.bisect(repository, hashes[0], "main", f"--out={out}", run="exec 5>{out}; exec 5>&-; ./bench.py --out={out}")
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        self.assertEqual(self.changes_in(out)["point-0"]["commit"], hashes[2])

    def test_searches_only_what_comes_from_good(self):
        """GOOD is of a branch that made it faster. Commits of main before the merge are slow, and no change."""
        repository, hashes = self.history("branched", self.steps((99, 1.0)), commits=1)

        def commit(point, message):
            (repository / "times.json").write_text(json.dumps({"point-0": point}))
            (repository / "number").write_text(message)
            self.git(repository, "commit", "--quiet", "--all", f"--message={message}")
            return self.git(repository, "rev-parse", "HEAD")

        self.git(repository, "checkout", "--quiet", "-b", "side")
        good = commit(0.8e-3, "Faster")
        commit(0.8e-3, "As fast")
        self.git(repository, "checkout", "--quiet", "main")
        for n in range(4):
            self.git(repository, "commit", "--quiet", "--allow-empty", f"--message=Work on main {n}")
        self.git(repository, "merge", "--quiet", "--no-edit", "side")
        merge = self.git(repository, "rev-parse", "HEAD")
        self.git(repository, "commit", "--quiet", "--allow-empty", "--message=After it")
        culprit = commit(0.9e-3, "Slower")
        out = self.folder / "branched.json"
        result = self.bisect(repository, good, "main", f"--out={out}")
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        document = json.loads(out.read_text())
        self.assertEqual((document["commits"], self.changes_in(out)["point-0"]["commit"]), (4, culprit))
        # Where the merge itself is it, what it brought is what the search has not seen: main.
        slower = self.git(repository, "rev-parse", "main~2^")
        self.git(repository, "checkout", "--quiet", "-b", "other", good)
        self.git(repository, "checkout", "--quiet", slower)
        commit(0.95e-3, "Slower on main")
        self.git(repository, "merge", "--quiet", "--no-edit", "-s", "ours", "other")
        result = self.bisect(repository, good, "HEAD")
        self.assertIn(f"$(git merge-base {good[:10]} ", " ".join(result.stdout.split()))

    def test_ends_in_time(self):
        repository, hashes = self.history("late", self.steps((3, 1.1)), commits=8)
        result = subprocess.run([str(GPUBENCH), "bisect", hashes[0], "main", f"--repository={repository}", "--run=./bench.py", "--total-budget=4"],
                                env={**self.environment, "SLOW_RUNS": "0.4"}, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 4, result.stderr + result.stdout)
        self.assertIn("time budget is used up", " ".join(result.stdout.split()))
        self.assertIn("The same command goes on where it was", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
