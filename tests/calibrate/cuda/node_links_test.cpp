// SPDX-License-Identifier: Apache-2.0
// Links and collectives of the GPUs of this machine.
#include "calibrate/node_links.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "calibrate/device_collectives.h"
#include "gpu/backend.h"
#include "gpu/devices.h"
#include "gpubench/error.h"

namespace gpubench::calibrate {
namespace {

constexpr std::int64_t mebi = 1 << 20;

void show(const Calibration& found) {
  for (const Ceiling& one : found.ceilings)
    fmt::print("{}: {:.1f} GB/s ({:.1f} to {:.1f})\n", one.resource, 1e-9 * one.value, 1e-9 * one.ci95.low,
               1e-9 * one.ci95.high);
  for (const AbsentCeiling& one : found.absent) fmt::print("{} absent: {}\n", one.resource, one.reason);
}

class NodeLinks : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus_.empty()) GTEST_SKIP() << "no GPU to test on: " << bench::why_no_gpu();
  }
  std::vector<Device> gpus_ = bench::gpus();
};

TEST_F(NodeLinks, OfTheHostAreMeasuredOrSayWhyNot) {
  const Calibration found = measure_host_links(gpus_.front());
  show(found);
  EXPECT_FALSE(found.ceilings.empty() && found.absent.empty());
  for (const Ceiling& one : found.ceilings) EXPECT_GT(one.value, 1e9) << one.resource;
}

TEST_F(NodeLinks, OfAGpuToItselfAreCopiesWithinIt) {
  const Calibration found = measure_peer_links(gpus_.front(), gpus_.front());
  show(found);
  EXPECT_TRUE(found.absent.empty());
  EXPECT_EQ(found.ceilings.size(), 6U);
  for (const Ceiling& one : found.ceilings) EXPECT_GT(one.value, 1e10) << one.resource;
}

TEST_F(NodeLinks, BetweenTwoGpusBothWaysAreMoreThanOne) {
  if (gpus_.size() < 2) GTEST_SKIP() << "needs two GPUs";
  const Calibration found = measure_peer_links(gpus_[0], gpus_[1]);
  show(found);
  const auto path = bench::backend_of(gpus_[0]).path_between(gpus_[0], gpus_[1]);
  fmt::print("between them: {}\n", path.value.value_or("absent: " + path.reason));
  if (!found.absent.empty()) GTEST_SKIP() << found.absent.front().reason;
  for (const char* const engine : {"", "-kernel"}) {
    const Ceiling* const one = found.find(std::string("peer-write") + engine);
    const Ceiling* const both = found.find(std::string("peer-both-ways") + engine);
    ASSERT_TRUE(one != nullptr && both != nullptr);
    EXPECT_GT(both->value, 1.3 * one->value);
  }
}

/// As many ranks as there are GPUs, at most two, each a thread.
TEST_F(NodeLinks, DeviceCollectivesAreTimedAndRight) {
  const bench::Nccl nccl;
  if (!nccl.reason().empty()) GTEST_SKIP() << nccl.reason();
  const int ranks = gpus_.size() > 1 ? 2 : 1;
  const std::string id = nccl.new_id();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        DeviceCollectives collectives(gpus_[static_cast<std::size_t>(rank)], nccl, id, rank, ranks, 64 * mebi);
        ASSERT_EQ(collectives.max_bytes(), 64 * mebi);
        const double launch = collectives.launch_seconds();
        EXPECT_GT(launch, 0.0);
        for (std::size_t i = 0; i < collective_names.size(); ++i)
          for (const std::int64_t bytes : {std::int64_t{8} * ranks, 64 * mebi})
            for (const bool in_graph : {false, true}) {
              const auto samples = collectives.time(static_cast<Collective>(i), bytes, 20, 0.1, in_graph);
              EXPECT_GE(samples.each_seconds.size(), 5U);
              EXPECT_GT(samples.in_a_row_seconds, 0.0);
              if (rank == 0)
                fmt::print("{} {} B: {:.2f} us in a row{}\n", collective_names[i], bytes,
                           1e6 * samples.in_a_row_seconds, in_graph ? " of a graph" : "");
            }
        const auto overlap = collectives.overlap(Collective::all_reduce, 64 * mebi, 0.05);
        EXPECT_GT(overlap.products_alone, 0.0);
        EXPECT_GT(overlap.products_together, 0.0);
        if (rank == 0)
          fmt::print("NCCL {}, launch {:.2f} us, products {:.0f} and {:.0f} us, collectives {:.0f} and {:.0f} us\n",
                     nccl.version(), 1e6 * launch, 1e6 * overlap.products_alone, 1e6 * overlap.products_together,
                     1e6 * overlap.collectives_alone, 1e6 * overlap.collectives_together);
      } catch (const GpuError& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
}

}  // namespace
}  // namespace gpubench::calibrate
