#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the sources as CI does.
#   ./scripts/style.sh format             clang-format on all sources, changing none
#   ./scripts/style.sh tidy [ROOM...]     clang-tidy on all rooms or on those named: ./scripts/style.sh tidy classifier tests/core
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { printf 'style: %s\n' "$*" >&2; exit 1; }

mapfile -t rooms < <(git ls-files -- '*.cpp' | cut -d/ -f1 | sort -u)  # tests and examples too
case "${1:-}" in
  format)
    command -v clang-format >/dev/null || fail "there is no clang-format; apt-get install clang-format"
    git ls-files -z -- '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -0 clang-format --dry-run --Werror
    ;;
  tidy)
    shift
    command -v run-clang-tidy >/dev/null || fail "there is no run-clang-tidy; apt-get install clang-tidy"
    if [ $# -gt 0 ]; then rooms=("$@"); fi
    # Host code, one source at a time: clang reads neither nvcc's flags nor unity sources.
    python=()
    if [ -e build/python-venv/ready ]; then
      python=(-DGPUBENCH_PYTHON_PACKAGE=ON "-DPython_EXECUTABLE=$PWD/build/python-venv/bin/python")
    else
      printf 'style: python/src is left out: ./scripts/setup.sh --tests makes the nanobind that it needs\n' >&2
    fi
    cmake --preset tidy "${python[@]}" >/dev/null
    patterns=()
    for room in "${rooms[@]}"; do patterns+=("^$PWD/${room%/}/.*\.cpp$"); done
    run-clang-tidy -quiet -p build-tidy "${patterns[@]}"
    ;;
  *)
    printf 'usage: %s format | tidy [ROOM...]\n' "$0" >&2
    exit 64
    ;;
esac
