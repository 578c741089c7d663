// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "bench/clocks/timer.h"
#include "bench/counters/post_timing_pass.h"
#include "core/base/elf_image.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

constexpr std::string_view device_code_section = ".nv_fatbin";
constexpr std::string_view kernel_section = ".text.";

/// 90 for "sm_90", also for "sm_90a".
std::optional<int> number_of(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return std::nullopt;
  int number = 0;
  std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), number);
  return number > 0 ? std::optional(number) : std::nullopt;
}

/// Of a cubin. Where its flags hold that: EF_CUDA_SM of LLVM's BinaryFormat/ELF.h, bits 0 to 7 until ABI version 7, 8
/// to 15 from 8 on (CUDA 13).
int architecture_of(const ElfImage& cubin) {
  constexpr std::uint8_t first_of_new_flags = 8;
  return static_cast<int>((cubin.abi_version >= first_of_new_flags ? cubin.flags >> 8 : cubin.flags) & 0xff);
}

/// A GPU runs code for its own major version, up to its own minor version.
bool runs(int gpu, int code) { return gpu / 10 == code / 10 && code <= gpu; }

/// Libraries of NVIDIA have kernels of their own, and many of them.
bool is_of_nvidia(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(std::vector<std::string_view>{"libcu", "libnv", "libnccl", "libnpp"},
                             [&](std::string_view head) { return name.starts_with(head); });
}

/// dl_iterate_phdr's callback.
int take_name(dl_phdr_info* object, std::size_t /*size*/, void* names) {
  // The first one is the program itself, without a name; the kernel's own (linux-vdso) has no file.
  if (object->dlpi_name != nullptr && object->dlpi_name[0] == '/')
    static_cast<std::set<std::string>*>(names)->insert(object->dlpi_name);
  return 0;
}

/// What recording does to a kernel differs between kernels by this much, more where the gaps between its records are
/// not known, and times under a power cap vary by some percent. Warps start later while records are taken: 9 to 15 ps
/// each on an H200 (docs/results/h200/library.md).
constexpr double tolerance_seconds_a_kernel = 0.25e-6;
constexpr double tolerance_seconds_beside_gaps = 0.15e-6;
constexpr double tolerance_seconds_one_by_one = 1e-6;  // the GPU rests before each
constexpr double tolerance_seconds_a_warp = 16e-12;
constexpr double tolerance_share = 0.03;

/// Executions whose records overlap those before are left out, unless they are more than this share.
constexpr double max_entangled = 0.1;

using Records = std::span<const ActivityRecord>;

/// For each record, the number of what it is of: kernels alike in function and shape, copies alike in kind and bytes.
std::vector<std::size_t> numbers_of(Records records) {
  std::map<std::tuple<CommandKind, KernelLaunch, std::int64_t>, std::size_t> known;
  std::vector<std::size_t> numbers;
  numbers.reserve(records.size());
  for (const ActivityRecord& record : records) {
    KernelLaunch launch = record.kernel.value_or(KernelLaunch{});
    if (!record.kernel) launch.name = record.name;
    const CommandKind kind = record.kernel ? CommandKind::kernel : record.kind;
    const std::int64_t bytes = record.kernel ? 0 : record.bytes;
    numbers.push_back(known.try_emplace({kind, std::move(launch), bytes}, known.size()).first->second);
  }
  return numbers;
}

/// What it runs, in any order: kernels on several streams may start in another order each time.
std::vector<std::size_t> content_of(std::span<const std::size_t> numbers) {
  std::vector<std::size_t> content(numbers.begin(), numbers.end());
  std::sort(content.begin(), content.end());
  return content;
}

/// The groups of an execution in the order they start, and by the numbers of its records which is whose.
struct Groups {
  std::vector<KernelGroup> groups;
  std::map<std::size_t, std::size_t> of_number;

