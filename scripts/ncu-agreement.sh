#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU and Nsight Compute: device times of some built-in operations beside the durations of activity records and of ncu,
# as a table in Markdown on stdout. Clocks are left alone and caches stay warm, as when gpubench times. Takes less than a minute once there is a
# calibration.
#   ./scripts/ncu-agreement.sh [BUILD_FOLDER [FILTER]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
filter=${2:-'^((copy|reduction)/n:(65536|1048576|16777216|67108864)|softmax/elements:(65536|1048576|67108864)|gemm_(bf16|fp32)/n:(512|2048))/'}
fail() { printf 'ncu-agreement: %s\n' "$*" >&2; exit 1; }

ncu=$(command -v ncu || command -v /usr/local/cuda/bin/ncu) || fail "there is no ncu on PATH or in /usr/local/cuda/bin; install Nsight Compute"
for program in "$build/gpubench" "$build/tests/truth/profiled_operations"; do
  [ -x "$program" ] || fail "there is no $program; configure with -DGPUBENCH_TESTS=ON -DGPUBENCH_CUDA=ON and build"
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$build/gpubench" --device=cuda:0 --check --filter="$filter" --quiet --out="$folder/run.json" >&2
LC_ALL=C "$ncu" --csv --log-file "$folder/ncu.csv" --metrics gpu__time_duration.sum --print-units base --clock-control none --cache-control none \
  --profile-from-start off "$build/tests/truth/profiled_operations" "$folder/run.json" >"$folder/executions.txt" ||
  fail "ncu or the program under it failed: $(grep '^==ERROR==' "$folder/ncu.csv" | head -1)"
python3 tests/truth/ncu_agreement.py "$folder/run.json" "$folder/executions.txt" "$folder/ncu.csv"
