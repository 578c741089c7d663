#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU and Nsight Compute: device times of some built-in operations beside the durations of activity records and of ncu,
# and the two figures of ncu's SpeedOfLight rule as both count them, as tables in Markdown on stdout. Clocks are left alone and caches stay
# warm, as when gpubench times. Takes about a minute once there is a calibration.
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

"$build/gpubench" --device=cuda:0 --kernels --check=ncu-rule --filter="$filter" --quiet --out="$folder/run.json" >&2
# profiled NAME METRICS EXECUTIONS: what ncu says of the same points.
profiled() {
  LC_ALL=C "$ncu" --csv --log-file "$folder/$1.csv" --metrics "$2" --print-units base --clock-control none --cache-control none \
    --profile-from-start off "$build/tests/truth/profiled_operations" "$folder/run.json" "$3" >"$folder/$1.txt" ||
    fail "ncu or the program under it failed: $(grep '^==ERROR==' "$folder/$1.csv" | head -1)"
}
# Apart: with more than one pass, ncu replays each kernel, and its durations are of one that follows itself.
profiled times gpu__time_duration.sum 5
python3 tests/truth/counters/ncu_agreement.py "$folder/run.json" "$folder/times.txt" "$folder/times.csv"
profiled rule gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed 1
printf '\n'
python3 tests/truth/counters/ncu_rule.py "$folder/run.json" "$folder/rule.txt" "$folder/rule.csv"
