#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes this machine able to build gpubench: installs the packages that are missing and the chart library, and configures
# build/. What is there already is left alone. Called by run.sh and test.sh; `setup.sh --tests` adds what the tests need.
# Without tests, CUDA code is built only where there is a GPU, and only for that one. With tests, all code is built.
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ cmake ninja-build libbenchmark-dev libfmt-dev libeigen3-dev nlohmann-json3-dev libsimdjson-dev zlib1g-dev libzstd-dev libsqlite3-dev libcpp-httplib-dev pkg-config python3 python3-venv)
test_packages=(python3-dev libgtest-dev libgmock-dev libbenchmark-tools python3-scipy python3-yaml doxygen zsh fish libopenmpi-dev openmpi-bin)
chart_library="vl-convert-python==1.9.0.post1"
python_tests=("nanobind>=2.4" numpy pytest nbclient ipykernel)
readers=("cuda-bench[compare]==0.3.0" prometheus_client==0.26.0 axe-core-python==0.1.0)

tests=OFF
if [ "${1:-}" = "--tests" ]; then tests=ON; fi

say() { printf 'setup: %s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }

missing_packages() {
  local wanted=("${build_packages[@]}") package installed
  if [ "$tests" = ON ]; then wanted+=("${test_packages[@]}"); fi
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
  for package in "${wanted[@]}"; do
    grep -qxF "$package installed" <<<"$installed" || printf '%s\n' "$package"
  done
}

install_packages() {
  local rights=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || stop "these packages are missing and installing them needs root or sudo: $*"
    if ! sudo -n true 2>/dev/null && [ ! -t 0 ]; then
      stop "these packages are missing and sudo wants a password, which cannot be asked for here: $*"
    fi
    rights=(sudo)
  fi
  say "installing $*"
  local log
  log=$(mktemp)
  if ! { "${rights[@]}" apt-get update -qq &&
         "${rights[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    stop "apt-get could not install $*; its last words are above. Is there a network, and are the package lists right?"
  fi
  rm -f "$log"
}

has_gpu() {
  [ -n "$(ls /proc/driver/nvidia/gpus 2>/dev/null)" ] || nvidia-smi -L >/dev/null 2>&1 || /usr/local/nvidia/bin/nvidia-smi -L >/dev/null 2>&1
}

cached() { grep -qs "^$1:[A-Z]*=$2\$" build/CMakeCache.txt; }

# Whether the Python package can be built: nanobind is there, and Python's own headers.
has_python_package() {
  [ -e build/python-venv/ready ] && build/python-venv/bin/python -c '
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

configure() {
  local options=(-DCMAKE_BUILD_TYPE=Release "-DGPUBENCH_TESTS=$tests" "-DGPUBENCH_EXAMPLES=$tests")
  if [ ! -e build/CMakeCache.txt ]; then
    if command -v ninja >/dev/null; then options+=(-G Ninja); fi
  fi
  # A build folder that somebody configured keeps its choice of CUDA.
  if [ ! -e build/CMakeCache.txt ]; then options+=("-DGPUBENCH_CUDA=$cuda"); fi
  # Code that nothing here can run is compiled for one architecture.
  if [ ! -e build/CMakeCache.txt ] && ! has_gpu; then options+=(-DCMAKE_CUDA_ARCHITECTURES=90); fi
  if [ "$tests" = ON ] && has_python_package; then
    options+=(-DGPUBENCH_PYTHON_PACKAGE=ON "-DPython_EXECUTABLE=$PWD/build/python-venv/bin/python")
  fi
  cmake -S . -B build "${options[@]}"
}

# Once tests have been configured they stay so: run.sh must not undo what test.sh set up.
if cached GPUBENCH_TESTS ON; then tests=ON; fi

cuda=AUTO
if [ "$tests" = OFF ] && ! has_gpu; then
  cuda=OFF
  say "no NVIDIA GPU here: building for the CPU alone (scripts/test.sh compiles the CUDA code too)"
fi

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  mapfile -t missing < <(missing_packages)
  # The libraries may also be there without Debian's packages, built from source say: CMake decides.
  if [ "${#missing[@]}" -gt 0 ] && ! { command -v cmake >/dev/null && configure >/dev/null 2>&1; }; then
    install_packages "${missing[@]}"
  fi
elif ! command -v cmake >/dev/null; then
  stop "this is no Debian or Ubuntu: install cmake >= 3.25, a C++20 compiler, ninja, Google Benchmark, fmt, Eigen, nlohmann_json, simdjson and GoogleTest, then call this again"
fi

# environment NAME PACKAGE...: wheels in a virtual environment of our own, build/NAME. Fails when they cannot be had; GPUBENCH_NO_VENV asks for none.
environment() {
  local name=$1
  shift
  if [ -e "build/$name/ready" ] || [ -n "${GPUBENCH_NO_VENV:-}" ]; then return 0; fi
  mkdir -p build
  if python3 -m venv "build/$name" >"build/$name.log" 2>&1 &&
     "build/$name/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 15 "$@" >>"build/$name.log" 2>&1; then
    touch "build/$name/ready"
  else
    rm -rf "build/$name"
    return 1
  fi
}

# Everything but the offline charts works without the chart library.
environment venv "$chart_library" ||
  say "the chart library ($chart_library) cannot be had, see build/venv.log; going on: reports will load their charts from the network"
if [ "$tests" = ON ]; then
  environment readers "${readers[@]}" ||
    say "readers of what is written for other tools (${readers[*]}) cannot be had, see build/readers.log; going on: tests with them will skip"
  environment python-venv "${python_tests[@]}" ||
    say "what the Python package is built and tested with (${python_tests[*]}) cannot be had, see build/python-venv.log; going on without it"
  environment docs-venv -r docs/requirements.txt ||
    say "mkdocs cannot be had, see build/docs-venv.log; going on: the test of the documentation's site will skip"
fi

# While CMake looks at compilers, for it takes as long; CMake then finds the file, or waits for it.
if [ -x build/venv/bin/python ] && [ -e build/venv/ready ]; then
  build/venv/bin/python cmake/vega_bundle.py build/vega/bundle.js >/dev/null 2>&1 &
fi
log=$(mktemp)
if ! configure >"$log" 2>&1; then
  grep -A4 'CMake Error' "$log" >&2 || cat "$log" >&2
  rm -f "$log"
  stop "cmake could not configure build/; the reason is above."
fi
grep '^-- gpubench' "$log" >&2 || true
rm -f "$log"
