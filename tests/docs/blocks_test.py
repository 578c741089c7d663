# SPDX-License-Identifier: Apache-2.0
"""Runs or compiles every block of code in README.md, CONTRIBUTING.md and docs/.

    blocks_test.py --program=build/gpubench --source=. --build=build --cxx=g++ [--nvcc=nvcc] [--flags=...] [PAGE...]

What is done with a block follows from its language:

    sh        run by bash in a scratch folder; the blocks of a page run one after another in the same folder
    console   "$ command" is run; the lines below must be lines of its output, in that order; "..." stands for others
    cpp       compiled; so is cuda where nvcc is there. A block without #include gets the header in front of it
    cmake     with project(): configured; with find_package(gpubench): built against the installed package, and run
    json, yaml  parsed
    python      nothing here: tests/python/test_docs.py runs them
    text      nothing

A comment above a block makes an exception, and has to give the reason:

    <!-- test: not run: REASON -->      nothing is done
    <!-- test: parsed only: REASON -->  sh: gpubench parses its command line, and lists points in place of measuring
    <!-- test: body -->                 cpp, cuda: the inside of an operation, with `state` at hand

`gpubench` and programs named my_benchmarks are stand-ins (stand_in.py), which measure on the CPU and as briefly as can be.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

WORDS_OF_README = 900
COMMENT = re.compile(r"<!-- test: (not run|parsed only|body)(?:: (.+))? -->$")


class Block:
    def __init__(self, page, line, language, text, exception, reason):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.exception, self.reason = exception, reason

    def __str__(self):
        return f"{self.page}:{self.line} ({self.language or 'no language'})"


def snippet_of(file, section):
    """A file. Of one that has sections the whole is checked too: a section alone need not compile."""
    text = file.read_text()
    if section and f"[start:{section}]" not in text:
        raise ValueError(f"{file} has no section {section}")
    return text


def blocks_of(page, text, source):
    """All fenced blocks, with files that "--8<--" names put in their place."""
    found, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r"(\s*)```(\S*)\s*$", lines[at])
        if not fence:
            at += 1
            continue
        indent, language = fence.groups()
        before = next((line.strip() for line in reversed(lines[:at]) if line.strip()), "")
        end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == "```"), None)
        if end is None:
            raise ValueError(f"{page}:{at + 1}: the block has no end")
        body = [line[len(indent) :] for line in lines[at + 1 : end]]
        comment = COMMENT.match(before)
        snippet = re.compile(r'--8<-- "(.+?)(?::(\w+))?"$')
        body = [snippet_of(source / match[1], match[2]) if (match := snippet.match(line)) else line for line in body]
        exception, reason = comment.groups() if comment else (None, None)
        found.append(Block(page, at + 1, language, "\n".join(body) + "\n", exception, reason))
        at = end + 1
    return found


class Checker:
    """Does with blocks what their language asks for, and says what is wrong with them."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.source = options.source.resolve()
        self.prefix = None
        self.bin = work / "bin"
        self.bin.mkdir()
        stand_in = self.source / "tests" / "docs" / "stand_in.py"
        (self.bin / "gpubench").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" "$@"\n')
        (self.bin / "gpubench").chmod(0o755)
        self.runs = None
        self.compiled = {}  # what was wrong with a text, by language and text
        self.environment = dict(
            os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", XDG_CACHE_HOME=str(work / "cache"), GPUBENCH_REAL=str(options.program.resolve()))
        for name in ("GITHUB_SHA", "CI_COMMIT_SHA", "GITHUB_STEP_SUMMARY"):
            self.environment.pop(name, None)

    def call(self, command, folder, **more):
        done = subprocess.run(command, cwd=folder, env=dict(self.environment, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600)
        return done.returncode, done.stdout

    def some_runs(self):
        """Runs of this machine, each by a process of its own. Measured once."""
        if self.runs is None:
            folder = self.work / "some-runs"
            self.runs = [folder / f"{i}.json" for i in range(3)]
            for run in self.runs:
                code, output = self.call(["gpubench", "--quiet", f"--out={run}"], self.work)
                if code:
                    raise RuntimeError(output)
        return self.runs

    def scratch(self):
        """A folder like that of a user: the files that pages name, and benchmark programs of theirs."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="page-", dir=self.work))
        for name in ("docs", "examples"):
            shutil.copytree(self.source / name, folder / name)
        shutil.copytree(self.source / "tests" / "timeline" / "data", folder / "traces")
        for name in ("trace.json.gz", "before.json.gz", "after.json.gz"):
            shutil.copy(folder / "traces" / "train.json.gz", folder / name)
        for rank in (0, 1):
            shutil.copy(folder / "traces" / f"ddp_rank{rank}.json.gz", folder / f"rank{rank}.json.gz")
        kept = folder / "docs" / "results" / "h200" / "run.json"
        for name in ("base-gpu.json", "new-gpu.json", "h200.json"):
            shutil.copy(kept, folder / name)
        for name in ("run.json", "run-1.json", "base.json", "new.json", "old.json", "a.json", "b.json"):
            shutil.copy(self.some_runs()[0], folder / name)
        for name in ("base", "new", "runs"):
            (folder / name).mkdir()
            for i, run in enumerate(self.some_runs()):
                shutil.copy(run, folder / name / f"{i + 1}.json")
        for build in ("build", "build-main", "build-old", "build-new", "old"):
            (folder / build).mkdir()
        for build in ("build", "build-main", "build-old", "build-new", "old", "new"):
            for name in ("gpubench", "my_benchmarks", "bench"):
                (folder / build / name).symlink_to(self.bin / "gpubench")
        return folder

    def problems_of_page(self, page, text):
        """A sentence for each block that is broken."""
        found, exceptions = [], []
        try:
            blocks = blocks_of(page, text, self.source)
        except (ValueError, OSError) as error:
            return [str(error)], []
        folder = self.scratch() if any(block.language in ("sh", "console") for block in blocks) else None
        for block in blocks:
            if block.exception in ("not run", "parsed only"):
                exceptions.append(f"{block}: {block.exception}: {block.reason}")
                if not block.reason:
                    found.append(f"{block}: an exception must give its reason")
            problem = self.problem_of(block, blocks, folder)
            if problem:
                found.append(f"{block}: {problem}")
        return found, exceptions

    def problem_of(self, block, blocks, folder):
        for script in re.findall(r"(?:^|\s)\.?/?(scripts/[\w.-]+)", block.text):
            if block.language == "sh" and not (self.source / script).exists():
                return f"there is no {script}"
        if block.exception == "not run":
            return None
        check = {"sh": self.shell, "console": self.console, "cpp": self.compile, "cuda": self.compile, "cmake": self.project, "json": self.parse,
                 "yaml": self.parse, "python": lambda *_: None, "text": lambda *_: None}.get(block.language)
        return check(block, blocks, folder) if check else "give the block a language: sh, console, cpp, cuda, cmake, json, yaml, python or text"

    def shell(self, block, _, folder):
        parse = {"GPUBENCH_PARSE_ONLY": "1"} if block.exception == "parsed only" else {}
        code, output = self.call(["bash", "-eo", "pipefail", "-c", block.text], folder, **parse)
        return f"ended with {code}:\n{output[-1500:]}" if code else None

    def console(self, block, _, folder):
        lines = block.text.splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
        if not starts or starts[0] != 0:
            return 'a console block begins with "$ command"'
        for start, end in zip(starts, [*starts[1:], len(lines)]):
            code, output = self.call(["bash", "-eo", "pipefail", "-c", lines[start][2:]], folder)
            if code:
                return f"{lines[start]} ended with {code}:\n{output[-1500:]}"
            printed = iter(line.rstrip() for line in output.splitlines())
            for wanted in lines[start + 1 : end]:
                if wanted.strip() not in ("", "...") and wanted.rstrip() not in printed:
                    return f"{lines[start]} does not print, in this order: {wanted}"
        return None

    def install(self):
        """Where the package lies. Installed once."""
        if self.prefix is None:
            prefix = self.work / "prefix"
            code, output = self.call(["cmake", "--install", str(self.options.build.resolve()), "--prefix", str(prefix)], self.work)
            if code:
                raise RuntimeError(output[-1500:])
            self.prefix = prefix
        return self.prefix

    def compile(self, block, *_):
        key = (block.language, block.exception, block.text)
        if key not in self.compiled:
            self.compiled[key] = self.what_the_compiler_says(block)
        return self.compiled[key]

    def what_the_compiler_says(self, block):
        include = self.install() / "include"
        text = block.text
        if block.exception == "body":
            text = f"void operation(gpubench::State& state) {{\n{text}\n}}\n"
        if "#include <gpubench/" not in text:
            text = "#include <gpubench/gpubench.h>\n" + text
        folder = pathlib.Path(tempfile.mkdtemp(prefix="compile-", dir=self.work))
        if block.language == "cpp":
            (folder / "block.cpp").write_text(text)
            command = [self.options.cxx, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", f"-I{include}", "block.cpp"]
        elif self.options.nvcc:
            (folder / "block.cu").write_text(text)
            command = [self.options.nvcc, "-std=c++20", "-arch=sm_90", "-cubin", f"-I{include}", "block.cu"]
        else:
            return None
        code, output = self.call(command, folder)
        return f"does not compile:\n{output[-3000:]}" if code else None

    def project(self, block, blocks, _):
        cuda = re.search(r"project\(.*CUDA", block.text)
        if "project(" not in block.text or cuda and not self.options.nvcc:
            return None
        folder = pathlib.Path(tempfile.mkdtemp(prefix="project-", dir=self.work))
        (folder / "CMakeLists.txt").write_text(block.text)
        (folder / "gpubench").symlink_to(self.source)
        readme = blocks_of("README.md", (self.source / "README.md").read_text(), self.source)
        for name, language in (("saxpy.cu", "cuda"), ("scale.cpp", "cpp")):
            if name in block.text:
                code = next((other.text for other in [*blocks, *readme] if other.language == language and "BENCHMARK(" in other.text), None)
                if code is None:
                    return f"no block of this page is {name}"
                (folder / name).write_text(code)
        installed = "find_package(gpubench" in block.text
        flags = [f"-DCMAKE_CXX_COMPILER={self.options.cxx}", f"-DCMAKE_CXX_FLAGS={self.options.flags}"]
        if cuda:
            flags.append(f"-DCMAKE_CUDA_COMPILER={self.options.nvcc}")
        flags += [f"-DCMAKE_PREFIX_PATH={self.install()}"] if installed else ["-DGPUBENCH_CUDA=OFF", f"-DFETCHCONTENT_SOURCE_DIR_GPUBENCH={self.source}"]
        steps = [["cmake", "-S", ".", "-B", "build", *flags]]
        if installed:
            steps += [["cmake", "--build", "build"], ["build/my_benchmarks", "--device=cpu", "--version"]]
        for step in steps:
            code, output = self.call(step, folder)
            if code:
                return f"{shlex.join(step)} ended with {code}:\n{output[-3000:]}"
        return None

    def parse(self, block, _, __):
        try:
            if block.language == "json":
                json.loads(block.text)
            else:
                import yaml
                yaml.safe_load(block.text)
        except ImportError:
            print(f"{block}: PyYAML is not installed (python3-yaml), so it is not parsed", file=sys.stderr)
        except Exception as error:  # of two libraries
            return f"is no {block.language}: {error}"
        return None


OPTIONS = None


class Documentation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gpubench-docs-")
        cls.checker = Checker(OPTIONS, pathlib.Path(cls.folder.name))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def pages(self):
        source = OPTIONS.source
        all_pages = [source / "README.md", source / "CONTRIBUTING.md", *sorted((source / "docs").rglob("*.md"))]
        return [page for page in all_pages if not OPTIONS.pages or str(page.relative_to(source)) in OPTIONS.pages]

    def test_blocks(self):
        names = [str(page.relative_to(OPTIONS.source)) for page in self.pages()]
        self.checker.install()  # what the pages share comes before them, for they are tested side by side
        self.checker.some_runs()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(lambda name: self.checker.problems_of_page(name, (OPTIONS.source / name).read_text()), names)
        for name, (problems, exceptions) in zip(names, results):
            with self.subTest(name):
                for exception in exceptions:
                    print(exception, file=sys.stderr)
                if problems:
                    self.fail("\n".join(problems))

    def test_broken_blocks_are_found(self):
        def block(language, text, comment=""):
            return f"{comment}\n```{language}\n{text}\n```\n"

        for broken in (block("sh", "gpubench --no-such-flag"), block("sh", "gpubench --metrics=nonsense", "<!-- test: parsed only: a test -->"),
                       block("sh", "./scripts/none.sh", "<!-- test: not run: a test -->"), block("sh", "true", "<!-- test: not run -->"),
                       block("console", "$ gpubench --version\nanother program"), block("console", "gpubench --version"),
                       block("cpp", "int main() { return nothing; }"), block("cpp", "state.no_such_call();", "<!-- test: body -->"),
                       block("cmake", "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nadd_subdirectory(none)"),
                       block("json", "{"), block("", "text without a language"), "```sh\nno end\n"):
            with self.subTest(broken):
                self.assertNotEqual(self.checker.problems_of_page("broken", broken)[0], [])
        fine = block("sh", "gpubench --version") + block("cpp", "state.skip(\"a reason\");", "<!-- test: body -->") + block("json", "{}")
        self.assertEqual(self.checker.problems_of_page("fine", fine)[0], [])

    def test_links_of_pages_outside_the_site(self):
        for name in ("README.md", "CONTRIBUTING.md"):
            prose = re.sub(r"```.*?```|`[^`]*`", "", (OPTIONS.source / name).read_text(), flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
                if "://" not in link:
                    self.assertTrue((OPTIONS.source / link).exists(), f"{name} links to {link}")

    def test_readme_is_short(self):
        self.assertLessEqual(len((OPTIONS.source / "README.md").read_text().split()), WORDS_OF_README)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for path in ("program", "source", "build"):
        parser.add_argument(f"--{path}", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--flags", default="")
    parser.add_argument("pages", nargs="*")
    OPTIONS = parser.parse_args()
    unittest.main(argv=sys.argv[:1], verbosity=2)