  Groups(Records execution, std::span<const std::size_t> numbers) {
    for (std::size_t i = 0; i < execution.size(); ++i) {
      const auto [place, added] = of_number.try_emplace(numbers[i], std::min(groups.size(), max_kernel_groups));
      if (added && groups.size() <= max_kernel_groups) groups.push_back(group_of(execution[i]));
      ++groups[place->second].launch.launches;
    }
    if (groups.size() <= max_kernel_groups) return;
    const std::size_t others = of_number.size() - max_kernel_groups;
    KernelGroup& rest = groups.back();
    rest = {CommandKind::others, {}, {}, {}, {}, {}};
    rest.launch.name = fmt::format("{} other kernel{}, copies or fills", others, others == 1 ? "" : "s");
    rest.launch.launches = 0;
    for (const std::size_t number : numbers)
      if (of_number.at(number) == max_kernel_groups) ++rest.launch.launches;
  }

 private:
  static KernelGroup group_of(const ActivityRecord& record) {
    KernelGroup group;
    if (record.kernel) {
      group.launch = *record.kernel;
    } else {
      group.kind = record.kind;
      group.launch.name = record.name;
      group.bytes = record.bytes;
    }
    group.launch.launches = 0;
    return group;
  }
};

/// Why the order in which kernels start is not known to be that of their launches; empty where it is.
std::string why_unordered(Records execution, bool same_each_time) {
  const auto kernels =
      std::count_if(execution.begin(), execution.end(), [](const ActivityRecord& each) { return !!each.kernel; });
  if (std::cmp_greater(kernels, max_ordered_launches))
    return fmt::format("one execution launches {} kernels, and counting one by one ends at {}", kernels,
                       max_ordered_launches);
  const bool overlap = std::adjacent_find(execution.begin(), execution.end(), [](const auto& before, const auto& next) {
                         return next.start_nanoseconds < before.end_nanoseconds;
                       }) != execution.end();
  if (overlap || !same_each_time)
    return "some of its kernels run side by side, so it is not known which was launched first";
  return {};
}

std::uint64_t last_end(Records execution) {
  std::uint64_t end = 0;
  for (const ActivityRecord& record : execution) end = std::max(end, record.end_nanoseconds);
  return end;
}

double summed_seconds(Records execution) {
  std::uint64_t nanoseconds = 0;
  for (const ActivityRecord& record : execution) nanoseconds += record.end_nanoseconds - record.start_nanoseconds;
  return static_cast<double>(nanoseconds) * 1e-9;
}

/// Records go by steps of 32 ns: a mean sees what lies between, and the outer quarters of it are left out for what the
/// system does to a few.
Estimate centre_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {statistics::interquartile_mean(seconds), statistics::interquartile_mean_ci95(seconds)};
}

/// Why records cannot be summed up; empty when they can.
std::string why_unusable(const ActivityRecords& activity, std::int64_t executions) {
  if (activity.dropped > 0)
    return fmt::format("{} records of its executions were lost, because the buffer was full", activity.dropped);
  if (activity.records.empty())
    return "its executions left no record: they run nothing on the GPU, or another profiler takes the records";
  for (const ActivityRecord& record : activity.records) {
    if (record.start_nanoseconds == 0 && record.end_nanoseconds == 0) return "some of its records have no time";
    if (record.end_nanoseconds < record.start_nanoseconds) return "one of its records ends before it starts";
  }
  if (activity.records.size() % static_cast<std::size_t>(executions) != 0)
    return fmt::format(
        "its {} executions left {} records: they do not all run the same kernels, so their records cannot be told "
        "apart",
        executions, activity.records.size());
  return {};
}

/// Why a device time does not compare with records; empty when it does.
std::string why_not_comparable(const Timing* time) {
  if (time == nullptr) return "there is no device time to compare with: measure it with --time=device";
  if (!time->seconds) return "there is no device time to compare with: " + time->reason;
  if (!time->kernel_overhead_seconds)
    return "the overhead of its kernels could not be measured, and records include it";
  if (time->method.starts_with(held_batches))
    return "it could not be captured in a graph, so its kernel overhead includes a launch, and records do not";
  return {};
}

/// The GPU works for this long before anything is recorded, because clocks and power limits follow the load.
constexpr double warm_up_seconds = 20e-3;
constexpr int min_warm_up = 3;
/// Odd, so that the median is one of the durations; its interval leaves out the five at either end.
constexpr std::int64_t min_executions = 21;
constexpr std::int64_t max_executions = 201;
constexpr double executions_seconds = 10e-3;
/// The first recorded executions pay for the recording's preparations. A chain is first run to upload it, and again for
/// this long, because the GPU rested while it was made.
constexpr double chain_warm_up_seconds = 10e-3;
constexpr double max_chains = 5;
constexpr std::int64_t first_executions = 3;

