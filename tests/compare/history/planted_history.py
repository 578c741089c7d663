# SPDX-License-Identifier: Apache-2.0
"""Makes a repository with a history in which some commits make operations slower, to try gpubench bisect on.

    planted_history.py DIR --plant=7:23:2 --plant=12:40:5      operation 7 from commit 23 on 2 % slower, ...
    gpubench bisect $GOOD $BAD --repository=DIR --build='cmake --build build' --run='build/bench --filter=^op7$'

Each commit changes code: the planted ones how much an operation does, all others what nothing calls, which moves the code that is
called, as changes do. Prints the hashes as JSON. The project needs an installed gpubench: CMAKE_PREFIX_PATH.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX {language})
find_package(gpubench REQUIRED)
add_executable(bench operations.{extension} notes.cpp)
target_link_libraries(bench PRIVATE gpubench::main)
"""

HOST = """#include <gpubench/gpubench.h>
#include <cmath>
#include "work.h"
template <int number> void op(gpubench::State& state) {
  auto x = state.host_vector<float>(256);
  state.measure([&] {
    float sum = x[0];
    for (int i = 0; i < work[number]; ++i) sum = std::sqrt(sum * sum + x[static_cast<std::size_t>(i % 256)]);
    x[1] = sum;
  });
}
"""

CUDA = """#include <gpubench/gpubench.h>
#include "work.h"
template <int number> __global__ void kernel(float* x) {
  float value = x[blockIdx.x * blockDim.x + threadIdx.x];
  constexpr int rounds = work[number];  // an array of the host: its values alone are known here
  for (int i = 0; i < rounds; ++i) value = value * 0.999f + 0.001f;
  x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
template <int number> void op(gpubench::State& state) {
  auto x = state.device_vector<float>(132 * 256);
  state.measure([&](cudaStream_t stream) { kernel<number><<<132, 256, 0, stream>>>(x.data()); });
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="a new folder")
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--operations", type=int, default=20)
    parser.add_argument("--plant", action="append", default=[], metavar="OPERATION:COMMIT:PERCENT")
    parser.add_argument("--cuda", action="store_true", help="kernels in place of loops of the host")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    plants = [(int(operation), int(commit), float(percent)) for operation, commit, percent in (text.split(":") for text in options.plant)]
    for operation, commit, _ in plants:
        if not (0 <= operation < options.operations and 1 <= commit <= options.commits):
            parser.error(f"{operation}:{commit} is no operation and commit of the history")
    options.folder.mkdir(parents=True)
    environment = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null")
    environment.update({f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in (("NAME", "Planter"), ("EMAIL", "planter@example.com"))})

    def git(*words):
        return subprocess.run(["git", "-C", str(options.folder), *words], env=environment, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet", "--initial-branch=main")
    chance = random.Random(options.seed)
    # Kernels of some 100 us: their start takes as long as before, and is to hide little of a slow-down.
    rounds = 8 if options.cuda else 1
    work = [rounds * chance.randrange(4000, 12000) for _ in range(options.operations)]
    notes = []
    extension = "cu" if options.cuda else "cpp"
    (options.folder / "CMakeLists.txt").write_text(CMAKE.format(language="CUDA" if options.cuda else "", extension=extension))
    register = "GPU_BENCHMARK" if options.cuda else "HOST_BENCHMARK"
    names = "\n".join(f"void op{i}(gpubench::State& state) {{ op<{i}>(state); }}\n{register}(op{i});" for i in range(options.operations))
    (options.folder / f"operations.{extension}").write_text((CUDA if options.cuda else HOST) + names + "\n")
    hashes = []
    for commit in range(options.commits + 1):
        slower = [(operation, percent) for operation, at, percent in plants if at == commit]
        for operation, percent in slower:
            work[operation] = round(work[operation] * (1.0 + percent / 100.0))
        if not slower:
            notes.append("x = x * 3 + 1; " * chance.randrange(1, 40))
        (options.folder / "work.h").write_text(f"#pragma once\nconstexpr int work[] = {{{', '.join(map(str, work))}}};\n")
        (options.folder / "notes.cpp").write_text("".join(f"int note{i}(int x) {{ {body}return x; }}\n" for i, body in enumerate(notes)))
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", f"--message=Commit {commit}" + "".join(f": op{operation} {percent:g} % slower" for operation, percent in slower))
        hashes.append(git("rev-parse", "HEAD"))
    print(json.dumps({"good": hashes[0], "bad": hashes[-1], "commits": hashes, "planted": [{"operation": f"op{o}", "commit": hashes[c], "percent": p} for o, c, p in plants]}))


if __name__ == "__main__":
    main()
