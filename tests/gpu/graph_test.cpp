// SPDX-License-Identifier: Apache-2.0
#include "gpu/graph.h"

#include <gtest/gtest.h>

namespace gpubench::bench {
namespace {

TEST(Graph, LaunchesAddUp) {
  GraphContent content;
  EXPECT_EQ(launches_of(content, 100), Launches());
  EXPECT_EQ(common_grid_of(content), std::nullopt);
  const GraphKernel large = {{{50, 3, 1}, {64, 1, 1}, 0, {1, 1, 1}}, 16, std::nullopt};
  content.kernels = {large, large};
  EXPECT_EQ(launches_of(content, 100), (Launches{2, 300, 100}));
  EXPECT_EQ(common_grid_of(content), (Grid{150, 16}));
  content.kernels.push_back({{{40, 1, 1}, {64, 1, 1}, 0, {1, 1, 1}}, 16, std::nullopt});
  EXPECT_EQ(launches_of(content, 100), (Launches{3, 340, 100}));
  EXPECT_EQ(common_grid_of(content), std::nullopt) << "they differ";
  content.kernels = {{large.shape, 16, 100}, {large.shape, 16, 8}};
  EXPECT_EQ(launches_of(content, 100).local_bytes, 9600.0 * 100.0) << "a call's few bytes do not count";
  content.kernels = {{large.shape, std::nullopt, std::nullopt}};
  EXPECT_EQ(common_grid_of(content), std::nullopt) << "the driver did not tell";
}

}  // namespace
}  // namespace gpubench::bench