/// Warms up, and returns what one execution takes on the host's clock.
double warm_up(const std::function<void()>& execute) {
  const double start = steady_seconds();
  double before = start;
  double one = 0.0;
  double now = start;
  for (int i = 0; i < min_warm_up || now - start < warm_up_seconds; ++i) {
    execute();
    now = steady_seconds();
    one = now - std::exchange(before, now);
  }
  return one;
}

/// So many records are kept of one chain, except that there are always a few executions.
constexpr std::int64_t max_records = 50'000;
constexpr std::int64_t few_executions = 5;

std::int64_t executions_for(double one_execution_seconds, const std::optional<Launches>& launches) {
  const double fitting = executions_seconds / std::max(one_execution_seconds, 1e-9);
  const std::int64_t kernels = std::max<std::int64_t>(launches ? launches->kernels : 1, 1);
  if (kernels * min_executions > max_records) return std::max(max_records / kernels, few_executions) | 1;
  return static_cast<std::int64_t>(
             std::clamp(fitting, static_cast<double>(min_executions), static_cast<double>(max_executions))) |
         1;
}

std::int64_t warm_up_chains_for(double chain_seconds) {
  return static_cast<std::int64_t>(std::clamp(chain_warm_up_seconds / std::max(chain_seconds, 1e-9), 1.0, max_chains));
}

}  // namespace

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> source(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
  return source ? source.get() : name;
}

KernelCode::KernelCode(std::string_view architecture) : architecture_(number_of(architecture)) {}

KernelCode KernelCode::of_process(std::string_view architecture) {
  KernelCode result(architecture);
  result.add_file("/proc/self/exe");
  std::set<std::string> libraries;
  dl_iterate_phdr(take_name, &libraries);
  for (const std::string& library : libraries)
    if (!is_of_nvidia(library)) result.add_file(library);
  return result;
}

void KernelCode::add_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const auto image = read_elf(mapped.bytes());
  if (!image) return;
  for (const ElfSection& section : image->sections)
    if (section.type == SHT_PROGBITS && section.name == device_code_section) add_device_code(section.bytes);
}

void KernelCode::add_device_code(std::string_view bytes) {
  device_code_bytes_ += bytes.size();
  const std::string_view magic(ELFMAG, SELFMAG);
  for (std::size_t at = bytes.find(magic); at != std::string_view::npos; at = bytes.find(magic, at))
    at += std::max<std::size_t>(add_cubin(bytes.substr(at)), SELFMAG);
}

/// Of bytes that begin with a cubin and go on with something else. Returns how many of them are surely its own.
std::size_t KernelCode::add_cubin(std::string_view bytes) {
  const auto cubin = read_elf(bytes);
  if (!cubin || cubin->machine != EM_CUDA) return 0;
  ++cubins_;
  const int architecture = architecture_of(*cubin);
  std::uint64_t end = 0;
  for (const ElfSection& section : cubin->sections) {
    if (section.type != SHT_PROGBITS || section.bytes.empty()) continue;
    end = std::max(end, section.offset + section.bytes.size());
    if (!section.name.starts_with(kernel_section)) continue;
    Fnv1a64 hash;
    hash.add(section.bytes);
    add_kernel(demangled(std::string(section.name.substr(kernel_section.size()))), architecture, hash.value());
  }
  return end;
}

void KernelCode::add_kernel(const std::string& kernel, int architecture, std::uint64_t hash) {
  if (!architecture_ || !runs(*architecture_, architecture)) return;
  KernelHash& known = kernels_[kernel];
  if (architecture < known.architecture) return;
  const bool another = architecture == known.architecture && hash != known.hash;
  known = {architecture, hash, another || (architecture == known.architecture && known.several)};
}

