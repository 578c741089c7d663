// SPDX-License-Identifier: Apache-2.0
#include "gpubench/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/declaration.h"
#include "bench/memory/host_memory.h"
#include "core/base/units.h"
#include "gpu/memory/memory.h"
#include "gpubench/check.h"

namespace gpubench {
namespace {

template <class T>
Check all_close_of(std::span<const T> actual, std::span<const T> expected, double relative, double absolute) {
  if (actual.size() != expected.size())
    return {false, fmt::format("the result has {} elements, but the reference has {}", actual.size(), expected.size())};
  // How far beyond the tolerance; nothing up to it. A NaN on either side is infinitely far away; an infinity is close
  // to itself alone.
  const auto excess_of = [=](std::size_t i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    const double allowed = absolute + relative * std::abs(static_cast<double>(expected[i]));
    if (actual[i] == expected[i]) return 0.0;
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    return difference <= allowed ? 0.0 : difference - allowed;
  };
  const auto count = static_cast<std::int64_t>(actual.size());
  bool all = true;
#pragma omp parallel for schedule(static) reduction(&& : all) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) all = all && excess_of(static_cast<std::size_t>(i)) == 0.0;
  if (all) return true;
  std::size_t worst = 0;
  for (std::size_t i = 1; i < actual.size(); ++i)
    if (excess_of(i) > excess_of(worst)) worst = i;
  return {false, fmt::format("element {} of {} is {}, but the reference has {} (tolerance: {} relative + {} absolute)",
                             worst, actual.size(), actual[worst], expected[worst], relative, absolute)};
}

/// `before` and what a call adds to it. A negative number that was made unsigned is above 2^63.
double sum_of(double before, double value, const char* call) {
  constexpr double max = 4611686018427387904.0;  // 2^62
  if (!(value >= 0.0)) throw std::invalid_argument(fmt::format("{} got {:.6g}; give a number from 0 on", call, value));
  if (before + value > max)
    throw std::invalid_argument(
        fmt::format("{} got {:.4g}, more than one execution can do: the number overflowed; compute it in std::int64_t",
                    call, before + value));
  return before + std::round(value);
}

std::string names_of(const std::vector<Argument>& arguments, bool texts) {
  std::string names;
  for (const Argument& argument : arguments)
    if (argument.text.has_value() == texts && !argument.name.empty())
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", argument.name);
  return names;
}

const Argument& argument_named(const std::vector<Argument>& arguments, std::string_view name, bool text) {
  const auto found = std::ranges::find_if(
      arguments, [&](const Argument& argument) { return argument.name == name && argument.text.has_value() == text; });
  if (found != arguments.end()) return *found;
  const std::string names = names_of(arguments, text);
  const char* const call = text ? "text" : "range";
  const char* const remedy =
      text ? "register it with GPU_BENCHMARK_TEXTS or GPU_BENCHMARK_TYPES" : "register it with ArgName or ArgNames";
  throw std::invalid_argument(
      names.empty() ? fmt::format("state.{}(\"{}\"): this point names no such argument; {}", call, name, remedy)
                    : fmt::format("state.{}(\"{}\"): this point has {}; {}", call, name, names, remedy));
}

}  // namespace

Check all_close(std::span<const float> actual, std::span<const float> expected, double relative, double absolute) {
  return all_close_of(actual, expected, relative, absolute);
}

Check all_close(std::span<const double> actual, std::span<const double> expected, double relative, double absolute) {
  return all_close_of(actual, expected, relative, absolute);
}

void detail::Declaration::refuse_after_measure(const char* call) const {
  if (measured)
    throw std::logic_error(fmt::format("state.{} came after state.measure, which needs it; call it before", call));
}

Work detail::Declaration::work_with_footprint() const {
  Work result = work;
  if (!result.footprint_bytes && allocated_bytes > 0.0) result.footprint_bytes = allocated_bytes;
  return result;
}

State::State(detail::Declaration& declaration) : declaration_(declaration), buffers_(declaration.buffers) {}

std::int64_t State::range(std::size_t index) const {
  const auto& arguments = declaration_.arguments;
  std::size_t numbers = 0;
  for (const Argument& argument : arguments) {
    if (argument.text) continue;
    if (numbers++ == index) return argument.value;
  }
  throw std::invalid_argument(
      fmt::format("state.range({}): this point has {} among its arguments", index, plural(numbers, "number")));
}

std::int64_t State::range(std::string_view name) const {
  return argument_named(declaration_.arguments, name, false).value;
}

const std::string& State::text(std::string_view name) const {
  return *argument_named(declaration_.arguments, name, true).text;
}

std::size_t State::checked_count(std::int64_t count) {
  if (count < 0) throw std::invalid_argument(fmt::format("a vector cannot have {} elements", count));
  return static_cast<std::size_t>(count);
}

void State::add(const std::shared_ptr<detail::Buffer>& buffer, detail::Fill fill, std::size_t count) {
  ++declaration_.seed;
  const bool on_device = buffer->memory() == detail::Memory::device;
  const std::size_t numbers = count * fill.numbers_per_element;
  if (count > 0 && fill.filling != detail::Filling::none) {
    const auto draw = on_device ? detail::draw_device : detail::draw_host;
    draw(buffer->place(), fill.kind, fill.filling, buffer->bytes() / numbers, numbers, declaration_.seed);
  }
  declaration_.buffers.add(buffer);
  declaration_.allocated_bytes += static_cast<double>(buffer->bytes());
}

void State::add_bytes(double Work::*sum, double bytes, const char* call) {
  declaration_.work.*sum = sum_of(declaration_.work.*sum, bytes, call);
}
void State::add_flops(Pipe pipe, double count) {
  double& sum = declaration_.work.flops[pipe];
  sum = sum_of(sum, count, "state.flops");
}
void State::set_footprint(double bytes) { declaration_.work.footprint_bytes = sum_of(0.0, bytes, "state.footprint"); }
void State::add_random(double reads, double updates, double table_bytes) {
  auto& random = declaration_.work.random;
  const char* const call = reads > 0.0 ? "state.random_reads" : "state.random_updates";
  const RandomAccesses before = random.value_or(RandomAccesses{});
  random = RandomAccesses{sum_of(before.reads, reads, call), sum_of(before.updates, updates, call),
                          std::max(before.bytes, sum_of(0.0, table_bytes, call))};
}
void State::set_items(double count) { counter(std::string(items_counter), sum_of(0.0, count, "state.items"), "items"); }

void State::set_grid(std::int64_t blocks, std::int64_t blocks_per_multiprocessor) {
  if (blocks < 1 || blocks_per_multiprocessor < 1)
    throw std::invalid_argument(
        fmt::format("state.grid takes counts of at least one block, not {} and {}", blocks, blocks_per_multiprocessor));
  // The largest grid of CUDA, and more blocks than any multiprocessor has threads.
  constexpr std::int64_t max_blocks = std::int64_t{2147483647} * 65535 * 65535;
  constexpr std::int64_t max_resident = 2048;
  if (blocks > max_blocks || blocks_per_multiprocessor > max_resident)
    throw std::invalid_argument(
        fmt::format("state.grid takes up to {} blocks, and up to {} on one multiprocessor, not {} and {}", max_blocks,
                    max_resident, blocks, blocks_per_multiprocessor));
  declaration_.grid = Grid{blocks, blocks_per_multiprocessor};
}

void State::counter(std::string name, double value, std::string unit) {
  if (!std::isfinite(value))
    throw std::invalid_argument(
        fmt::format("state.counter(\"{}\") got {}, which no file can hold; give a finite number", name, value));
  auto& counters = declaration_.counters;
  const auto found = std::ranges::find(counters, name, &UserCounter::name);
  if (found == counters.end())
    counters.push_back({std::move(name), value, std::move(unit)});
  else
    *found = {std::move(name), value, std::move(unit)};
}

void State::phase(std::string name, double share, double mean_seconds, std::int64_t ranges, double uneven) {
  if (!(share >= 0.0 && mean_seconds >= 0.0 && uneven >= 1.0) || !std::isfinite(share + mean_seconds + uneven) ||
      ranges < 0)
    throw std::invalid_argument(fmt::format(
        "state.phase(\"{}\") takes a share, a time and a count of 0 or more and an unevenness of 1 or more, not "
        "{}, {}, {} and {}",
        name, share, mean_seconds, ranges, uneven));
  auto& phases = declaration_.phases;
  std::erase_if(phases, [&](const Phase& one) { return one.name == name; });
  const auto after = std::ranges::find_if(phases, [&](const Phase& one) { return one.share < share; });
  phases.insert(after, {std::move(name), share, mean_seconds, ranges, uneven});
}

void State::label(std::string text) { declaration_.label = std::move(text); }
void State::verify(std::function<Check()> check) {
  declaration_.refuse_after_measure("verify");
  if (declaration_.check)
    throw std::logic_error(
        "the operation called state.verify twice, which would drop the first check; put both into one");
  declaration_.check = std::move(check);
}
void State::inputs(std::int64_t pool, std::function<void(std::int64_t)> fill) {
  if (pool < 2)
    throw std::invalid_argument(fmt::format("state.inputs takes a pool of at least two sets of inputs, not {}", pool));
  declaration_.refuse_after_measure("inputs");
  declaration_.input_pool = pool;
  declaration_.fill_inputs = std::move(fill);
}
void State::as_called(std::function<void(Stream, std::int64_t)> calls) {
  declaration_.refuse_after_measure("as_called");
  declaration_.calls = std::move(calls);
}
void State::empty_calls(std::function<void(std::int64_t)> calls) {
  declaration_.refuse_after_measure("empty_calls");
  declaration_.empty_calls = std::move(calls);
}
void State::skip(std::string reason) { declaration_.skipped = std::move(reason); }
benchmark::State& State::google() { return *declaration_.google; }

void State::set_reset(DeviceKind device, std::function<void(Stream)> reset) {
  declaration_.refuse_after_measure("reset");
  declaration_.reset = std::move(reset);
  declaration_.reset_device = device;
}

void State::offer(Ablation kind, double remaining_fraction, DeviceKind device, detail::Batch batch) {
  if (!(remaining_fraction >= 0.0 && remaining_fraction < 1.0))
    throw std::invalid_argument(
        fmt::format("state.ablation takes the fraction of the work that remains, from 0 to less than 1, not {}",
                    remaining_fraction));
  declaration_.refuse_after_measure("ablation");
  declaration_.variants.push_back({kind, remaining_fraction, device, std::move(batch)});
}

void State::run(DeviceKind device, const detail::Batch& batch) {
  declaration_.device = device;
  declaration_.measure(declaration_, batch);
}

}  // namespace gpubench
