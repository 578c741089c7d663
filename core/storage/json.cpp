// SPDX-License-Identifier: Apache-2.0
// The fields of every structure that files hold, in the order in which they are written. docs/reference/json-schema.md
// says what they mean.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <type_traits>

#include "core/model/points.h"
#include "core/storage/baselines.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "core/storage/visitors.h"

namespace gpubench::storage {

/// T is the structure, const where it is written.
template <class T, class As>
concept is_a = std::is_same_v<std::remove_const_t<T>, As>;

/// Several fields, in their order.
void fields(auto& visit, const auto&... all) { (visit.field(all), ...); }

/// A field that files call as the structure does: ANY may lie below zero, SHARE is from 0 to 1, FILLED is left out
/// while it is empty.
#undef OF  // zlib has one
#define OF(name) field_of(#name, it.name)
#define ANY(name) field_of(#name, it.name, Domain::any)
#define SHARE(name) field_of(#name, it.name, Domain::probability)
#define FILLED(name) field_of(#name, it.name, Domain::not_negative, true)
#define NAMED(key, name) field_of(key, it.name)
/// A structure of such fields.
#define PLAIN(Type, ...) \
  void describe(auto& visit, is_a<Type> auto& it) { fields(visit, __VA_ARGS__); }

template <class V>
inline constexpr bool is_reader = std::is_same_v<std::remove_cvref_t<V>, Reader>;

/// Half a unit of the last digit that a file gives a number: 0.05e-6 of 1.8e-6. Figures may have been rounded, each by
/// itself.
inline double half_digit(double value) {
  if (value == 0.0) return 0.0;
  std::array<char, 32> text{};
  const auto* const end = std::to_chars(text.begin(), text.end(), std::abs(value), std::chars_format::scientific).ptr;
  const auto* const e = std::find(text.cbegin(), end, 'e');
  const auto digits = e - text.begin() - (e - text.begin() > 1 ? 1 : 0);
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  return 0.5 * std::pow(10.0, exponent - static_cast<int>(digits) + 1) + 1e-12 * std::abs(value);
}

/// Up to the rounding of both.
inline bool at_most(double a, double b) { return a <= b || a - b <= half_digit(a) + half_digit(b); }
inline bool alike(double a, double b) { return at_most(a, b) && at_most(b, a); }
inline bool holds(const Interval& interval, double value) {
  return at_most(interval.low, value) && at_most(value, interval.high);
}

/// Counts beyond this were never counted.
inline constexpr std::int64_t max_count = 1'000'000'000'000;

PLAIN(Device, OF(id), OF(kind), OF(name), OF(architecture), OF(units), OF(memory_bytes), OF(last_level_cache_bytes),
      OF(max_clock_hz), NAMED("memory_bandwidth_limit_bytes_per_second", memory_bandwidth_limit), OF(properties))

void describe(auto& visit, is_a<Estimate> auto& it) {
  fields(visit, field_of("value", it.value, visit.domain()), OF(ci95));
}

// Calibrations.

PLAIN(Confirmation, FILLED(counter), OF(ratio), FILLED(reason))

void describe(auto& visit, is_a<Ceiling> auto& it) {
  fields(visit, OF(resource), OF(value), OF(unit), OF(ci95), OF(repeats), OF(method), OF(clock_hz),
         OF(theoretical_limit), OF(group), FILLED(shape), FILLED(conditions), OF(load), OF(work_per_run),
         FILLED(work_unit), OF(rate_per_clock), OF(cycles), OF(power_watts), ANY(temperature_celsius), OF(confirmation),
         FILLED(caveats));
  visit.require(it.value > 0.0, "value", "is zero, which limits nothing");
  visit.require(holds(it.ci95, it.value), "ci95", "is an interval that does not hold the value");
}

PLAIN(AbsentCeiling, OF(resource), OF(reason))
PLAIN(CacheLevel, OF(resource), OF(capacity_bytes), OF(capacity_ci95))
PLAIN(LadderPoint, OF(working_set_bytes), OF(bytes_per_second))
PLAIN(LatencyPoint, OF(working_set_bytes), OF(seconds), OF(cycles))
PLAIN(IntensityPoint, OF(flops_per_byte), OF(flops_per_second), OF(bytes_per_second), OF(clock_hz))
PLAIN(DriftReading, OF(resource), OF(unit), OF(stored), OF(now), ANY(change), ANY(beyond), OF(samples), OF(sets),
      OF(outcome), OF(method), FILLED(disturbance))

PLAIN(DriftCheck, OF(calibration_utc), OF(checked_utc), OF(seconds_taken), OF(outcome), OF(readings),
      FILLED(not_checked))
PLAIN(BandCheck, OF(resource), OF(unit), OF(value), OF(reference), OF(margin), OF(standing), ANY(difference), OF(worse),
      OF(source))

PLAIN(Health, OF(kind), OF(checks), FILLED(reason))

void describe(auto& visit, is_a<Calibration> auto& it) {
  fields(visit, OF(device), OF(mode), OF(created_utc), OF(gpubench_version), OF(seconds_taken), OF(ceilings),
         OF(absent), OF(levels), OF(ladder), FILLED(unit_levels), FILLED(unit_ladder), FILLED(latency_curve),
         FILLED(intensity_sweep), FILLED(warnings), SHARE(core_share), OF(drift), OF(health));
  if constexpr (is_reader<decltype(visit)>) {
    std::set<std::string_view> seen;
    for (const Ceiling& ceiling : it.ceilings) {
      const auto fail = [&](const std::string& what) { visit.node().at("ceilings").fail(what); };
      if (!seen.insert(ceiling.resource).second)
        fail(fmt::format("holds two ceilings of {}", excerpt(ceiling.resource)));
      if (!ceiling.rate_per_clock || !ceiling.clock_hz || *ceiling.rate_per_clock <= 0.0 || *ceiling.clock_hz <= 0.0)
        continue;
      // Of one core alone, or of all. Either figure may be the median of several processes.
      constexpr double tolerated = 1.5;
      const double ratio = ceiling.value / *ceiling.clock_hz / *ceiling.rate_per_clock;
      const auto like = [&](double units) { return ratio < tolerated * units && units < tolerated * ratio; };
      if (std::isfinite(ratio) && !like(1.0) && !like(it.device.units))
        fail(fmt::format("holds one of {} of which value and rate per clock do not agree", excerpt(ceiling.resource)));
    }
  }
}

// Measurements.

void describe(auto& visit, is_a<Summary> auto& it) {
  const auto of = [&](const char* key, auto& value) { return field_of(key, value, visit.domain()); };
  fields(visit, OF(count), of("minimum", it.minimum), of("lower_quartile", it.lower_quartile), OF(median),
         of("upper_quartile", it.upper_quartile), of("maximum", it.maximum), of("mean", it.mean), OF(mad),
         OF(median_ci95));
  if constexpr (is_reader<decltype(visit)>) {
    visit.require(it.count >= 1 && it.count <= static_cast<std::int64_t>(max_array), "count", "is {}, not 1 to {}",
                  it.count, max_array);
    const std::array<std::pair<const char*, double>, 5> rising = {{{"minimum", it.minimum},
                                                                   {"lower_quartile", it.lower_quartile},
                                                                   {"median", it.median},
                                                                   {"upper_quartile", it.upper_quartile},
                                                                   {"maximum", it.maximum}}};
    for (std::size_t i = 1; i < rising.size(); ++i)
      visit.require(at_most(rising[i - 1].second, rising[i].second), rising[i].first, "is {}, below the {} of {}",
                    rising[i].second, std::string_view(rising[i - 1].first), rising[i - 1].second);
    visit.require(holds({it.minimum, it.maximum}, it.mean), "mean", "is {}, outside of minimum and maximum", it.mean);
    visit.require(holds(it.median_ci95, it.median), "median_ci95", "does not hold the median of {}", it.median);
    visit.require(
        it.mad - (it.maximum - it.minimum) <= half_digit(it.mad) + half_digit(it.maximum) + half_digit(it.minimum),
        "mad", "is {}, more than lies between minimum and maximum", it.mad);
  }
}

void describe(auto& visit, is_a<Argument> auto& it) {
  fields(visit, FILLED(name), OF(text));
  if (!it.text) visit.field(ANY(value));
}

PLAIN(RandomAccesses, OF(reads), OF(updates), OF(bytes))
PLAIN(Work, OF(bytes_read), OF(bytes_written), OF(footprint_bytes), OF(random), OF(flops))

/// Whether the blocks hold so many samples, each block at least one.
inline bool add_up(const std::vector<std::int64_t>& block_sizes, std::size_t samples) {
  auto left = static_cast<std::int64_t>(samples);
  for (const std::int64_t size : block_sizes) {
    if (size < 1 || size > left) return false;
    left -= size;
  }
  return left == 0;
}

/// A summary and the samples that it sums up.
inline void check_agreement(const Reader& visit, const Summary& summary, std::vector<double> samples) {
  visit.require(summary.count == static_cast<std::int64_t>(samples.size()), "seconds",
                "counts {} samples, and {} are there", summary.count, samples.size());
  const std::size_t upper = samples.size() / 2;
  const std::size_t lower = (samples.size() - 1) / 2;
  std::ranges::sort(samples);
  const auto check = [&](const char* name, double here, double low, double high) {
    const bool same =
        std::abs(here - (std::midpoint(low, high))) <= half_digit(here) + half_digit(low) + half_digit(high);
    visit.require(same, "seconds", "has a {} of {}, and the samples one of {}", std::string_view(name), here,
                  std::midpoint(low, high));
  };
  check("minimum", summary.minimum, samples.front(), samples.front());
  check("median", summary.median, samples[lower], samples[upper]);
  check("maximum", summary.maximum, samples.back(), samples.back());
}

void describe(auto& visit, is_a<Timing> auto& it) {
  visit.field(OF(clock));
  // Samples of a clock that takes a cost off may fall below zero; no other time does.
  const Domain domain = it.clock == TimingMode::device ? Domain::any : Domain::not_negative;
  fields(visit, field_of("seconds", it.seconds, domain), FILLED(reason),
         field_of("samples_seconds", it.samples_seconds, domain, true), FILLED(samples_clock_hz), FILLED(block_sizes));
  const std::size_t samples = it.samples_seconds.size();
  if (samples > 0 && !it.block_sizes.empty())
    visit.require(add_up(it.block_sizes, samples), "block_sizes", "does not add up to the number of samples");
  if (!it.samples_clock_hz.empty())
    visit.require(it.samples_clock_hz.size() == samples, "samples_clock_hz", "does not have one clock for each sample");
  if constexpr (is_reader<decltype(visit)>)
    if (samples > 0 && it.seconds) check_agreement(visit, *it.seconds, it.samples_seconds);
  fields(visit, FILLED(dropped_samples), OF(executions_per_sample), OF(method), OF(stop_reason));
  if constexpr (is_reader<decltype(visit)>) {
    const auto count = [&](std::int64_t value, const char* key) {
      visit.require(value <= max_count, key, "is {}, more than can have been counted", value);
    };
    count(it.dropped_samples, "dropped_samples");
    count(it.executions_per_sample, "executions_per_sample");
  }
  visit.field(field_of(visit.key("kernel_overhead_seconds", "fixed_seconds"), it.kernel_overhead_seconds, Domain::any));
}

void describe(auto& visit, is_a<Variant> auto& it) {
  const char* const remaining = visit.key("remaining_fraction", "part_left");
  fields(visit, NAMED(visit.key("ablation", "perturbation"), ablation), NAMED(remaining, remaining_fraction));
  visit.require(it.remaining_fraction < 1.0, remaining, "leaves all of the work, or more");
  fields(visit, ANY(seconds), FILLED(reason));  // by the device clock, which takes a cost off
}

PLAIN(DeviceConditions, OF(readings), OF(sm_clock_hz), OF(memory_clock_hz), OF(power_watts), OF(temperature_celsius),
      SHARE(core_share), OF(threads_used), SHARE(gpu_share), FILLED(gpu_share_absent_reason), FILLED(throttle_reasons),
      FILLED(absent_reason))
PLAIN(PageFaults, OF(count), ANY(seconds))
PLAIN(Launches, OF(kernels), OF(blocks), OF(later_blocks), OF(local_bytes))
PLAIN(Grid, OF(blocks), OF(blocks_per_multiprocessor))
PLAIN(Counter, OF(name), ANY(value), OF(unit), FILLED(source))

PLAIN(AbsentCounter, OF(name), OF(reason))
PLAIN(UserCounter, OF(name), ANY(value), FILLED(unit))

PLAIN(Phase, OF(name), OF(share), OF(mean_seconds), OF(ranges), OF(uneven))
PLAIN(KernelLaunch, OF(name), OF(grid), OF(block), OF(registers), OF(static_shared_bytes), OF(dynamic_shared_bytes),
      OF(launches), OF(local_bytes), FILLED(code), FILLED(code_absent_reason))

PLAIN(ActivityCheck, FILLED(reason), FILLED(source), OF(executions), ANY(seconds), ANY(span_seconds), FILLED(kernels),
      OF(copies), ANY(recording_seconds), FILLED(recording_reason), ANY(gap_seconds), ANY(usual_gap_seconds),
      OF(clock_hz))

void describe(auto& visit, is_a<KernelGroup> auto& it) {
  visit.field(FILLED(kind));
  if (it.kind == CommandKind::kernel)
    describe(visit, it.launch);
  else
    fields(visit, NAMED("name", launch.name), NAMED("launches", launch.launches));
  fields(visit, OF(bytes), OF(blocks_per_multiprocessor), ANY(seconds), FILLED(counters));
  visit.require(it.launch.launches <= max_count, "launches", "is {}, more than can have been counted",
                it.launch.launches);
}

PLAIN(Failure, OF(kind), OF(message))

/// Schema 1 has the primary timing's fields beside the measurement's own, the other timings in a list, and an empty
/// name of the clock where a point was never timed.
inline void read_timings_of_schema_1(const Node& node, std::vector<Timing>& timings) {
  if (!node.at("clock").text().empty() || node.find("seconds")) read_value(node, timings.emplace_back());
  if (const auto others = node.find("other_clocks"))
    for (Timing& other : read_as<std::vector<Timing>>(*others)) timings.push_back(std::move(other));
}

void describe(auto& visit, is_a<Measurement> auto& it) {
  fields(visit, OF(name), OF(operation), OF(arguments), OF(device), OF(repetition), FILLED(label), OF(work));
  if constexpr (std::is_same_v<decltype(visit), Reader&>) {
    it.name = without_suffix(it.name);  // runs of 0.1 have one
    if (visit.node().version() == 1)
      read_timings_of_schema_1(visit.node(), it.timings);
    else
      visit.field(OF(timings));
  } else {
    visit.field(OF(timings));
  }
  fields(visit, ANY(launch_seconds), ANY(bare_launch_seconds), ANY(empty_call_seconds), OF(page_faults),
         FILLED(variants), OF(cache_state), OF(verified), OF(unoptimized_code), FILLED(compiled_vectors), OF(clock_hz),
         FILLED(clock_hz_source), OF(set_up_seconds), OF(conditions), OF(launches), OF(grid), FILLED(counters),
         FILLED(absent_counters), FILLED(user_counters), FILLED(phases), FILLED(work_differences), OF(activity),
         field_of("kernel_groups", it.kernels, Domain::not_negative, true), FILLED(kernel_order),
         FILLED(kernel_order_reason), FILLED(kernel_counters_reason));
  visit.require(it.kernels.size() <= max_kernel_groups + 1, "kernel_groups", "has {} groups, more than {}",
                it.kernels.size(), max_kernel_groups + 1);
  visit.require(
      std::ranges::all_of(it.kernel_order, [&](std::int64_t place) { return std::cmp_less(place, it.kernels.size()); }),
      "kernel_order", "names a group that is not there");
  fields(visit, OF(failure), OF(skipped));
}

// Verdicts.

PLAIN(Share, OF(resource), ANY(fraction))
PLAIN(Advice, OF(action), OF(evidence), OF(gain), OF(code), OF(gain_ci95), FILLED(kernel))

PLAIN(CrossCheck, NAMED("check", experiment), OF(outcome), OF(says), OF(evidence))

void describe(auto& visit, is_a<Verdict> auto& it) {
  constexpr bool reads = is_reader<decltype(visit)>;  // older files lack the runner-up's probability
  fields(visit, OF(regime), OF(limiter), OF(shares), OF(achieved), SHARE(confidence), OF(certainty), OF(runner_up),
         field_of("runner_up_probability", it.runner_up_probability, Domain::probability, reads), OF(model_seconds),
         OF(evidence), FILLED(advice), field_of("votes", it.cross_checks, Domain::not_negative, true));
}

PLAIN(Boundary, OF(operation), OF(device), OF(argument), OF(from), OF(to), ANY(at), OF(ci95), FILLED(placement))

// Runs.

PLAIN(Context, OF(gpubench_version), OF(created_utc), OF(host), OF(program), OF(arguments), OF(environment))

void describe(auto& visit, is_a<Point> auto& it) {
  fields(visit, OF(measurement), OF(verdict), FILLED(kernel_verdicts));
  visit.require(it.kernel_verdicts.empty() || it.kernel_verdicts.size() == it.measurement.kernels.size(),
                "kernel_verdicts", "does not have one entry for each of the kernel_groups");
}

PLAIN(OperationFinding, OF(operation), OF(device), OF(point), OF(failure), OF(regime), FILLED(limiter), FILLED(why),
      FILLED(action), OF(code), FILLED(kernel), OF(gain), OF(gain_ci95), SHARE(saved), SHARE(confidence), OF(points),
      OF(all_points))
PLAIN(Unfinished, OF(finished), OF(planned))

// Programs.

PLAIN(Idle, OF(cause), OF(seconds), OF(gaps))
PLAIN(GpuTime, OF(device), OF(process), OF(wall_seconds), OF(busy_seconds), OF(compute_seconds), OF(memory_seconds),
      OF(communication_seconds), OF(memory_overlap_seconds), OF(communication_overlap_seconds), OF(idle), OF(launches),
      OF(launch_call_seconds), OF(launch_period_seconds))
PLAIN(Finding, OF(text), OF(gain_seconds), FILLED(code), FILLED(evidence), FILLED(advice), FILLED(threshold))
PLAIN(ProgramKernel, OF(point), OF(range), OF(launches), OF(counted), OF(total_seconds), OF(p50_seconds),
      OF(p95_seconds), OF(share))
PLAIN(ProgramRange, OF(process), OF(path), OF(depth), OF(count), OF(host_seconds), OF(kernel_seconds),
      OF(own_kernel_seconds), OF(launches), OF(allocations), OF(allocated_bytes), OF(peak_bytes))

void describe(auto& visit, is_a<ProgramMemory> auto& it) {
  fields(visit, OF(process), OF(kind), OF(allocations), OF(peak_bytes), OF(peak_seconds), OF(never_freed_bytes),
         OF(curve_seconds), OF(curve_bytes));
  visit.require(it.curve_seconds.size() == it.curve_bytes.size(), "curve_bytes",
                "does not have one entry for each of curve_seconds");
}

PLAIN(NeverFreed, OF(source), OF(kind), OF(allocations), OF(bytes))

void describe(auto& visit, is_a<ProgramTrack> auto& it) {
  fields(visit, OF(name), OF(starts_seconds), OF(lengths_seconds), OF(kinds), ANY(names));
  visit.require(it.starts_seconds.size() == it.lengths_seconds.size() && it.kinds.size() == it.lengths_seconds.size() &&
                    it.names.size() == it.lengths_seconds.size(),
                "starts_seconds", "does not have as many entries as lengths_seconds, kinds and names");
}

PLAIN(ProgramPhase, OF(kind), OF(process), OF(start_seconds), OF(seconds), OF(steps))
PLAIN(SteadyState, OF(by), OF(steps), OF(seconds), SHARE(kernel_share))
PLAIN(StepPart, OF(kind), FILLED(name), OF(seconds))
PLAIN(StepTime, OF(device), OF(process), OF(by), OF(steps), OF(seconds), OF(recording_seconds), OF(parts),
      OF(at_roof_seconds), OF(free_launch_seconds), OF(both_seconds), FILLED(roof_reason))
PLAIN(SelfCost, OF(what), OF(count), OF(seconds_each))

void describe(auto& visit, is_a<Program> auto& it) {
  fields(visit, OF(command), OF(ended), OF(wall_seconds), OF(gpus), OF(findings), OF(kernels), OF(ranges), OF(memory),
         OF(never_freed), OF(overview), OF(overview_names), OF(self_cost), OF(kernel_launches), OF(counted_launches),
         OF(dropped_records), FILLED(counters_reason), FILLED(phases), OF(steady), FILLED(steady_reason),
         FILLED(steps));
  for (const ProgramTrack& track : it.overview)
    visit.require(std::ranges::all_of(track.names,
                                      [&](std::int64_t name) {
                                        return name == -1 ||
                                               (name >= 0 && std::cmp_less(name, it.overview_names.size()));
                                      }),
                  "overview", "names a slice that overview_names does not have");
}

PLAIN(Run, OF(context), OF(unfinished), OF(devices), OF(calibrations), OF(points), OF(boundaries), FILLED(findings),
      OF(warnings), OF(program))
PLAIN(BaselineEntry, OF(label), OF(added_utc), OF(fingerprint), OF(clock), OF(runs))

#undef PLAIN
#undef OF
#undef ANY
#undef SHARE
#undef FILLED
#undef NAMED

Run run_at(const Node& node) { return read_as<Run>(node); }
Point point_at(const Node& node) { return read_as<Point>(node); }
BaselineEntry baseline_at(const Node& node) { return read_as<BaselineEntry>(node); }

std::string to_json(const BaselineEntry& entry) {
  return document_text(json_of(entry), baseline_schema, BaselineEntry::schema_version);
}

BaselineEntry baseline_from_json(std::string_view text, std::string_view origin) {
  constexpr std::size_t max_runs = 10'000;
  const Document document = parse_document(text, origin, baseline_schema, BaselineEntry::schema_version);
  auto entry = read_as<BaselineEntry>(document.root(origin));
  if (entry.runs.empty() || entry.runs.size() > max_runs)
    document.root(origin).at("runs").fail(fmt::format("holds {} runs, not 1 to {}", entry.runs.size(), max_runs));
  return entry;
}

std::string to_json(const Run& run) { return document_text(json_of(run), run_schema, Run::schema_version); }

std::string to_json(const Calibration& calibration) {
  return document_text(json_of(calibration), calibration_schema, Calibration::schema_version);
}

Calibration calibration_from_json(std::string_view text, std::string_view origin) {
  const Document document = parse_document(text, origin, calibration_schema, Calibration::schema_version);
  return read_as<Calibration>(document.root(origin));
}

std::vector<Calibration> calibrations_from_json(std::string_view text, std::string_view origin) {
  nlohmann::json json = parse_json(text, origin, calibration_schema);
  if (json.is_object() && schema_of(json) == run_schema)
    return read_as<Run>(document_of(std::move(json), origin, run_schema, Run::schema_version).root(origin))
        .calibrations;
  return {read_as<Calibration>(
      document_of(std::move(json), origin, calibration_schema, Calibration::schema_version).root(origin))};
}

}  // namespace gpubench::storage