CodeOfKernel KernelCode::of(const std::string& kernel) const {
  if (!architecture_) return {{}, "the device does not report its architecture"};
  const auto place = kernels_.find(kernel);
  if (place == kernels_.end()) {
    if (device_code_bytes_ == 0) return {{}, "neither the program nor its libraries hold device code"};
    return {
        {},
        fmt::format("not among the {} cubins of the program that are not compressed, for sm_{}. To record it, build "
                    "gpubench with -DGPUBENCH_KERNEL_HASHES=ON and your own kernels with nvcc --no-compress. Code "
                    "translated from PTX or in a library has none",
                    cubins_, *architecture_)};
  }
  const KernelHash& known = place->second;
  if (known.several) return {{}, "the program has several kernels of this name, with different code"};
  return {fmt::format("fnv1a64 of sm_{} SASS: {:016x}", known.architecture, known.hash), {}};
}

RecordedExecution summarize(const ActivityRecords& activity, std::int64_t warm_up, std::int64_t executions) {
  RecordedExecution result;
  ActivityCheck& check = result.check;
  const std::int64_t all = warm_up + executions;
  check.reason = why_unusable(activity, all);
  if (!check.reason.empty()) return result;
  std::vector<ActivityRecord> records = activity.records;
  std::stable_sort(records.begin(), records.end(), [](const ActivityRecord& a, const ActivityRecord& b) {
    return std::tie(a.start_nanoseconds, a.end_nanoseconds) < std::tie(b.start_nanoseconds, b.end_nanoseconds);
  });
  const std::vector<std::size_t> numbers = numbers_of(records);
  const std::size_t each = records.size() / static_cast<std::size_t>(all);
  const auto numbers_in = [&](std::int64_t execution) {
    return std::span(&numbers[static_cast<std::size_t>(execution) * each], each);
  };
  const Records last(&records[records.size() - each], each);
  const auto content = content_of(numbers_in(all - 1));
  Groups found(last, numbers_in(all - 1));
  std::vector<std::vector<double>> of_groups(found.groups.size());
  std::vector<double> seconds;
  std::vector<double> spans;
  std::vector<double> gaps;
  std::int64_t entangled = 0;
  bool same_each_time = true;
  std::uint64_t before = 0;
  for (std::int64_t i = 0; i < all; ++i) {
    const Records execution(&records[static_cast<std::size_t>(i) * each], each);
    const std::uint64_t start = execution.front().start_nanoseconds;
    const std::uint64_t end = last_end(execution);
    if (content_of(numbers_in(i)) != content) {
      check.reason = "its executions do not all run the same kernels, so their records cannot be told apart";
      return result;
    }
    same_each_time = same_each_time && std::ranges::equal(numbers_in(i), numbers_in(all - 1));
    const bool apart = start >= before;
    if (i > warm_up && apart) gaps.push_back(static_cast<double>(end - before) * 1e-9 - summed_seconds(execution));
    before = end;
    if (i < warm_up) continue;
    if (!apart) {
      ++entangled;
      continue;
    }
    seconds.push_back(summed_seconds(execution));
    spans.push_back(static_cast<double>(end - start) * 1e-9);
    std::vector<double> sums(found.groups.size());
    for (std::size_t k = 0; k < each; ++k)
      sums[found.of_number.at(numbers_in(i)[k])] += summed_seconds(execution.subspan(k, 1));
    for (std::size_t k = 0; k < sums.size(); ++k) of_groups[k].push_back(sums[k]);
  }
  if (static_cast<double>(entangled) > max_entangled * static_cast<double>(executions)) {
    check.reason = fmt::format(
        "{} of its {} executions began before the one before had ended, by their records, so they "
        "cannot be told apart",
        entangled, executions);
    return result;
  }
  result.kernels = std::move(found.groups);
  for (std::size_t k = 0; k < result.kernels.size(); ++k) {
    result.kernels[k].seconds = centre_of(std::move(of_groups[k]));
    if (result.kernels[k].kind == CommandKind::kernel) check.kernels.push_back(result.kernels[k].launch);
  }
  result.kernel_order_reason = why_unordered(last, same_each_time);
  if (result.kernel_order_reason.empty())
    for (std::size_t k = 0; k < each; ++k)
      if (last[k].kernel)
        result.kernel_order.push_back(static_cast<std::int64_t>(found.of_number.at(numbers_in(all - 1)[k])));
  check.copies = std::count_if(last.begin(), last.end(), [](const ActivityRecord& record) { return !record.kernel; });
  check.executions = executions - entangled;
  check.seconds = centre_of(std::move(seconds));
  if (each > 1) check.span_seconds = centre_of(std::move(spans));
  // Of kernels side by side the sum is longer than they take.
  if (result.kernel_order_reason.empty() && !gaps.empty()) check.gap_seconds = centre_of(std::move(gaps));
  return result;
}

