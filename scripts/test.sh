#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds everything and runs all tests. Arguments go to ctest: ./scripts/test.sh -R classifier
set -euo pipefail
cd "$(dirname "$0")/.."
./scripts/setup.sh --tests
printf 'building ...\n' >&2
cmake --build build >build/build.log 2>&1 || { tail -n 40 build/build.log >&2; printf 'test: the build failed; build/build.log has all of it\n' >&2; exit 1; }
# Many tests mostly wait: for a limit to pass, for other processes, for a browser. Threads that wait leave their core to others.
export OMP_WAIT_POLICY=passive
exec ctest --test-dir build --output-on-failure --parallel "$(($(nproc) + 1))" "$@"
