// SPDX-License-Identifier: Apache-2.0
// The registered host operations at one small size: their own checks pass, and they declare the work that was counted
// by hand.
#include "kernels/operations/operations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "bench/google/google_runner.h"
#include "bench/point_runner.h"
#include "gpu/devices.h"

namespace gpubench::operations {
namespace {

std::map<std::string, Measurement> measure(const std::string& filter) {
  bench::SamplingOptions options;
  options.exact_samples = 2;
  bench::PointRunner runner(bench::host_device(), {options});
  const auto visit = [&](const bench::PointCall& call, std::size_t) { return runner.run(call); };
  std::map<std::string, Measurement> found;
  for (auto& measurement : bench::go_over(bench::host_device(), filter, visit))
    found.emplace(measurement.name, std::move(measurement));
  return found;
}

struct Known {
  const char* name;
  double bytes_read;
  double bytes_written;
  std::map<Pipe, double> flops;
  double footprint_bytes;
};

// n = 1024, or 4 rows of 1024, or 64 x 64.
const Known known[] = {
    {"copy/n:1024", 4096, 4096, {}, 8192},
    {"saxpy/n:1024", 8192, 4096, {{fp32, 2048}}, 8192},
    {"triad/n:1024", 8192, 4096, {{fp32, 2048}}, 12288},
    {"cos/n:1024", 4096, 4096, {{fp32, 17408}}, 8192},
    {"gelu/n:1024", 4096, 4096, {{fp32, 23552}}, 8192},
    {"reduction/n:1024", 4096, 0, {{fp64, 1024}}, 4096},
    {"dot/n:1024", 8192, 0, {{fp64, 2048}}, 8192},
    {"softmax/elements:4096", 16384, 16384, {{fp32, 86020}}, 32768},
    {"layer_norm/elements:4096", 24576, 16384, {{fp32, 32792}}, 40960},
    {"transpose/n:64", 16384, 16384, {}, 32768},
    {"gemm_fp32/n:64", 32768, 16384, {{fp32, 524288}}, 49152},
    {"intensity/fma:2", 67108864, 67108864, {{fp32, 67108864}}, 134217728},
};

TEST(OperationsTest, check_themselves_and_declare_their_work) {
  std::string filter = "^(none";
  for (const auto& operation : known) filter += std::string("|") + operation.name + "/manual_time";
  const auto measured = measure(filter + ")$");
  ASSERT_EQ(measured.size(), std::size(known));
  for (const auto& operation : known) {
    SCOPED_TRACE(operation.name);
    const auto at = measured.find(std::string(operation.name));
    ASSERT_NE(at, measured.end());
    const Measurement& measurement = at->second;
    EXPECT_FALSE(measurement.failure) << measurement.failure->message;
    EXPECT_TRUE(measurement.verified);
    EXPECT_EQ(measurement.work.bytes_read, operation.bytes_read);
    EXPECT_EQ(measurement.work.bytes_written, operation.bytes_written);
    EXPECT_EQ(measurement.work.flops, operation.flops);
    EXPECT_EQ(measurement.work.footprint_bytes, operation.footprint_bytes);
  }
}

TEST(OperationsTest, are_swept_over_at_min_twelve_sizes_each) {
  std::map<std::string, std::set<std::int64_t>> sizes;
  for (const auto& point : bench::discover(bench::host_device().kind, "")) {
    ASSERT_EQ(point.arguments.size(), 1U) << point.name;
    EXPECT_FALSE(point.arguments[0].name.empty()) << point.name;
    sizes[point.operation].insert(point.arguments[0].value);
  }
  EXPECT_EQ(sizes.size(), std::size(known));
  for (const auto& [operation, values] : sizes) EXPECT_GE(values.size(), 12U) << operation;
  EXPECT_EQ(*sizes["copy"].begin(), min_vector);
  EXPECT_EQ(*sizes["copy"].rbegin(), max_vector);
}

}  // namespace
}  // namespace gpubench::operations