namespace {

double half_width(const Estimate& estimate) { return 0.5 * (estimate.ci95.high - estimate.ci95.low); }

Estimate with_half_width(double value, double half) { return {value, {value - half, value + half}}; }

}  // namespace

namespace {

/// Of all launches, as recorded: what a graph of the user's own starts, nobody else can tell.
struct Started {
  double blocks = 0.0;
  double warps = 0.0;
};
Started started_by(const std::vector<KernelLaunch>& kernels) {
  Started sum;
  for (const KernelLaunch& each : kernels) {
    double blocks = static_cast<double>(each.launches);
    double threads = 1.0;
    for (const std::int64_t along : each.grid) blocks *= static_cast<double>(along);
    for (const std::int64_t along : each.block) threads *= static_cast<double>(along);
    sum.blocks += blocks;
    sum.warps += blocks * std::max(std::ceil(threads / 32.0), 1.0);
  }
  return sum;
}

/// By how much later the warps of an operation may start while it is recorded, all together.
double slow_start_seconds(const ActivityCheck& check, const Measurement& measurement) {
  const Started started = started_by(check.kernels);
  constexpr double usual_warps = 8.0;  // of a block, where no record tells
  double later_warps = started.warps;
  if (measurement.launches)
    later_warps = static_cast<double>(measurement.launches->later_blocks) *
                  (started.blocks > 0.0 ? started.warps / started.blocks : usual_warps);
  return later_warps * tolerance_seconds_a_warp;
}

/// Whether it decides what is compared, or may have lengthened a record that is too long.
bool slow_start_counts(const ActivityCheck& check, const Measurement& measurement) {
  constexpr double noticeable_share = 0.001;
  if (check.agreement == Agreement::not_compared) return false;
  const bool too_long = check.agreement == Agreement::disagrees && difference_seconds(check).value_or(0.0) > 0.0;
  std::int64_t kernels = 0;
  for (const KernelLaunch& kernel : check.kernels) kernels += kernel.launches;
  // Of short kernels it would tell less than what is known already.
  return tolerance_share * check.seconds->value > tolerance_seconds_one_by_one * static_cast<double>(kernels) &&
         slow_start_seconds(check, measurement) >
             (too_long ? noticeable_share : tolerance_share) * check.seconds->value;
}

std::int64_t kernels_of(const ActivityCheck& check, const Measurement& measurement) {
  std::int64_t kernels = 0;
  for (const KernelLaunch& kernel : check.kernels) kernels += kernel.launches;
  if (measurement.launches) kernels = std::max(kernels, measurement.launches->kernels);  // groups may be left out
  return std::max<std::int64_t>(kernels, 1);
}

/// Clocks follow what ran before; no time can differ by more for it than they do.
double clock_seconds(const std::optional<double>& clock_hz, const Measurement& measurement, double seconds) {
  return clock_hz && measurement.clock_hz && *measurement.clock_hz > 0.0
             ? std::abs(*clock_hz / *measurement.clock_hz - 1.0) * seconds
             : 0.0;
}

/// How far two times may lie apart so that their intervals say nothing against it.
double apart_within(const Estimate& one, const Estimate& other) {
  return one.value > other.value ? (one.value - one.ci95.low) + (other.ci95.high - other.value)
                                 : (one.ci95.high - one.value) + (other.value - other.ci95.low);
}

}  // namespace

