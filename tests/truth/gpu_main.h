// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <exception>

#include "gpu/devices.h"

namespace gpubench::truth {

/// What main returns: `run()`'s exit code; 77 without a GPU, 1 after an error, each with a sentence.
template <class Run>
int gpu_main(const char* program, const Run& run) {
  try {
    if (!bench::gpus().empty()) return run();
    (void)std::fprintf(stderr, "%s: needs a CUDA device: %s\n", program, bench::why_no_gpu().c_str());
    return 77;
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace gpubench::truth
