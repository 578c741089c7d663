// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace gpubench::profile {

const CounterParts* parts_of(std::string_view counter) {
  // What each is by its description in CUPTI's host API.
  static const std::vector<CounterParts> table = {
      {"lts__t_sector_hit_rate.pct", "lts__t_sectors_lookup_hit.sum", "lts__t_sectors.sum", 100.0},
      {"l1tex__t_sector_hit_rate.pct", "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors.sum", 100.0},
      {"smsp__thread_inst_executed_per_inst_executed.ratio", "smsp__thread_inst_executed.sum",
       "smsp__inst_executed.sum", 1.0},
      {"smsp__issue_active.avg.pct_of_peak_sustained_active", "smsp__issue_active.sum", "smsp__cycles_active.sum",
       100.0},
  };
  const auto found = std::ranges::find(table, counter, &CounterParts::counter);
  return found == table.end() ? nullptr : &*found;
}

bool adds_up(const bench::ResolvedMetric& metric) {
  return !metric.peak && !metric.terms.empty() &&
         std::ranges::all_of(metric.terms, [](const auto& term) { return term.counter.ends_with(".sum"); });
}

namespace {

/// The sum of a counter over pieces; absent where one has none.
std::optional<double> sum_over(const std::vector<const CountedPiece*>& pieces, const std::string& counter,
                               std::string& note) {
  double sum = 0.0;
  for (const CountedPiece* piece : pieces) {
    const auto value = piece->values.find(counter);
    if (value == piece->values.end()) {
      note = piece->lost.empty() ? "it was not counted in every call" : piece->lost;
      return std::nullopt;
    }
    sum += value->second;
  }
  return sum;
}

std::optional<double> metric_over(const bench::ResolvedMetric& metric, const std::vector<const CountedPiece*>& pieces,
                                  std::string& note) {
  double value = 0.0;
  for (const auto& term : metric.terms) {
    const auto sum = sum_over(pieces, term.counter, note);
    if (!sum) return std::nullopt;
    value += term.factor * *sum;
  }
  return value;
}

/// A quotient over several pieces, from its parts.
std::optional<double> quotient_over(const bench::ResolvedMetric& metric,
                                    const std::vector<const CountedPiece*>& pieces) {
  if (metric.terms.size() != 1) return std::nullopt;
  const CounterParts* const parts = parts_of(metric.terms[0].counter);
  if (parts == nullptr) return std::nullopt;
  std::string ignored;
  const auto numerator = sum_over(pieces, parts->numerator, ignored);
  const auto denominator = sum_over(pieces, parts->denominator, ignored);
  if (!numerator || !denominator || *denominator == 0.0) return std::nullopt;
  return metric.terms[0].factor * parts->factor * *numerator / *denominator;
}

std::optional<double> over_calls(const bench::ResolvedMetric& metric, Reduction reduction,
                                 const std::vector<std::vector<const CountedPiece*>>& calls, std::string& note) {
  const bool additive = adds_up(metric);
  if (!additive && reduction != Reduction::max) {
    std::vector<const CountedPiece*> all;
    for (const auto& call : calls) all.insert(all.end(), call.begin(), call.end());
    if (all.size() == 1) return metric_over(metric, all, note);
    if (const auto value = quotient_over(metric, all)) {
      note = "recomputed from its parts over all calls";
      return value;
    }
    note =
        fmt::format("{} is no quantity that adds up, so it has no {} over calls; ask for the max, or count its parts",
                    metric.name, reduction == Reduction::sum ? "sum" : "mean");
    return std::nullopt;
  }
  double sum = 0.0;
  std::optional<double> max;
  for (const auto& call : calls) {
    auto value = additive || call.size() == 1 ? metric_over(metric, call, note) : quotient_over(metric, call);
    if (!value) {
      if (note.empty())
        note = "ranges inside divide its calls, and it cannot be put together again; count its parts as well";
      return std::nullopt;
    }
    sum += *value;
    max = std::max(max.value_or(*value), *value);
  }
  if (reduction == Reduction::max) return max;
  return reduction == Reduction::sum ? sum : sum / static_cast<double>(calls.size());
}

}  // namespace

RangeMetric reduce_counter(const bench::ResolvedMetric& metric, std::uint32_t range, Reduction reduction,
                           const std::vector<CountedPiece>& pieces, const std::vector<CountedCall>& calls) {
  RangeMetric result;
  result.name = metric.name;
  result.unit = metric.unit;
  std::vector<std::vector<const CountedPiece*>> inclusive;
  std::vector<std::vector<const CountedPiece*>> exclusive;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    if (calls[c].range != range) continue;
    inclusive.emplace_back();
    exclusive.emplace_back();
    for (std::size_t i = calls[c].first; i < calls[c].last; ++i) {
      inclusive.back().push_back(&pieces[i]);
      if (pieces[i].call == c) exclusive.back().push_back(&pieces[i]);
    }
  }
  if (inclusive.empty()) {
    result.note = "none of its calls was counted";
    return result;
  }
  std::string note_of_exclusive;
  result.inclusive = over_calls(metric, reduction, inclusive, result.note);
  result.exclusive = over_calls(metric, reduction, exclusive, note_of_exclusive);
  if (result.note.empty()) result.note = note_of_exclusive;
  return result;
}