void compare_unrecorded(ActivityCheck& check, const Measurement& measurement, const Estimate& unrecorded,
                        std::optional<double> clock_hz) {
  const Timing* const time = timing_by(measurement, Clock::device);
  if (check.agreement != Agreement::disagrees || time == nullptr || !time->seconds || !time->kernel_overhead_seconds)
    return;
  const double overhead = time->kernel_overhead_seconds->value;
  const Interval& device = time->seconds->median_ci95;
  const Estimate expected = {time->seconds->median + overhead, {device.low + overhead, device.high + overhead}};
  const double tolerance =
      std::max({static_cast<double>(kernels_of(check, measurement)) * tolerance_seconds_beside_gaps,
                tolerance_share * unrecorded.value, apart_within(unrecorded, expected)}) +
      clock_seconds(clock_hz, measurement, unrecorded.value);
  if (std::abs(unrecorded.value - expected.value) <= tolerance) check.agreement = Agreement::agrees;
}

void compare(ActivityCheck& check, const Measurement& measurement) {
  if (!check.seconds) return;
  if (check.copies > 0) {
    check.reason = "the overhead of its copies and fills is not known";
    return;
  }
  const Timing* const time = timing_by(measurement, Clock::device);
  check.reason = why_not_comparable(time);
  if (!check.reason.empty()) return;
  // The device time is a slope less the kernel overhead. What a record has beyond it does not vary with that overhead,
  // which grows by 0.17 us while a process works; where it is not known, the overhead is the best there is.
  const auto launches = static_cast<double>(kernels_of(check, measurement));
  const auto& excess = check.recording_seconds;
  double beside = excess ? launches * excess->value : time->kernel_overhead_seconds->value;
  double unsure = excess ? launches * half_width(*excess) : 0.0;
  if (check.gap_seconds && check.usual_gap_seconds) {
    beside -= check.gap_seconds->value - launches * check.usual_gap_seconds->value;
    unsure = std::hypot(unsure, half_width(*check.gap_seconds), launches * half_width(*check.usual_gap_seconds));
  }
  const Interval& device = time->seconds->median_ci95;
  const Estimate expected = {time->seconds->median + beside,
                             {device.low + beside - unsure, device.high + beside + unsure}};
  const Estimate& recorded = *check.seconds;
  check.expected_seconds = expected;
  const double slower_start =
      recorded.value > expected.value && !check.one_by_one ? slow_start_seconds(check, measurement) : 0.0;
  const double of_kernel = check.one_by_one                               ? tolerance_seconds_one_by_one
                           : check.gap_seconds && check.usual_gap_seconds ? tolerance_seconds_beside_gaps
                                                                          : tolerance_seconds_a_kernel;
  check.tolerance_seconds = std::max({launches * of_kernel, tolerance_share * recorded.value,
                                      apart_within(recorded, expected), slower_start}) +
                            clock_seconds(check.clock_hz, measurement, recorded.value);
  check.agreement =
      std::abs(recorded.value - expected.value) <= *check.tolerance_seconds ? Agreement::agrees : Agreement::disagrees;
}

ActivityPass::ActivityPass(Device device, Opener open, CodeReader read_code)
    : device_(std::move(device)), open_(std::move(open)), read_code_(std::move(read_code)) {}

KernelCode ActivityPass::code_of_process(const Device& device) { return KernelCode::of_process(device.architecture); }

void ActivityPass::identify(std::vector<KernelLaunch>& kernels) {
  if (!code_) code_ = read_code_(device_);
  for (KernelLaunch& kernel : kernels) {
    CodeOfKernel known = code_->of(kernel.name);
    kernel.code = std::move(known.code);
    kernel.code_absent_reason = std::move(known.absent_reason);
  }
}

ActivitySource& ActivityPass::source() {
  if (unavailable_) throw MetricsUnavailable(*unavailable_);
  if (!source_) {
    try {
      source_ = open_(device_);
    } catch (const MetricsUnavailable& error) {
      unavailable_ = error.what();
      throw;
    }
  }
  return *source_;
}

namespace {

/// Where they are the kernels that were recorded.
void add_occupancy(const std::vector<Grid>& grids, Measurement& measurement) {
  const auto& order = measurement.kernel_order;
  if (grids.size() != order.size()) return;
  for (std::size_t i = 0; i < order.size(); ++i) {
    KernelGroup& group = measurement.kernels[static_cast<std::size_t>(order[i])];
    const auto [x, y, z] = group.launch.grid;
    if (x * y * z == grids[i].blocks && grids[i].blocks_per_multiprocessor > 0)
      group.blocks_per_multiprocessor = grids[i].blocks_per_multiprocessor;
  }
}

bool is_of_clock(const ActivityRecord& record) {
  return record.kernel && record.kernel->name.starts_with("gpubench::bench::") &&
         record.kernel->name.find("note_kernel(") != std::string::npos;
}

}  // namespace

