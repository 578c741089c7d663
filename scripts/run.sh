#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, calibrates, sweeps the built-in operations, and writes out/report.html and out/run.json.
# Arguments go to gpubench: ./scripts/run.sh --device=cpu --filter=saxpy
# Without arguments it is a first look: up to 0.02 s of sampling a point, where build/gpubench takes up to 0.25 s, and
# five or six sizes of each operation.
set -euo pipefail
cd "$(dirname "$0")/.."
./scripts/setup.sh
printf 'building ...\n' >&2
cmake --build build --target gpubench >build/build.log 2>&1 || { tail -n 40 build/build.log >&2; printf 'run: the build failed; build/build.log has all of it\n' >&2; exit 1; }
if [ $# -eq 0 ]; then
  long='1024|16384|262144|4194304|67108864'
  squares='64|256|512|1024|2048|4096'
  set -- --time-budget=0.02 --filter="^(transpose|gemm)[a-z0-9_]*/n:($squares)(/|\$)|^intensity/fma:(1|4|16|64|256)(/|\$)|:($long)(/|\$)"
fi
exec ./build/gpubench --out=out/report.html --out=out/run.json "$@"
