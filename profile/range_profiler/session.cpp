// SPDX-License-Identifier: Apache-2.0
// The one session of a process: its ranges, and threads that read records meanwhile.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "gpu/devices.h"
#include "profile/range_profiler/range_counters.h"
#include "profile/range_profiler/range_reports.h"
#include "profile/range_profiler/range_sums.h"
#include "profile/range_profiler/sources.h"

namespace gpubench::profile {

namespace detail {
namespace {
constexpr unsigned by_session = 1;
constexpr unsigned by_nvtx = 2;
// Of a range alone: what it has to undo.
constexpr unsigned pushed = 4;
constexpr unsigned counted = 8;
/// What makes CUDA's tools read NVTX.
unsigned nvtx_readers() {
  for (const char* variable : {"NVTX_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return by_nvtx;
  return 0;
}
}  // namespace
std::atomic<unsigned> range_uses{nvtx_readers()};
}  // namespace detail

namespace {

using detail::by_nvtx;
using detail::by_session;
using detail::counted;
using detail::pushed;

/// Nanoseconds of one call, the least of some rounds: what interrupts makes a round longer, nothing makes it shorter.
template <class Call>
double cost_ns(const Call& call) {
  constexpr int rounds = 5;
  constexpr int calls = 200;
  double least = 0.0;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t start = steady_nanoseconds();
    for (int i = 0; i < calls; ++i) call();
    const double one = static_cast<double>(steady_nanoseconds() - start) / calls;
    least = round == 0 ? one : std::min(least, one);
  }
  return least;
}

constexpr const char* own_range = "gpubench: what a range costs";

class Session {
 public:
  Status enable(const Options& options);
  void disable();
  void reset();
  Status status();
  std::vector<RangeResult> results(Reduction reduction);
  MemoryActivity memory_activity();
  std::vector<SelfCost> self_cost();
  void use(Sources sources) {
    const std::lock_guard lock(mutex_);
    sources_ = std::move(sources);
  }

  RangeTree tree;
  std::atomic<RecordSource*> recording = nullptr;
  std::atomic<RecordSource*> last_recording = nullptr;  ///< stays when recording ends
  std::atomic<RangeCounters*> counting = nullptr;

 private:
  void open_records(bool memory);
  void open_counters(const std::vector<std::string>& names);
  void collect(bool all);
  void watch();
  void measure_ranges();
  [[nodiscard]] Status status_locked();
  [[nodiscard]] std::vector<RangeResult> results_locked(Reduction reduction);
  void add_results(const RangeNode& parent, const std::string& path, int depth, Reduction reduction,
                   std::vector<RangeResult>& results);

  std::mutex mutex_;
  Sources sources_;
  bool enabled_ = false;
  /// Of former sessions too: a range that is open when its session ends still pops.
  std::vector<std::unique_ptr<RecordSource>> records_;
  std::unique_ptr<RangeCounters> counters_;
  std::vector<std::unique_ptr<RangeCounters>> former_counters_;  ///< another thread may still look at them
  RangeSums sums_;
  bool has_records_ = false;
  bool memory_wanted_ = true;
  std::string records_reason_ = not_enabled;
  std::string counters_reason_;
  std::string note_;
  std::optional<double> enabled_range_ns_, disabled_range_ns_;
  std::vector<SelfCost> timer_costs_;
  std::thread watcher_;
  std::condition_variable wake_;
  bool stop_watching_ = false;

