// SPDX-License-Identifier: Apache-2.0
// One face for the versions of Google Benchmark we build with: 1.7 speaks of errors, 1.8 and newer of skips.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

namespace gpubench::bench {

template <class Run>
bool is_skipped(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred;
  } else {
    return static_cast<int>(run.skipped) != 0;  // 0 stands for not skipped
  }
}

/// The value of --benchmark_min_time that never asks for more than one iteration. 1.8 and newer want a unit; 1.7
/// refuses one. (The package of Ubuntu 24.04 does not tell its version.)
template <class Run>
constexpr const char* min_min_time() {
  return requires(Run run) { run.error_occurred; }
  ? "0.000000001" : "0.000000001s";
}

template <class Run>
auto& skip_message(Run& run) {
  if constexpr (requires { run.error_message; }) {
    return run.error_message;
  } else {
    return run.skip_message;
  }
}

template <class Run>
void mark_skipped(Run& run, const std::string& message) {
  if constexpr (requires { run.error_message; }) {
    run.error_occurred = true;
  } else {
    run.skipped = decltype(run.skipped)(2);  // with an error
  }
  skip_message(run) = message;
}

template <class GoogleState>
bool has_error(const GoogleState& state) {
  if constexpr (requires { state.skipped(); }) {
    return state.skipped();
  } else {
    return state.error_occurred();
  }
}

/// Whether the operation has gone through Google Benchmark's own loop. Another one would abort the program, except for
/// one by KeepRunning, which then ends at once.
inline bool has_looped(const benchmark::State& state) { return state.iterations() > 0; }

/// Skips, unless that was done already. The loop that then runs no iteration still counts as started: Google Benchmark
/// aborts when, of the repetitions of a point, some have no iterations and two or more have.
template <class GoogleState>
void skip_with_error(GoogleState& state, const std::string& message) {
  if (!has_error(state)) {
    if constexpr (requires { state.SkipWithError(message); }) {
      state.SkipWithError(message);
    } else {
      state.SkipWithError(message.c_str());
    }
  }
  while (state.KeepRunning()) continue;
}

}  // namespace gpubench::bench