/// After a warm-up, so that clocks are those of work, and a first chain or a few executions, which pay for what
/// recording prepares.
RecordedExecution ActivityPass::record(const Replay& replay, const std::optional<Launches>& launches, bool one_by_one) {
  const double one_execution_seconds = warm_up(replay.execute);
  const std::int64_t executions = executions_for(one_execution_seconds, launches);
  std::int64_t passed_over = first_executions;
  // What they allocate and read back must not be recorded.
  const ClockNotes clock = replay.clock_notes ? replay.clock_notes() : ClockNotes{[] {}, [] {}, nullptr};
  const auto measured = [&](const std::function<void()>& run) {
    clock.begin();
    run();
    clock.end();
  };
  ActivityRecords records = source().record(
      [&] {
        if (!replay.chain || one_by_one) {
          for (std::int64_t i = 0; i < first_executions; ++i) replay.execute();
          measured([&] {
            for (std::int64_t i = 0; i < executions; ++i) replay.execute();
          });
          return;
        }
        const std::int64_t chains = warm_up_chains_for(one_execution_seconds * static_cast<double>(executions));
        const auto chain = replay.chain(executions);
        for (std::int64_t i = 0; i < chains; ++i) chain();
        measured(chain);
        passed_over = chains * executions;
      },
      one_by_one);
  std::erase_if(records.records, is_of_clock);
  RecordedExecution result = summarize(records, passed_over, executions);
  if (clock.hertz) result.check.clock_hz = clock.hertz();
  result.check.one_by_one = one_by_one;
  if (!replay.chain || one_by_one) result.check.gap_seconds.reset();  // the host launches each when one is done
  return result;
}

ActivityPass::Recording ActivityPass::recording_of(const Replay& replay, bool one_by_one) {
  const KnownKernel known = replay.known_kernel();
  Replay own;
  own.execute = known.execute;
  own.chain = known.chain;
  const ActivityCheck recorded = record(own, Launches{1, 1, 0}, one_by_one).check;
  if (!recorded.seconds) throw MetricsUnavailable(recorded.reason);
  return {with_half_width(recorded.seconds->value - known.device_seconds.value,
                          std::hypot(half_width(*recorded.seconds), half_width(known.device_seconds))),
          recorded.gap_seconds};
}

/// Once. Kernels that only wait would not do: their records have 0.15 us more than those of kernels that work.
void ActivityPass::measure_recording(const Replay& replay) {
  if (recording_) return;
  if (!replay.known_kernel) {
    recording_reason_ = "there is no kernel of known length here";
    return;
  }
  try {
    recording_ = recording_of(replay, false);
    recording_reason_.clear();
  } catch (const std::exception& error) {
    recording_reason_ = error.what();
  }
}

void ActivityPass::take(RecordedExecution recorded, const Recording* recording, Measurement& measurement) {
  if (round_ > 0 && !recorded.check.seconds) return;  // then the first records stay
  std::vector<ActivityLook> looks;
  if (measurement.activity) looks = std::move(measurement.activity->looks);
  ActivityCheck& check = measurement.activity.emplace(std::move(recorded.check));
  check.source = std::string(source().name());
  if (recording != nullptr) {
    check.recording_seconds = recording->excess;
    check.usual_gap_seconds = recording->gap;
  }
  if (check.seconds) check.recording_reason = recording_reason_;
  identify(check.kernels);
  compare(check, measurement);
  check.looks = std::move(looks);
  if (check.agreement != Agreement::not_compared)
    check.looks.push_back(
        {check.seconds->value, check.expected_seconds->value, *check.tolerance_seconds, check.one_by_one, {}});
  measurement.kernels = std::move(recorded.kernels);
  measurement.kernel_order = std::move(recorded.kernel_order);
  measurement.kernel_order_reason = std::move(recorded.kernel_order_reason);
  if (recording == nullptr) return;
  for (KernelGroup& group : measurement.kernels) {
    if (group.kind != CommandKind::kernel) continue;
    const auto launches = static_cast<double>(group.launch.launches);
    group.seconds = with_half_width(group.seconds->value - launches * recording->excess.value,
                                    std::hypot(half_width(*group.seconds), launches * half_width(recording->excess)));
  }
}