  static constexpr const char* not_enabled = "no session was started; call gpubench::profile::enable()";
};

/// Never destroyed: ranges may end while the process does.
Session& session() {
  static auto* const one = new Session;
  return *one;
}

thread_local RangeNode* current_range = nullptr;

void Session::open_records(bool memory) {
  has_records_ = false;
  records_reason_.clear();
  memory_wanted_ = memory;
  for (const char* variable : bench::profiler_variables)
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0')
      records_reason_ = fmt::format(
          "{} is set, so another profiler records this program and shows its ranges; run without it to record here",
          variable);
  if (!records_reason_.empty()) return;
  try {
    records_.push_back(sources_.records(memory));
    last_recording = records_.back().get();
    recording = records_.back().get();
    has_records_ = true;
  } catch (const std::exception& error) {
    records_reason_ = error.what();
  }
}

void Session::open_counters(const std::vector<std::string>& names) {
  counters_reason_.clear();
  if (counters_) {
    counters_->clear();
    former_counters_.push_back(std::move(counters_));
  }
  if (names.empty()) return;
  if (!has_records_) {
    counters_reason_ = records_reason_;
    return;
  }
  try {
    counters_ = std::make_unique<RangeCounters>(sources_.counters(), names);
    counters_reason_ = counters_->reason();
    if (counters_->any()) counting = counters_.get();
  } catch (const std::exception& error) {
    counters_reason_ = error.what();
  }
}

/// The costs of a range, in a range that no result shows. Counters are not on yet.
void Session::measure_ranges() {
  const auto uses = detail::range_uses.load();
  const auto one = [] { const Range range(own_range); };
  if (uses == 0) disabled_range_ns_ = cost_ns(one);
  detail::range_uses = uses | by_session;
  enabled_range_ns_ = cost_ns(one);
}

Status Session::enable(const Options& options) {
  disable();
  const std::lock_guard lock(mutex_);
  open_records(options.memory);
  // Registered after CUDA's own, so that it runs before.
  static const bool ends_with_process = std::atexit([] { session().disable(); }) == 0;
  (void)ends_with_process;
  measure_ranges();
  open_counters(options.metrics);
  enabled_ = true;
  if (has_records_) {
    stop_watching_ = false;
    watcher_ = std::thread([this] { watch(); });
  }
  return status_locked();
}

void Session::disable() {
  std::thread watcher;
  {
    const std::lock_guard lock(mutex_);
    if (!enabled_) return;
    enabled_ = false;
    detail::range_uses &= ~by_session;
    stop_watching_ = true;
    watcher = std::exchange(watcher_, {});
  }
  wake_.notify_all();
  if (watcher.joinable()) watcher.join();
  const std::lock_guard lock(mutex_);
  counting = nullptr;
  if (counters_) counters_->finish();
  recording = nullptr;
  try {
    if (has_records_) records_.back()->stop();
  } catch (const std::exception& error) {
    note_ = fmt::format("Recording did not end well: {}.", error.what());
  }
  collect(true);
}

/// Takes records as they come, so that CUPTI's buffers do not pile up.
void Session::watch() {
  constexpr auto interval = std::chrono::milliseconds(100);
  constexpr std::size_t max_waiting = std::size_t{1} << 20;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return stop_watching_; })) collect(sums_.waiting() > max_waiting);
}

void Session::collect(bool all) {
  if (!has_records_) return;
  try {
    sums_.add(records_.back()->take(all));
    if (all) sums_.settle(tree);
  } catch (const std::exception& error) {
    note_ = fmt::format("Records are missing: {}.", error.what());
  }
}

void Session::reset() {
  const std::lock_guard lock(mutex_);
  if (enabled_) collect(true);
  sums_.clear();
  if (counters_) counters_->clear();
  tree.forget_calls();
  note_.clear();
}

Status Session::status_locked() {
  Status status;
  status.enabled = enabled_;
  status.records = has_records_;
  status.records_reason = records_reason_;
  status.counters = counters_ != nullptr && counters_->any();
  status.counters_reason = counters_reason_;
  status.dropped = sums_.dropped();
  status.kernels_outside = sums_.kernels_of(0).kernels;
  status.note = note_;
  if (tree.full())
    status.note += fmt::format(
        "{}There are more than {} ranges of different names; the rest counts for the range "
        "around it. Leave numbers out of the names.",
        note_.empty() ? "" : " ", RangeTree::max_nodes);
  return status;
}

Status Session::status() {
  const std::lock_guard lock(mutex_);
  return status_locked();
}

