// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "timeline/program/gaps.h"
#include "timeline/program/memory.h"

namespace gpubench::timeline {
namespace {

constexpr std::int64_t tiny_kernel_ns = 5000;  // a launch takes the host as long as that
constexpr double many_tiny = 0.5;              // of all kernels
constexpr std::size_t min_tiny = 100;          // kernels
constexpr std::int64_t slow_launch_ns = 1'000'000;
constexpr std::int64_t churning = 10;            // allocations between the first and the last launch
constexpr std::int64_t leaking = 4;              // allocations of one source in the second half that stay
constexpr std::int64_t leaking_bytes = 1 << 20;  // of them together

double idle_of(const GpuTime& gpu, IdleCause cause) {
  const auto found = std::ranges::find(gpu.idle, cause, &Idle::cause);
  return found == gpu.idle.end() ? 0.0 : found->seconds;
}

/// What slices of one name add up to.
struct Called {
  std::int64_t count = 0;
  std::int64_t ns = 0;
};

/// What is not in the figures of a GPU, by the process.
struct Calls {
  std::unordered_map<std::uint32_t, Called> waits, copies, allocations;  // by name
  [[nodiscard]] static Called sum(const std::unordered_map<std::uint32_t, Called>& calls) {
    Called all;
    for (const auto& [name, called] : calls) {
      all.count += called.count;
      all.ns += called.ns;
    }
    return all;
  }
  /// ": cudaStreamSynchronize (120 calls), cudaMemcpy (3 calls)": of at most two names; empty where there are none.
  [[nodiscard]] static std::string text(const StringPool& names,
                                        const std::unordered_map<std::uint32_t, Called>& calls) {
    std::vector<std::pair<std::uint32_t, Called>> sorted(calls.begin(), calls.end());
    std::ranges::sort(sorted, [](const auto& a, const auto& b) {
      return std::pair(-a.second.ns, a.first) < std::pair(-b.second.ns, b.first);
    });
    if (sorted.size() > 2) sorted.resize(2);
    return (sorted.empty() ? "" : ": ") + joined(sorted, ", ", [&](const auto& one) {
             return fmt::format("{} ({})", names.text(one.first), plural(one.second.count, "call"));
           });
  }
};

/// Of one GPU.
struct Work {
  std::size_t all = 0, tiny = 0;
  std::int64_t short_gaps_ns = 0;  // in front of tiny ones
  Called layout;                   // those that only change the layout of tensors
  Called slow_launches;            // the GPU's idle time within launches that take the host long
};

/// cuDNN's kernels around a convolution whose tensors have another layout than its kernel wants.
bool changes_layout(std::string_view name) { return contains(name, "nchwToNhwc") || contains(name, "nhwcToNchw"); }

bool allocates(std::string_view name) {
  constexpr std::array<std::string_view, 7> starts = {"cudaMalloc",    "cudaFree",  "cuMemAlloc", "cuMemFree",
                                                      "cudaHostAlloc", "hipMalloc", "hipFree"};
  return !contains(name, "Async") &&
         std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

/// A finding of one rule for one GPU, and for how many more it holds.
struct Candidate {
  Finding finding;
  int gpus = 0;
};

class Rules {
 public:
  Rules(const Linked& linked, const Program& program, const WindowsOf& windows) : linked_(linked), windows_(windows) {
    gather();
    // Program::gpus leaves out those that did nothing; of the others the order is kept.
    std::size_t shown = 0;
    for (std::size_t i = 0; i < links_.gpus.size() && shown < program.gpus.size(); ++i)
      if (worked_[i]) of_gpu(program.gpus[shown++], static_cast<std::uint32_t>(i), tiny_[i]);
    never_freed();
  }

  std::vector<Finding> result() {
    std::vector<Finding> all;
    for (auto& [code, candidate] : candidates_) {
      if (candidate.gpus > 1)
        candidate.finding.text += fmt::format(" The same holds for {} more.", plural(candidate.gpus - 1, "GPU"));
      all.push_back(std::move(candidate.finding));
    }
    sort_by_gain(all);
    return all;
  }

 private:
  void gather() {
    calls_.resize(timeline_.processes.size());
    tiny_.resize(links_.gpus.size());
    worked_.resize(links_.gpus.size());
    longest_.resize(links_.gpus.size());
    for_each_gap(linked_, std::nullopt, [&](const IdleGap& gap) {
      if (!holds(windows_, links_.gpus[gap.gpu].first, gap.from)) return;
      for (std::size_t i = 0; i < gap.by_cause.size(); ++i)
        if (IdleGap& longest = longest_[gap.gpu][i]; gap.by_cause[i] > longest.by_cause[i]) longest = gap;
    });
    std::vector<std::int64_t> first(calls_.size(), std::numeric_limits<std::int64_t>::max());
    std::vector<std::int64_t> last(calls_.size(), std::numeric_limits<std::int64_t>::min());
    for (const Call& call : links_.calls) {
      const Slice& slice = timeline_.slices[call.slice];
      const std::uint32_t process = timeline_.tracks[slice.track].process;
      const std::int64_t start = slice.start_ns;
      if (!holds(windows_, process, start)) continue;
      first[process] = std::min(first[process], start);
      last[process] = std::max(last[process], start);
      if (call.waits == 1) add(calls_[process].copies, slice);
    }
    amd_ = std::ranges::any_of(links_.calls, [&](const Call& call) {
      return timeline_.names.text(timeline_.slices[call.slice].name).starts_with("hip");
    });
    const std::vector<bool> allocating = timeline_.names.where(allocates),
                            of_layout = timeline_.names.where(changes_layout);
    const WindowsOf recordings = recordings_of(timeline_);
    std::vector<std::int64_t> ends(links_.gpus.size(), never);
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      const std::uint32_t process = timeline_.tracks[slice.track].process;
      const std::uint32_t gpu = linked_.gpu_of(slice);
      if (gpu != none && (windows_.empty() || windows_[process].within(slice.start_ns, slice.end_ns()) > 0))
        worked_[gpu] = true;
      if (!holds(windows_, process, slice.start_ns)) continue;
      if (slice.kind == SliceKind::synchronization && links_.thread_of_track[slice.track] != none)
        add(calls_[process].waits, slice);
      if (slice.kind == SliceKind::call && allocating[slice.name] && slice.start_ns > first[process] &&
          slice.start_ns < last[process])
        add(calls_[process].allocations, slice);
      if (gpu == none) continue;
      if (const Slice* const call = linked_.call_of(i);
          call != nullptr && call->duration_ns > slow_launch_ns && ends[gpu] != never &&
          call->duration_ns - recordings[process].within(call->start_ns, call->end_ns()) > slow_launch_ns) {
        const std::int64_t from = std::max(call->start_ns, ends[gpu]), to = std::min(call->end_ns(), slice.start_ns);
        const std::int64_t idle = to - from - recordings[process].within(from, to);
        tiny_[gpu].slow_launches.count += idle > 0 ? 1 : 0;
        tiny_[gpu].slow_launches.ns += std::max<std::int64_t>(idle, 0);
      }
      if (slice.kind == SliceKind::kernel) {
        ++tiny_[gpu].all;
        if (of_layout[slice.name]) {
          ++tiny_[gpu].layout.count;
          tiny_[gpu].layout.ns += slice.duration_ns;
        }
        const bool tiny = slice.duration_ns < tiny_kernel_ns;
        tiny_[gpu].tiny += tiny ? 1 : 0;
        if (tiny && ends[gpu] < slice.start_ns && ends[gpu] > slice.start_ns - 1000)
          tiny_[gpu].short_gaps_ns += slice.start_ns - ends[gpu];
      }
      ends[gpu] = std::max(ends[gpu], slice.end_ns());
    }
  }

  static void add(std::unordered_map<std::uint32_t, Called>& calls, const Slice& slice) {
    Called& called = calls[slice.name];
    ++called.count;
    called.ns += slice.duration_ns;
  }

  void put(std::string_view code, std::optional<double> gain, double wall, std::string evidence, std::string advice,
           std::string threshold = "") {
    if (gain && *gain < min_share * wall) return;
    Candidate& candidate = candidates_[code];
    if (candidate.gpus++ > 0 && gain.value_or(0.0) <= candidate.finding.gain_seconds.value_or(0.0)) return;
    if (amd_)
      for (std::string* const text : {&evidence, &advice})
        for (const auto& [nvidia, amd] :
             {std::pair("CUDA graph", "HIP graph"), std::pair("cudaMallocAsync", "hipMallocAsync")})
          if (const auto at = text->find(nvidia); at != std::string::npos)
            text->replace(at, std::string_view(nvidia).size(), amd);
    if (threshold.empty()) threshold = fmt::format("a gain of {} of the time", format_percent(min_share));
    candidate.finding = make_finding(code, gain, wall, std::move(evidence), std::move(advice), std::move(threshold),
                                     code != "kernels.tiny");
  }

  /// " The longest gap, 463 ms, lies in hipMemcpyWithStream.": of this cause, and what the host did in it.
  [[nodiscard]] std::string longest_gap_text(std::uint32_t gpu, IdleCause cause) const {
    const IdleGap& gap = longest_[gpu][static_cast<std::size_t>(cause)];
    const std::int64_t from = gap.from, to = gap.to;
    const std::string length = format_seconds(seconds_of(gap[cause]));
    const Slice* longest = nullptr;
    std::int64_t most = 2 * gap[cause] > to - from ? (to - from) / 2 : to - from;  // else the call explains the rest
    for (const Slice& slice : timeline_.slices) {
      const Track& track = timeline_.tracks[slice.track];
      const std::int64_t within = std::min(to, slice.end_ns()) - std::max(from, slice.start_ns);
      if (track.kind != TrackKind::thread || track.process != links_.gpus[gpu].first || slice.kind > SliceKind::call ||
          within <= most)
        continue;
      most = within;
      longest = &slice;
    }
    return longest == nullptr
               ? fmt::format(" The longest gap is {}.", length)
               : fmt::format(" The longest gap, {}, lies in {}.", length, timeline_.names.text(longest->name));
  }

  void of_gpu(const GpuTime& gpu, std::uint32_t number, const Work& kernels) {
    const Calls& calls = calls_[links_.gpus[number].first];
    const double wall = undisturbed_seconds(gpu);
    const std::string name = gpu.process.empty() ? gpu.device : fmt::format("{} of {}", gpu.device, gpu.process);
    const auto host = std::ranges::find(gpu.idle, IdleCause::host, &Idle::cause);
    // Beginnings and ends are of every recording: they have to be long.
    struct IdleRule {
      double idle = 0.0;
      IdleCause cause;
      std::string_view code;
      std::string because;
      std::string_view advice;
      double share = 0.0;  // of the time, for what has no rule of its own; its longest gap is told
    };
    const auto launches = [](std::int64_t count) {
      return format_count(static_cast<double>(count)) + (count == 1 ? " launch" : " launches");
    };
    const double launch_idle = idle_of(gpu, IdleCause::launch);
    const double slow_idle = std::min(seconds_of(kernels.slow_launches.ns), launch_idle);
    const auto idle_by = [&](IdleCause cause) { return idle_of(gpu, cause); };
    for (const IdleRule& rule : std::initializer_list<IdleRule>{
             {slow_idle, IdleCause::launch, "idle.first_launch",
              fmt::format("because {} took the host over a millisecond{}, as first launches do, which load a kernel's "
                          "code",
                          launches(kernels.slow_launches.count), kernels.slow_launches.count == 1 ? "" : " each"),
              "Launch each kernel once before the work that counts."},
             {launch_idle - slow_idle, IdleCause::launch, "idle.launch",
              fmt::format("because the host launches too slowly: {}{}", launches(gpu.launches),
                          gpu.launch_period_seconds
                              ? fmt::format(", one every {} of host time", format_seconds(*gpu.launch_period_seconds))
                              : ""),
              "Capture what repeats in a CUDA graph, or fuse kernels."},
             {idle_by(IdleCause::host), IdleCause::host, "idle.host",
              fmt::format("because the host does other work for more than a millisecond at a time, {}: loading, "
                          "set-up, Python",
                          plural(host == gpu.idle.end() ? 0 : host->gaps, "time")),
              "Do it on another thread while the GPU works, or before."},
             {idle_by(IdleCause::synchronization), IdleCause::synchronization, "idle.synchronization",
              "because the host waited for it before it launched more" + Calls::text(timeline_.names, calls.waits),
              "Leave out waits within steps, such as reading a result to print it."},
             {idle_by(IdleCause::copy), IdleCause::copy, "idle.copy",
              "because the host waited for copies" + Calls::text(timeline_.names, calls.copies),
              "Use asynchronous copies and pinned memory, and launch the next work before waiting."},
             {idle_by(IdleCause::device), IdleCause::device, "idle.device",
              "although work was launched: it started late",
              "See what it waited for: events, other streams, copies, another program on the GPU.", min_share},
             {idle_by(IdleCause::recording), IdleCause::recording, "idle.recording",
              "because the recording held the host up", "Record less: no stacks, no shapes, fewer counters.", 0.1},
             {idle_by(IdleCause::edges), IdleCause::edges, "idle.edges", "before its first and after its last work",
              "Record while the program is at work, or start the GPU's work earlier.", 0.25},
             {idle_by(IdleCause::unknown), IdleCause::unknown, "idle.unknown",
              "and the trace does not tell what started the work that came next", "Record the calls of the host, too.",
              min_share}})
      if (const double idle = rule.idle; idle > rule.share * wall)
        // The recording, and a start and an end that all programs have, are nothing that a step could gain.
        put(rule.code,
            rule.cause == IdleCause::recording || rule.cause == IdleCause::edges ? std::nullopt : std::optional(idle),
            wall,
            fmt::format(
                "{} is idle {} {}.{}", name,
                rule.cause == IdleCause::recording ? format_seconds(idle) + " more than without a profiler,"
                                                   : format_percent(idle / wall) + " of the time",
                rule.because,
                rule.share == 0.0 || rule.cause == IdleCause::edges ? "" : longest_gap_text(number, rule.cause)),
            std::string(rule.advice),
            rule.share == 0.0 ? "" : fmt::format("{} of the time", format_percent(rule.share)));
    overlap("overlap.memory", gpu, name, "Copies and fills", gpu.memory_seconds, gpu.memory_overlap_seconds,
            "Put copies on a stream of their own, with pinned memory, so that they run during kernels.");
    overlap("overlap.communication", gpu, name, "Communication", gpu.communication_seconds,
            gpu.communication_overlap_seconds,
            "Start it earlier, in smaller parts, on a stream of its own, so that it runs during kernels.");
    if (const Called all = Calls::sum(calls.allocations); all.count >= churning)
      put("memory.churn", seconds_of(all.ns), wall,
          fmt::format("Between its launches the host allocates and frees GPU memory{}.",
                      Calls::text(timeline_.names, calls.allocations)),
          "Allocate once before the loop, or use cudaMallocAsync with a pool.");
    if (kernels.layout.count > 0)
      put("kernels.layout", seconds_of(kernels.layout.ns), wall,
          fmt::format("{} on {} only change the layout of tensors for convolutions, and back: {}.",
                      plural(kernels.layout.count, "kernel"), name, format_seconds(seconds_of(kernels.layout.ns))),
          "Keep tensors and weights in the layout that the kernels want: memory_format=torch.channels_last in "
          "PyTorch.");
    if (kernels.tiny >= min_tiny && static_cast<double>(kernels.tiny) >= many_tiny * static_cast<double>(kernels.all))
      put("kernels.tiny", kernels.short_gaps_ns > 0 ? std::optional(seconds_of(kernels.short_gaps_ns)) : std::nullopt,
          wall,
          fmt::format("{} of {} kernels on {} take less than {}.", format_count(static_cast<double>(kernels.tiny)),
                      format_count(static_cast<double>(kernels.all)), name, format_seconds(seconds_of(tiny_kernel_ns))),
          "Fuse neighbouring kernels: each starts and ends on its own, and reads again what the one before has "
          "written.",
          fmt::format("{} of the kernels shorter than {}, and {} of them", format_percent(many_tiny),
                      format_seconds(seconds_of(tiny_kernel_ns)), min_tiny));
  }

  void overlap(std::string_view code, const GpuTime& gpu, const std::string& name, std::string_view what,
               double seconds, double overlapped, std::string_view advice) {
    const double gain = std::min(seconds - overlapped, gpu.compute_seconds - overlapped);
    if (gain <= 0.0) return;
    put(code, gain, undisturbed_seconds(gpu),
        fmt::format("{} on {} {} {}, of which {} runs during kernels.", what, name,
                    what == "Communication" ? "takes" : "take", format_seconds(seconds),
                    format_percent(overlapped / seconds)),
        std::string(advice));
  }

  /// Memory that grows: taken after the middle one of all the work on GPUs and kept. Frameworks take theirs in the
  /// first steps.
  void never_freed() {
    std::size_t work = 0;
    for (const Slice& slice : timeline_.slices) work += occupies_gpu(slice.kind) ? 1 : 0;
    if (timeline_.memory.empty() || work == 0) return;
    std::int64_t middle = 0;
    std::size_t seen = 0;
    for (const Slice& slice : timeline_.slices)
      if (occupies_gpu(slice.kind) && seen++ == work / 2) middle = slice.start_ns;
    std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> by_source;  // allocations and bytes
    for (const std::uint32_t i : MemoryChanges(timeline_).never_ended) {
      const MemoryEvent& event = timeline_.memory[i];
      if (event.time_ns < middle) continue;
      ++by_source[event.source].first;
      by_source[event.source].second += event.bytes;
    }
    const std::pair<const std::uint32_t, std::pair<std::int64_t, std::int64_t>>* most = nullptr;
    for (const auto& one : by_source)
      if (one.second.first >= leaking && one.second.second >= leaking_bytes &&
          (most == nullptr || one.second.second > most->second.second))
        most = &one;
    if (most == nullptr) return;
    const std::string& source = timeline_.names.text(most->first);
    put("memory.grows", std::nullopt, 0.0,
        fmt::format("GPU memory grows: in the second half of its work {} took {} ({}) that it never gave back.",
                    source.empty() ? "the program" : source, plural(most->second.first, "allocation"),
                    format_bytes(static_cast<double>(most->second.second))),
        "Free what a step allocates, or keep it for the next step.",
        fmt::format("{} of one source in the second half, of {} together", plural(leaking, "allocation"),
                    format_bytes(static_cast<double>(leaking_bytes))));
  }

  const Linked& linked_;
  const Timeline& timeline_ = linked_.timeline;
  const Correlations& links_ = linked_.links;
  const WindowsOf& windows_;
  std::vector<Calls> calls_;
  std::vector<Work> tiny_;
  std::vector<bool> worked_;
  std::vector<std::array<IdleGap, idle_cause_names.size()>> longest_;  // of each GPU by cause
  bool amd_ = false;                                                   ///< the calls are HIP's
  std::map<std::string_view, Candidate> candidates_;
};

}  // namespace

Finding make_finding(std::string_view code, std::optional<double> gain, double wall, std::string evidence,
                     std::string advice, std::string threshold, bool says_gain) {
  Finding finding;
  finding.text = evidence + " " + advice;
  if (gain && says_gain)
    finding.text += fmt::format(" This saves up to {} of {}.", format_seconds(*gain), format_seconds(wall));
  finding.code = code;
  finding.gain_seconds = gain;
  finding.evidence = std::move(evidence);
  finding.advice = std::move(advice);
  finding.threshold = std::move(threshold);
  return finding;
}

void sort_by_gain(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, std::ranges::greater(),
                           [](const Finding& finding) { return finding.gain_seconds.value_or(-1.0); });
}

std::vector<Finding> findings(const Linked& linked, const Program& program, const WindowsOf& windows) {
  return Rules(linked, program, windows).result();
}

}  // namespace gpubench::timeline
