// SPDX-License-Identifier: Apache-2.0
// What reading and summarising a trace takes of memory, a slice.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "timeline/analysis.h"
#include "timeline/readers.h"

namespace gpubench {
namespace {

/// As PyTorch writes it, and as make_trace.py does: of six slices four are operators, one a launch and one its kernel.
std::string trace_of(std::size_t slices) {
  std::string text = R"({"traceEvents":[)";
  const auto add = [&](const char* what, const std::string& name, std::size_t ts, std::size_t length,
                       const std::string& arguments) {
    text += std::string(text.ends_with('[') ? "" : ",") + R"({"ph":"X","cat":")" + what + R"(","name":")" + name +
            R"(","pid":)" + (arguments.empty() || arguments[0] != ' ' ? "5" : "0") + R"(,"tid":5,"ts":)" +
            std::to_string(ts) + R"(,"dur":)" + std::to_string(length) + R"(,"args":{)" + arguments + "}}";
  };
  for (std::size_t i = 0; i < slices / 6; ++i) {
    const std::string correlation = R"("correlation":)" + std::to_string(i + 1);
    if (i % 100 == 0) add("user_annotation", "ProfilerStep#" + std::to_string(i / 100), i * 25, 2500, "");
    for (std::size_t k = 0; k < 4; ++k)
      add("cpu_op", "aten::op" + std::to_string((i + k) % 24), i * 25 + k, 17 - k, "");
    add("cuda_runtime", "cudaLaunchKernel", i * 25 + 5, 4, correlation);
    add("kernel", "kernel" + std::to_string(i % 15), i * 25 + 60, 20, R"( "stream":7,)" + correlation);
  }
  return text + "]}";
}

/// Of "VmHWM", the most that was resident, and "VmRSS".
std::size_t kilobytes(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::size_t value = 0; word == what + ":" && status >> value) return value;
  return 0;
}

/// How much more was resident while a trace was read and summarised; absent where the system does not tell.
std::optional<std::size_t> peak_of_summary(std::size_t slices) {
  const std::string text = trace_of(slices);
  malloc_trim(0);
  const std::size_t before = kilobytes("VmRSS");
  if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush) || kilobytes("VmHWM") > before + 1000)
    return std::nullopt;
  const timeline::Timeline timeline = timeline::chrome_json(text, "made");
  const auto summary = timeline::tables_of(timeline, "summary");
  EXPECT_GE(timeline.slices.size(), slices - 6);
  EXPECT_EQ(std::ranges::find(summary, "kernels", &ResultTable::name)->rows.size(), 15U);
  return (kilobytes("VmHWM") - before) * 1024;
}

/// What is fixed falls out between two sizes.
TEST(Memory, of_a_summary_is_at_most_48_bytes_a_slice) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer holds what was given back";
#endif
  mallopt(M_MMAP_THRESHOLD, 1 << 17);  // what is given back goes to the system, as it does where traces are large
  constexpr std::size_t small = 100'000, large = 250'000;
  const auto first = peak_of_summary(small), second = peak_of_summary(large);
  if (!first || !second) GTEST_SKIP() << "the system does not tell the peak of memory";
  EXPECT_LE((static_cast<double>(*second) - static_cast<double>(*first)) / (large - small), 48.0);
}

}  // namespace
}  // namespace gpubench
