#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU: builds, runs the tests labelled gpu, calibrates, sweeps the built-in operations, and leaves run.json,
# report.html, calibration.json, calibration-full.json, doctor.json, timing.md, processes.md, counting.md, freed-memory.md, random-access.md, agreement.md,
# cache-warm.md, cache-cold.md and classifier.md in a folder, in about ten minutes. Installs nothing; the libraries must be there (scripts/setup.sh).
#   ./scripts/gpu-check.sh DIR [arguments of cmake]
set -euo pipefail
if [ $# -lt 1 ] || [[ "$1" == -* ]]; then
  printf 'usage: %s DIR [arguments of cmake]\n' "$0" >&2
  exit 64
fi
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
root=$PWD
cold_filter='^(copy|triad|reduction|gemm_bf16)/'
nvidia-smi -L >/dev/null 2>&1 || { printf 'gpu-check: nvidia-smi shows no GPU here; nothing was measured\n' >&2; exit 1; }

step() { printf '\n== %s (%s s after the start)\n' "$*" "$SECONDS"; }
check() {
  local start=$SECONDS
  local code=0
  step "machine"
  nvidia-smi --query-gpu=name,driver_version,vbios_version,power.limit,clocks.sm,clocks.mem,ecc.mode.current --format=csv
  step "build"
  cmake -S . -B build-gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DGPUBENCH_CUDA=ON "$@"
  cmake --build build-gpu
  printf 'built in %s s\n' "$((SECONDS - start))"
  step "tests labelled gpu"
  # The figures are worth having all the same. What is timed or counted below is not run twice.
  ctest --test-dir build-gpu -L gpu -E '^truth\.|CudaCalibrate.Full' --output-on-failure || code=$?
  step "gpubench doctor"
  ./build-gpu/gpubench doctor --color=never --out="$directory/doctor.json"
  step "reported against true time"
  ./build-gpu/tests/truth/timing_truth | tee "$directory/timing.md"
  step "the same kernels in ten processes"
  python3 tests/truth/process_spread.py ./build-gpu/tests/truth/timing_truth | tee "$directory/processes.md"
  step "what counting costs"
  # 77: the counters are kept from us, which the log says.
  ./build-gpu/tests/truth/counter_cost | tee "$directory/counting.md" || [ "${PIPESTATUS[0]}" -eq 77 ]
  step "random accesses beside published patterns"
  ./build-gpu/tests/truth/random_access | tee "$directory/random-access.md" || code=$?
  step "memory that is slower after some was freed"
  ./build-gpu/tests/truth/freed_memory | tee "$directory/freed-memory.md"
  # A cache of its own: the calibration below is measured here and now.
  XDG_CACHE_HOME=$(mktemp -d)
  export XDG_CACHE_HOME
  step "gpubench --calibrate"
  start=$SECONDS
  ./build-gpu/gpubench --calibrate --color=never
  printf 'calibrated in %s s\n' "$((SECONDS - start))"
  cp "$XDG_CACHE_HOME"/gpubench/*.json "$directory/calibration.json"
  step "gpubench --calibrate=full"
  ./build-gpu/gpubench --calibrate=full --color=never
  cp "$XDG_CACHE_HOME"/gpubench/*.json "$directory/calibration-full.json"
  if command -v ncu >/dev/null || [ -x /usr/local/cuda/bin/ncu ]; then
    step "device times beside activity records and Nsight Compute"
    ./scripts/ncu-agreement.sh build-gpu | tee "$directory/agreement.md" || printf 'no table of agreement\n'
  fi
  step "gpubench"
  start=$SECONDS
  ( cd "$directory" && "$root/build-gpu/gpubench" --color=never --kernels --metrics=core --out=run.json --out=report.html ) || code=$?
  printf 'swept in %s s, exit code %s\n' "$((SECONDS - start))" "$code"
  step "warm and cold caches"
  for state in warm cold; do
    ( cd "$directory" && "$root/build-gpu/gpubench" --color=never --quiet --cache="$state" --metrics=core --filter="$cold_filter" \
        --out="cache-$state.json" --out="cache-$state.md" ) || code=$?
  done
  step "regimes known by construction"
  ./build-gpu/tests/truth/regimes --color=never --quiet --metrics=core,units,flops --check=ncu-rule --out="$directory/regimes.json" || code=$?
  ./build-gpu/tests/truth/regime_score "$directory/regimes.json" | tee "$directory/classifier.md"
  rm -rf "$XDG_CACHE_HOME"
  return "$code"
}

set +e
( set -e; check "$@" ) 2>&1 | tee "$directory/log.txt"
code=${PIPESTATUS[0]}
printf 'gpu-check: exit code %s; results are in %s\n' "$code" "$directory" >&2
exit "$code"
