// SPDX-License-Identifier: Apache-2.0
// The counters of a context, held over many points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cuda/cupti_host.h"
#include "bench/cuda/cupti_library.h"
#include "bench/metrics/metric_source.h"

namespace gpubench::bench {

/// CUPTI's Range Profiler, enabled at the first collection and disabled at the end or when anything fails, so that
/// others can have the counters then. Enabling and configuring cost tens of milliseconds, counting a range about one:
/// so both are done again only where they must be. What CUPTI promises of a profiler that is used on is little, and so
/// the session sees for itself which of three ways works here, the cheapest first:
///   keep       reset the counter data, and count with the configuration as it is
///   configure  set the configuration anew in the enabled profiler
///   open       disable, enable and configure: what CUPTI's own samples do
/// A way that fails at a point where a dearer one succeeds is not tried again. Failing is an error, a range that is
/// missing or of another point, passes that are too few, and nothing but zeros before anything else was ever counted
/// this way.
class CuptiSession {
 public:
  CuptiSession(std::shared_ptr<const CuptiLibrary> library, CUcontext context);
  ~CuptiSession();
  CuptiSession(const CuptiSession&) = delete;
  CuptiSession& operator=(const CuptiSession&) = delete;

  using Values = std::vector<std::optional<double>>;
  /// Counts one range of the operation with a configuration, which must outlive the session, and gives the values of
  /// its metrics in their order. Throws MetricsUnavailable, and what `replay` throws; the profiler is disabled then,
  /// and enabled again by the next call.
  Values collect(const CuptiHost::Configuration& configuration, const Replay& replay);

  [[nodiscard]] const CountingEffort& effort() const { return effort_; }

 private:
  enum class Way : std::uint8_t { keep, configure, open };

  [[nodiscard]] Way cheapest_way(const CuptiHost::Configuration& configuration) const;
  Values attempt(Way way, const CuptiHost::Configuration& configuration, const Replay& replay);
  void enable();
  void configure(const CuptiHost::Configuration& configuration);
  void reset(std::vector<std::uint8_t>& image);
  bool pass(const char* name, const Replay& replay);
  void decode();
  [[nodiscard]] std::size_t find_range(const char* name) const;
  CUptiResult pop();
  std::pair<CUptiResult, bool> stop();
  void abandon();
  void close();

  std::shared_ptr<const CuptiLibrary> library_;
  CUcontext context_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  bool started_ = false;
  bool in_range_ = false;
  const CuptiHost::Configuration* configured_ = nullptr;
  std::size_t passes_ = 0;  ///< that the first range took after configuring
  /// The counter data of each configuration. They stay where they are as long as CUPTI may know of them.
  std::map<const CuptiHost::Configuration*, std::vector<std::uint8_t>> images_;
  bool keep_works_ = true;    ///< as far as is known
  bool keep_proven_ = false;  ///< it has counted something
  bool configure_works_ = true;
  CountingEffort effort_;
};

}  // namespace gpubench::bench