void Session::add_results(const RangeNode& parent, const std::string& path, int depth, Reduction reduction,
                          std::vector<RangeResult>& results) {
  for (const RangeNode* node = parent.first_child; node != nullptr; node = node->next) {
    if (node->calls == 0 || node->name == own_range) continue;
    RangeResult& result = results.emplace_back();
    result.name = node->name;
    result.path = path.empty() ? node->name : path + "/" + node->name;
    result.depth = depth;
    result.type = node->type;
    result.calls = node->calls;
    result.host_ms = static_cast<double>(node->host_ns) * 1e-6;
    if (has_records_) {
      const KernelSums exclusive = sums_.kernels_of(node->id);
      const KernelSums inclusive = sums_.inclusive_kernels_of(node->id, tree);
      result.kernels = inclusive.kernels;
      result.exclusive_kernels = exclusive.kernels;
      RangeMetric time{"gpu__time_duration.sum", "ns", inclusive.reduced(reduction), exclusive.reduced(reduction), ""};
      if (inclusive.timed < inclusive.kernels)
        time.note = fmt::format("CUPTI has no time of {} of its kernels", inclusive.kernels - inclusive.timed);
      result.metrics.push_back(std::move(time));
      if (memory_wanted_) result.memory = sums_.memory_of(node->id);
    }
    if (counters_ && node->type == RangeType::kernels)
      for (std::size_t i = 0; i < counters_->metrics().size(); ++i)
        result.metrics.push_back(counters_->metric(i, node->id, reduction));
    add_results(*node, std::string(result.path), depth + 1, reduction, results);
  }
}

std::vector<RangeResult> Session::results_locked(Reduction reduction) {
  if (enabled_) collect(true);
  std::vector<RangeResult> results;
  add_results(tree.root(), "", 0, reduction, results);
  return results;
}

std::vector<RangeResult> Session::results(Reduction reduction) {
  const std::lock_guard lock(mutex_);
  return results_locked(reduction);
}

MemoryActivity Session::memory_activity() {
  const std::lock_guard lock(mutex_);
  MemoryActivity activity;
  if (!has_records_)
    activity.reason = records_reason_;
  else if (!memory_wanted_)
    activity.reason = "the session was started without memory; set Options::memory";
  activity.ranges = results_locked(Reduction::sum);
  std::erase_if(activity.ranges, [](const RangeResult& range) { return range.type != RangeType::memory; });
  activity.kinds = sums_.memory_by_kind();
  return activity;
}

std::vector<SelfCost> Session::self_cost() {
  const std::lock_guard lock(mutex_);
  if (timer_costs_.empty()) {
    KernelTimer timer;
    timer.start("warm up");
    timer.stop("warm up");
    if (const std::string why = timer.problem(); !why.empty()) {
      for (const char* what : {"KernelTimer::start", "KernelTimer::stop"})
        timer_costs_.push_back({what, std::nullopt, why});
    } else {
      // The events of all starts are made first, as in a program that has run for a while.
      constexpr int calls = 200;
      double least[2] = {0.0, 0.0};
      for (int round = 0; round < 6; ++round) {
        const std::int64_t begin = steady_nanoseconds();
        for (int i = 0; i < calls; ++i) timer.start("what a timer costs");
        const std::int64_t middle = steady_nanoseconds();
        for (int i = 0; i < calls; ++i) timer.stop("what a timer costs");
        const std::int64_t end = steady_nanoseconds();
        (void)timer.timing("what a timer costs");
        const double ns[2] = {static_cast<double>(middle - begin) / calls, static_cast<double>(end - middle) / calls};
        for (int i = 0; i < 2 && round > 0; ++i) least[i] = round == 1 ? ns[i] : std::min(least[i], ns[i]);
      }
      timer_costs_ = {{"KernelTimer::start", least[0], ""}, {"KernelTimer::stop", least[1], ""}};
    }
  }
  std::vector<SelfCost> costs = {
      {"Range, disabled", disabled_range_ns_,
       disabled_range_ns_ ? "" : "measured by enable() where no other tool reads ranges"},
      {"Range, enabled", enabled_range_ns_, enabled_range_ns_ ? "" : "measured by enable()"}};
  costs.insert(costs.end(), timer_costs_.begin(), timer_costs_.end());
  return costs;
}

}  // namespace

