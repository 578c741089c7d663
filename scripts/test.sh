#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds everything and runs all tests. Arguments go to ctest: ./scripts/test.sh -R classifier
set -euo pipefail
cd "$(dirname "$0")/.."
./scripts/setup.sh --tests
printf 'building ...\n' >&2
cmake --build build >build/build.log 2>&1 || { tail -n 40 build/build.log >&2; printf 'test: the build failed; build/build.log has all of it\n' >&2; exit 1; }
exec ctest --test-dir build --output-on-failure --parallel 2 "$@"