RangeCounters::RangeCounters(std::unique_ptr<bench::MetricSource> source, const std::vector<std::string>& names)
    : source_(std::move(source)) {
  std::string wanted = joined(names, ",");
  auto resolution = bench::resolve(bench::parse_metrics(wanted), source_->chip(),
                                   [&](const std::string& name) { return source_->unit(name); });
  std::vector<bench::ResolvedMetric> countable;
  for (bench::ResolvedMetric& metric : resolution.metrics) {
    if (bench::is_by_kernel(metric) || metric.peak)
      miss(metric.name, "it relates to time, which a range falsifies; use gpubench profile");
    else
      countable.push_back(std::move(metric));
  }
  for (const AbsentCounter& absent : resolution.absent) miss(absent.name, absent.reason);
  choose(std::move(countable));
}

/// Those that are had in one pass together, and parts of quotients, where they cost no pass.
void RangeCounters::choose(std::vector<bench::ResolvedMetric> countable) {
  const auto passes = [&](const std::vector<std::string>& counters) { return source_->passes(counters); };
  for (bench::ResolvedMetric& metric : countable) {
    auto more = counters_;
    for (const auto& term : metric.terms)
      if (!contains(more, term.counter)) more.push_back(term.counter);
    if (passes(more) != std::size_t{1}) {
      miss(metric.name, "a range runs once, and this would take one more pass; count it in another run");
      continue;
    }
    counters_ = std::move(more);
    metrics_.push_back(std::move(metric));
  }
  for (const bench::ResolvedMetric& metric : metrics_) {
    const CounterParts* const parts = metric.terms.size() == 1 ? parts_of(metric.terms[0].counter) : nullptr;
    if (parts == nullptr) continue;
    auto more = counters_;
    for (const std::string& part : {parts->numerator, parts->denominator})
      if (source_->unit(part) && !contains(more, part)) more.push_back(part);
    if (passes(more) == std::size_t{1}) counters_ = std::move(more);
  }
  if (!metrics_.empty()) source_->begin(counters_);
}

void RangeCounters::open(std::uint32_t call, std::string_view name) {
  const std::lock_guard lock(mutex_);
  end_piece();
  std::string path = open_.empty() ? std::string(name) : open_.back().path + "/" + std::string(name);
  const auto range = ranges_.emplace(path, ranges_.size()).first->second;
  calls_.push_back({range, pieces_.size(), pieces_.size()});
  open_.push_back({call, calls_.size() - 1, std::move(path)});
  begin_piece();
}

void RangeCounters::close(std::uint32_t call) {
  const std::lock_guard lock(mutex_);
  if (open_.empty() || open_.back().number != call) return;
  end_call();
  if (!open_.empty()) begin_piece();
}

void RangeCounters::finish() {
  const std::lock_guard lock(mutex_);
  while (!open_.empty()) end_call();
  read();
  source_.reset();
}

void RangeCounters::clear() {
  const std::lock_guard lock(mutex_);
  if (open_.empty()) read();
  if (!open_.empty()) return;  // pieces of open ranges are in use
  pieces_.clear();
  calls_.clear();
  unread_ = 0;
}

RangeMetric RangeCounters::metric(std::size_t index, const std::string& path, Reduction reduction) {
  const std::lock_guard lock(mutex_);
  if (!open_.empty())
    return {metrics_[index].name, metrics_[index].unit, std::nullopt, std::nullopt,
            "counters are read once all ranges have ended"};
  read();
  const auto range = ranges_.find(path);
  return reduce_counter(metrics_[index], range == ranges_.end() ? ~0U : range->second, reduction, pieces_, calls_);
}

void RangeCounters::miss(const std::string& name, const std::string& why) {
  reason_ += fmt::format("{}{}: {}", reason_.empty() ? "" : "; ", name, why);
}

void RangeCounters::begin_piece() {
  CountedPiece& piece = pieces_.emplace_back();
  piece.call = open_.back().call;
  if (!lost_.empty()) {
    piece.lost = lost_;
    return;
  }
  try {
    source_->begin_range(pieces_.size() - 1);
    in_piece_ = true;
  } catch (const std::exception& error) {
    piece.lost = lost_ = error.what();
  }
}

void RangeCounters::end_call() {
  end_piece();
  calls_[open_.back().call].last = pieces_.size();
  open_.pop_back();
}

void RangeCounters::end_piece() {
  if (!std::exchange(in_piece_, false)) return;
  try {
    source_->end_range();
  } catch (const std::exception& error) {
    pieces_.back().lost = lost_ = error.what();
  }
}

void RangeCounters::read() {
  if (source_ == nullptr || unread_ == pieces_.size()) return;
  try {
    for (auto& [piece, values] : source_->read()) {
      if (piece >= pieces_.size()) continue;
      pieces_[piece].values = std::move(values.values);
      if (pieces_[piece].lost.empty()) pieces_[piece].lost = values.lost;
    }
  } catch (const std::exception& error) {
    lost_ = error.what();
  }
  unread_ = pieces_.size();
}

}  // namespace gpubench::profile