void use_sources(Sources sources) { session().use(std::move(sources)); }

std::optional<RangeType> range_type(std::string_view text) {
  if (text == "CONCURRENT_KERNEL") return RangeType::kernels;
  return text == "MEMORY" ? std::optional(RangeType::memory) : std::nullopt;
}

void Range::open(std::string_view name, RangeType type) noexcept {
  const unsigned uses = detail::range_uses.load(std::memory_order_relaxed);
  try {
    if ((uses & by_nvtx) != 0) {
      push_nvtx(std::string(name));
      uses_ |= by_nvtx;
    }
    if ((uses & by_session) == 0) return;
    Session& it = session();
    RangeNode& outer = current_range == nullptr ? it.tree.root() : *current_range;
    RangeNode* const node = it.tree.child(outer, name, type);
    if (node == nullptr) return;
    node_ = node;
    uses_ |= by_session;
    current_range = node;
    if (RecordSource* const records = it.recording.load(std::memory_order_acquire)) {
      records->push(node->id);
      uses_ |= pushed;
    }
    if (RangeCounters* const counters = it.counting.load(std::memory_order_acquire);
        counters != nullptr && type == RangeType::kernels && counters->of_this_thread()) {
      uses_ |= counted;
      counters->open(node->id);
    }
    start_ns_ = steady_nanoseconds();
  } catch (const std::bad_alloc&) {
    return;  // the range is not recorded, or not counted
  }
}

void Range::close() noexcept {
  if ((uses_ & by_session) != 0) {
    auto* const node = static_cast<RangeNode*>(node_);
    node->host_ns.fetch_add(steady_nanoseconds() - start_ns_, std::memory_order_relaxed);
    node->calls.fetch_add(1, std::memory_order_relaxed);
    Session& it = session();
    if ((uses_ & counted) != 0)
      if (RangeCounters* const counters = it.counting.load(std::memory_order_acquire)) counters->close(node->id);
    if ((uses_ & pushed) != 0) it.last_recording.load(std::memory_order_acquire)->pop();
    current_range = node->parent->parent == nullptr ? nullptr : node->parent;
  }
  if ((uses_ & by_nvtx) != 0) pop_nvtx();
}

Status enable(const Options& options) { return session().enable(options); }
void disable() { session().disable(); }
void reset() { session().reset(); }
Status status() { return session().status(); }
std::vector<RangeResult> results(Reduction reduction) { return session().results(reduction); }
MemoryActivity memory_activity() { return session().memory_activity(); }
std::vector<SelfCost> self_cost() { return session().self_cost(); }

std::string ranges_text(Reduction reduction) {
  const auto ranges = results(reduction);
  return text_of(ranges, reduction, status(), self_cost());
}
std::string ranges_csv(Reduction reduction) { return csv_of(results(reduction), reduction); }
std::string ranges_json(Reduction reduction) {
  const auto ranges = results(reduction);
  return json_of(ranges, reduction, status());
}
std::string memory_activity_text() { return text_of(memory_activity()); }
void print_ranges(Reduction reduction) { (void)std::fputs(ranges_text(reduction).c_str(), stdout); }
void print_memory_activity() { (void)std::fputs(memory_activity_text().c_str(), stdout); }

std::string write_ranges(const std::string& path, Reduction reduction) {
  const std::filesystem::path target(path);
  const bool csv = target.extension() == ".csv";
  if (!csv && target.extension() != ".json")
    return fmt::format("'{}' names no format; end it with .csv or .json", printable(path));
  const auto why = [&](int error) {
    return fmt::format("{} cannot be written ({}); choose another folder", printable(path),
                       std::generic_category().message(error));
  };
  std::error_code error;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  if (error) return why(error.value());
  TemporaryFile file(target.has_parent_path() ? target.parent_path() : ".");
  if (file.error() != 0) return why(file.error());
  if (const int failed = write_all(file.descriptor(), csv ? ranges_csv(reduction) : ranges_json(reduction));
      failed != 0)
    return why(failed);
  const int failed = file.keep_as(target);
  return failed == 0 ? "" : why(failed);
}

}  // namespace gpubench::profile
