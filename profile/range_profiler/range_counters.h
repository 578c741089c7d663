// SPDX-License-Identifier: Apache-2.0
// Counters of ranges, and one figure of them over all calls of a range. No CUDA.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/counters/metrics.h"
#include "gpubench/profile.h"

namespace gpubench::profile {

/// A counter that is a quotient, by what it can be computed from again: factor * numerator / denominator.
struct CounterParts {
  std::string counter, numerator, denominator;
  double factor = 1.0;
};
/// Null where none are known, as of a counter that is a sum.
const CounterParts* parts_of(std::string_view counter);
/// Whether values of several calls may be added: "X.sum", and the names of gpubench that are made of such.
bool adds_up(const bench::ResolvedMetric& metric);

/// Counters of what ran between two borders: a range, or a stretch of it between the ranges inside it.
struct CountedPiece {
  std::size_t call = 0;  ///< into the calls
  std::map<std::string, double> values;
  std::string lost;  ///< why there are none
};
/// One call of a range: the pieces from `first` to before `last`.
struct CountedCall {
  std::uint32_t range = 0;
  std::size_t first = 0, last = 0;
};
/// One metric of one range over all its calls. A sum or mean of a quotient is refused, unless its parts were counted.
RangeMetric reduce_counter(const bench::ResolvedMetric& metric, std::uint32_t range, Reduction reduction,
                           const std::vector<CountedPiece>& pieces, const std::vector<CountedCall>& calls);

/// Counters of the ranges of one thread. Ranges inside a range divide it into pieces that are counted one by one.
class RangeCounters {
 public:
  /// Takes what can be counted in one pass of these metrics. Throws as the source does.
  RangeCounters(std::unique_ptr<bench::MetricSource> source, const std::vector<std::string>& names);

  [[nodiscard]] bool any() const { return !metrics_.empty(); }
  [[nodiscard]] const std::vector<bench::ResolvedMetric>& metrics() const { return metrics_; }
  /// Why some are not counted.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool of_this_thread() const { return std::this_thread::get_id() == thread_; }

  /// `call` is a number that no other has.
  void open(std::uint32_t call, std::string_view name);
  /// Nothing where the call is not the innermost.
  void close(std::uint32_t call);
  /// Ends with the session, also where ranges are open.
  void finish();
  void clear();
  [[nodiscard]] RangeMetric metric(std::size_t index, const std::string& path, Reduction reduction);

 private:
  void choose(std::vector<bench::ResolvedMetric> countable);
  void miss(const std::string& name, const std::string& why);
  void begin_piece();
  void end_call();
  void end_piece();
  void read();

  std::mutex mutex_;
  std::unique_ptr<bench::MetricSource> source_;
  std::thread::id thread_ = std::this_thread::get_id();
  std::vector<bench::ResolvedMetric> metrics_;
  std::vector<std::string> counters_;
  std::string reason_;
  std::string lost_;  ///< counting has failed for good
  std::vector<CountedPiece> pieces_;
  std::vector<CountedCall> calls_;
  struct Open {
    std::uint32_t number;
    std::size_t call;  ///< into calls_
    std::string path;
  };
  std::vector<Open> open_;
  std::map<std::string, std::uint32_t, std::less<>> ranges_;  ///< by path
  std::size_t unread_ = 0;
  bool in_piece_ = false;
};

}  // namespace gpubench::profile
