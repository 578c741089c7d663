#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone: headers_test.py BUILD_FOLDER.

A source includes the header of its name first, so the build compiles that header alone. The others are compiled here, with the flags
of a source near them."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else ROOT / "build"
LEFT_OUT = ("tests/fuzz/", "tests/truth/libraries/", "examples/")  # programs of their own


def files(*patterns):
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *patterns], capture_output=True, text=True, check=True).stdout.split()
    return [name for name in listed if (ROOT / name).exists() and not name.startswith(LEFT_OUT)]


def first_includes():
    """The headers that some source includes before anything else."""
    first = (re.search(r'^#include ["<]([^">]+)[">]', (ROOT / name).read_text(encoding="utf-8"), re.M) for name in files("*.cpp", "*.cu"))
    return {match.group(1) for match in first if match}


def users_of(header, sources):
    return [name for name in sources if f'"{header}"' in (ROOT / name).read_text(encoding="utf-8")]


def flags_near(header, commands):
    """Of a source that includes it, if there is one: that whose path shares most with the header's."""
    users = users_of(header, commands)
    near = max(users or commands, key=lambda name: len(os.path.commonprefix([name, header])))
    words = shlex.split(commands[near])[1:]
    kept = [word for word, before in zip(words, ["", *words]) if word not in ("-c", "-o") and before != "-o" and not word.endswith(near)]
    return [word for word in kept if not re.match(r"-M|-Winvalid-pch|.*cmake_pch|-include|-fopenmp-simd", word)]


class Headers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
        cls.commands = {os.path.relpath(entry["file"], ROOT): entry["command"] for entry in entries
                        if entry["file"].endswith(".cpp") and pathlib.Path(entry["file"]).exists() and pathlib.Path(entry["file"]).is_relative_to(ROOT)
                        and not pathlib.Path(entry["file"]).is_relative_to(BUILD)}
        cls.compiler = next(word for word in shlex.split(next(iter(cls.commands.values()))) if "++" in word)

    def all_compile(self, names, words_of):
        """`words_of` a name: flags, and what is compiled."""
        def compiled(name):
            done = subprocess.run([self.compiler, f"-I{ROOT}", "-fsyntax-only", *words_of(name)], cwd=BUILD, capture_output=True, text=True)
            return None if done.returncode == 0 else f"{name}:\n{done.stderr[:2000]}"

        self.assertTrue(names)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            failed = [message for message in pool.map(compiled, names) if message]
        self.assertEqual(failed, [], "\n".join(failed))

    def test_each_compiles_alone(self):
        known = first_includes()
        left = [header for header in files("*.h") if header not in known and header.removeprefix("include/") not in known]
        sources = files("*.cpp")
        left = [header for header in left if users_of(header, self.commands) or not users_of(header, sources)]  # others are of what this build leaves out
        self.all_compile(left, lambda header: [*flags_near(header, self.commands), "-x", "c++", "-include", str(ROOT / header), "/dev/null"])

    def test_what_tells_builds_with_cuda_from_others_compiles_for_the_others(self):
        told = [name for name in files("*.cpp") if "GPUBENCH_WITH_CUDA" in (ROOT / name).read_text(encoding="utf-8") or name.endswith("/no_cuda.cpp")]
        here = [name for name in told if name in self.commands or name.endswith("/no_cuda.cpp")]
        self.all_compile(here, lambda name: [*(word for word in flags_near(name, self.commands) if not word.startswith("-DGPUBENCH_WITH_CUDA")), str(ROOT / name)])


if __name__ == "__main__":
    unittest.main()
