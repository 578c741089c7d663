// SPDX-License-Identifier: Apache-2.0
// Tests of operations that Google Benchmark holds.
#include <gtest/gtest.h>

#include "bench/google/google_runner.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gpubench::bench::initialize_google(argv[0], {});
  return RUN_ALL_TESTS();
}