void ActivityPass::look_one_by_one(Measurement& measurement, const Replay& replay) {
  try {
    if (!one_by_one_) one_by_one_ = recording_of(replay, true);
    RecordedExecution again = record(replay, measurement.launches, true);
    if (again.check.seconds) take(std::move(again), &*one_by_one_, measurement);
  } catch (const MetricsUnavailable&) {  // then the first records stay
  }
}

/// The same chain while nothing is recorded. Its length is taken twice, so that what launching a chain takes falls out.
void ActivityPass::look_without_records(Measurement& measurement, const Replay& replay) {
  constexpr int repeats = 9;
  const std::int64_t executions =
      executions_for(timing_by(measurement, Clock::device)->seconds->median, measurement.launches);
  const auto shorter = replay.chain(executions);
  const auto longer = replay.chain(3 * executions);
  const auto seconds_of = [&](const std::function<void()>& chain) {
    const double start = replay.now();
    chain();
    return replay.now() - start;
  };
  const ClockNotes clock = replay.clock_notes ? replay.clock_notes() : ClockNotes{[] {}, [] {}, nullptr};
  longer();
  std::vector<double> seconds;
  clock.begin();
  for (int i = 0; i < repeats; ++i) {
    const double once = seconds_of(shorter);
    seconds.push_back((seconds_of(longer) - once) / (2.0 * static_cast<double>(executions)));
  }
  clock.end();
  const Estimate unrecorded = centre_of(std::move(seconds));
  ActivityCheck& check = *measurement.activity;
  check.looks.back().unrecorded_seconds = unrecorded.value;
  compare_unrecorded(check, measurement, unrecorded, clock.hertz ? clock.hertz() : std::nullopt);
}

bool ActivityPass::wants(std::size_t point, const Measurement& /*timed*/) {
  return round_ == 0 || contradicted_.contains(point);
}

void ActivityPass::check(Measurement& measurement, const Replay& replay) {
  source();  // else nothing need be measured
  measure_recording(replay);
  take(record(replay, measurement.launches, false), recording_ ? &*recording_ : nullptr, measurement);
  // Where many blocks may have made records longer, records without that tell.
  if (recording_ && measurement.kernel_order_reason.empty() && slow_start_counts(*measurement.activity, measurement))
    look_one_by_one(measurement, replay);
  if (measurement.activity->agreement == Agreement::disagrees && replay.chain)
    look_without_records(measurement, replay);
  if (measurement.activity->agreement == Agreement::disagrees)
    contradicted_.insert(replay.point);
  else
    contradicted_.erase(replay.point);
  if (replay.grids && measurement.kernels.size() > 1) add_occupancy(replay.grids(), measurement);
}

void ActivityPass::fill(Measurement& measurement, const Replay& replay) {
  if (measurement.cache_state != "warm")
    return give_up(measurement, "activity records are taken with a warm cache, but the point was timed with a " +
                                    measurement.cache_state + " one");
  if (replay.resets) return give_up(measurement, "its inputs are reset before each execution, and records hold both");
  try {
    if (round_ == 0) {  // a resumed run's point may have some
      measurement.activity.reset();
      measurement.kernels.clear();
      measurement.kernel_order.clear();
    }
    check(measurement, replay);
  } catch (const std::exception& error) {
    give_up(measurement, error.what());
  }
}

void ActivityPass::give_up(Measurement& measurement, const std::string& reason) {
  if (round_ > 0) return;  // what the first records said stays
  measurement.activity = ActivityCheck{};
  measurement.activity->reason = reason;
}

std::unique_ptr<ActivitySource> open_activity_source(const Device& device) {
  if (device.kind == DeviceKind::cpu) throw MetricsUnavailable("a CPU has no activity records; use --check on a GPU");
  return open_cupti_activity();
}

}  // namespace gpubench::bench
