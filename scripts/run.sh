#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, calibrates, sweeps the built-in operations, and writes out/report.html and out/run.json.
# Arguments go to gpubench: ./scripts/run.sh --device=cpu --filter=saxpy
# Without arguments it is a first look: up to 0.02 s of sampling a point, where build/gpubench takes up to 0.25 s, and of long
# series every fourth size.
set -euo pipefail
cd "$(dirname "$0")/.."
./scripts/setup.sh
printf 'building ...\n' >&2
cmake --build build --target gpubench >build/build.log 2>&1 || { tail -n 40 build/build.log >&2; printf 'run: the build failed; build/build.log has all of it\n' >&2; exit 1; }
if [ $# -eq 0 ]; then
  sizes='1024|16384|262144|4194304|67108864'
  set -- --time-budget=0.02 --filter="^(transpose|gemm|intensity)|:($sizes)(/|\$)"
fi
exec ./build/gpubench --out=out/report.html --out=out/run.json "$@"
