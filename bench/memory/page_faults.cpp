// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/page_faults.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>

#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

double faults_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

/// What a page takes that is mapped, touched and given back, in a block of a few hundred; none where there is no
/// memory.
std::optional<double> seconds_of_a_page() {
  constexpr std::size_t pages = 512;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto start = std::chrono::steady_clock::now();
  void* const block = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return std::nullopt;
  madvise(block, pages * page, MADV_NOHUGEPAGE);  // a kernel without huge pages refuses, and has none either
  auto* const bytes = static_cast<volatile std::byte*>(block);
  for (std::size_t i = 0; i < pages; ++i) bytes[i * page] = std::byte{1};
  munmap(block, pages * page);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(pages);
}

}  // namespace

std::optional<PageFaults> page_faults_of(Timer& timer, std::int64_t executions) {
  constexpr double long_seconds = 0.1;  // of which one batch has to do
  double fewest = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < 3; ++batch) {
    const double before = faults_so_far();
    const double seconds = static_cast<double>(executions) * timer.time(executions);
    fewest = std::min(fewest, (faults_so_far() - before) / static_cast<double>(executions));
    if (fewest < 1.0) return std::nullopt;
    if (seconds > long_seconds) break;
  }
  std::array<double, 9> seconds{};
  for (double& each : seconds) {
    const auto one = seconds_of_a_page();
    if (!one) return std::nullopt;
    each = *one;
  }
  const Summary cost = statistics::summarize(seconds);
  return PageFaults{fewest, {cost.median, cost.median_ci95}};
}

}  // namespace gpubench::bench
