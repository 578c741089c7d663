// SPDX-License-Identifier: Apache-2.0
#include "traces/operators.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "traces/parts.h"

namespace gpubench::traces {
namespace {

/// What is open on a thread.
struct Frame {
  std::uint32_t slice;
  std::uint32_t operation;  ///< its place in Operators::parents; that of the frame below where it is no operator
  std::int64_t end;
  std::int64_t within_ns = 0;  ///< of frames within
};

}  // namespace

Operators operators(const Timeline& timeline, const Links& links) {
  Operators result;
  result.of_call.assign(links.calls.size(), none);
  std::vector<std::uint8_t> python(timeline.names.size());  // 0: not asked yet, 1: no, 2: yes
  std::vector<std::vector<Frame>> threads(links.threads.size());
  const auto close = [&](std::vector<Frame>& stack, std::int64_t now) {
    for (; !stack.empty() && stack.back().end <= now; stack.pop_back()) {
      const Frame& frame = stack.back();
      const Slice& slice = timeline.slices[frame.slice];
      if (slice.kind == SliceKind::other)
        result.all[frame.operation].self_ns = std::max<std::int64_t>(slice.duration_ns - frame.within_ns, 0);
      if (stack.size() > 1) (stack.end() - 2)->within_ns += slice.duration_ns;
    }
  };
  auto call = links.calls.begin();
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const std::uint32_t thread = links.thread_of_track[slice.track];
    const bool is_call = call != links.calls.end() && call->slice == i;
    if (thread == none || slice.kind == SliceKind::range || slice.kind == SliceKind::overhead) continue;
    if (slice.kind == SliceKind::other) {
      std::uint8_t& known = python[slice.name];
      if (known == 0) known = is_python_frame(timeline.names.text(slice.name)) ? 2 : 1;
      if (known == 2) continue;
    }
    auto& stack = threads[thread];
    close(stack, slice.start_ns);
    std::uint32_t operation = stack.empty() ? none : stack.back().operation;
    if (is_call) {
      result.of_call[static_cast<std::size_t>(call - links.calls.begin())] = operation;
      ++call;
    }
    if (slice.kind == SliceKind::other) {
      result.all.push_back({.slice = i, .parent = operation});
      operation = static_cast<std::uint32_t>(result.all.size() - 1);
    }
    stack.push_back({i, operation, slice.end_ns()});
  }
  for (auto& stack : threads) {
    // What crosses its parent's end is closed with it.
    for (Frame& frame : stack) frame.end = std::numeric_limits<std::int64_t>::min();
    close(stack, 0);
  }
  return result;
}

std::vector<OperatorTime> operator_times(const Timeline& timeline) {
  const Links links = link(timeline);
  const Operators found = operators(timeline, links);
  std::unordered_map<std::uint32_t, OperatorTime> times;  // by name
  const auto name_of = [&](std::uint32_t operation) { return timeline.slices[found.all[operation].slice].name; };
  const auto outermost = [&](std::uint32_t operation) {
    const std::uint32_t name = name_of(operation);
    for (std::uint32_t above = found.all[operation].parent; above != none; above = found.all[above].parent)
      if (name_of(above) == name) return false;
    return true;
  };
  for (std::uint32_t i = 0; i < found.all.size(); ++i) {
    OperatorTime& time = times[name_of(i)];
    ++time.count;
    time.host_self_ns += found.all[i].self_ns;
    if (outermost(i)) time.host_ns += timeline.slices[found.all[i].slice].duration_ns;
  }
  std::vector<std::uint32_t> seen;
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    if (!occupies_gpu(work.kind) || links.gpu_of_track[work.track] == none) continue;
    const std::uint32_t call = links.call_of[i];
    const std::uint32_t operation = call == none ? none : found.of_call[call];
    OperatorTime& own = times[operation == none ? 0 : name_of(operation)];
    own.gpu_self_ns += work.duration_ns;
    ++own.works;
    if (operation == none) own.gpu_ns += work.duration_ns;
    seen.clear();
    for (std::uint32_t above = operation; above != none; above = found.all[above].parent) {
      const std::uint32_t name = name_of(above);
      if (std::ranges::find(seen, name) != seen.end()) continue;
      seen.push_back(name);
      times[name].gpu_ns += work.duration_ns;
    }
  }
  std::vector<OperatorTime> result;
  for (auto& [name, time] : times) {
    time.name = name;
    result.push_back(time);
  }
  std::ranges::sort(result, [&](const OperatorTime& a, const OperatorTime& b) {
    return std::tuple(-a.gpu_self_ns, -a.gpu_ns, -a.host_self_ns, a.name) <
           std::tuple(-b.gpu_self_ns, -b.gpu_ns, -b.host_self_ns, b.name);
  });
  return result;
}

std::vector<OperatorCall> operator_calls(const Timeline& timeline) {
  const Links links = link(timeline);
  const Operators found = operators(timeline, links);
  std::vector<OperatorCall> calls(found.all.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    if (!occupies_gpu(work.kind) || links.gpu_of_track[work.track] == none || links.call_of[i] == none) continue;
    const std::uint32_t operation = found.of_call[links.call_of[i]];
    if (operation == none) continue;
    OperatorCall& call = calls[operation];
    if (call.works++ == 0) call.device = timeline.tracks[work.track].device;
    call.gpu_ns += work.duration_ns;
    if (work.kind != SliceKind::kernel) continue;
    ++call.kernels;
    if (work.detail < 0) continue;
    const auto& grid = timeline.shapes[static_cast<std::size_t>(work.detail)].grid;
    call.blocks += std::int64_t{grid[0]} * grid[1] * grid[2];
  }
  std::vector<OperatorCall> result;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].works == 0) continue;
    calls[i].slice = found.all[i].slice;
    result.push_back(calls[i]);
  }
  return result;
}

namespace {

struct Input {
  std::vector<double> extents;
  std::string type;
  double bytes_each = 0.0;  ///< 0 for what is no tensor

  [[nodiscard]] double elements() const {
    double product = 1.0;
    for (const double extent : extents) product *= extent;
    return product;
  }
  [[nodiscard]] double bytes() const { return elements() * bytes_each; }
};

double bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, double> sizes[] = {{"float", 4},
                                                           {"double", 8},
                                                           {"c10::Half", 2},
                                                           {"c10::BFloat16", 2},
                                                           {"int", 4},
                                                           {"long int", 8},
                                                           {"long", 8},
                                                           {"short int", 2},
                                                           {"signed char", 1},
                                                           {"unsigned char", 1},
                                                           {"bool", 1},
                                                           {"c10::Float8_e4m3fn", 1},
                                                           {"c10::Float8_e5m2", 1}};
  const auto found = std::ranges::find(sizes, type, &std::pair<std::string_view, double>::first);
  return found == std::end(sizes) ? 0.0 : found->second;
}

/// None where the text is not as expected.
std::vector<Input> inputs_in(std::string_view text) {
  std::size_t depth = 0, split = 0;
  for (std::size_t i = 0; i < text.size() && split == 0; ++i) {
    depth += text[i] == '[' ? 1 : 0;
    if (text[i] == ']' && depth > 0 && --depth == 0) split = i + 1;
  }
  const auto shapes = nlohmann::json::parse(text.substr(0, split), nullptr, false);
  const auto types = nlohmann::json::parse(text.substr(split), nullptr, false);
  if (!shapes.is_array() || !types.is_array() || shapes.size() != types.size()) return {};
  std::vector<Input> inputs(shapes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!types[i].is_string() || !shapes[i].is_array()) continue;
    inputs[i].type = types[i].get<std::string>();
    inputs[i].bytes_each = bytes_of_type(inputs[i].type);
    for (const auto& extent : shapes[i]) {
      if (!extent.is_number() || !(extent.get<double>() >= 0.0) || !(extent.get<double>() < 1e15)) return {};
      inputs[i].extents.push_back(extent.get<double>());
    }
  }
  return inputs;
}

}  // namespace

std::optional<OperatorWork> operator_work(std::string_view name, std::string_view text) {
  // The first of its two matrices among the inputs; what is added comes before.
  constexpr std::pair<std::string_view, std::size_t> products[] = {
      {"aten::mm", 0}, {"aten::addmm", 1}, {"aten::bmm", 0}, {"aten::baddbmm", 1}};
  constexpr std::string_view elementwise[] = {"aten::add",
                                              "aten::sub",
                                              "aten::mul",
                                              "aten::div",
                                              "aten::neg",
                                              "aten::exp",
                                              "aten::sqrt",
                                              "aten::relu",
                                              "aten::gelu",
                                              "aten::silu",
                                              "aten::sigmoid",
                                              "aten::tanh",
                                              "aten::threshold_backward",
                                              "aten::gelu_backward",
                                              "aten::silu_backward"};
  constexpr std::string_view counted[] = {"aten::add", "aten::sub", "aten::mul", "aten::div"};
  const std::vector<Input> inputs = inputs_in(text);
  OperatorWork work;
  if (const auto product = std::ranges::find(products, name, &std::pair<std::string_view, std::size_t>::first);
      product != std::end(products)) {
    const std::size_t first = product->second;
    if (inputs.size() < first + 2) return std::nullopt;
    const Input &a = inputs[first], &b = inputs[first + 1];
    const std::size_t n = a.extents.size();
    if (n < 2 || b.extents.size() != n || a.bytes_each == 0.0 || a.type != b.type) return std::nullopt;
    if (a.extents[n - 1] != b.extents[n - 2]) return std::nullopt;
    const double written = a.elements() / a.extents[n - 1] * b.extents[n - 1];
    if (!(a.extents[n - 1] > 0.0)) return std::nullopt;
    work = {2.0 * a.elements() * b.extents[n - 1], a.bytes() + b.bytes(), written * a.bytes_each, true, a.type};
    if (first == 1) work.bytes_read += inputs[0].bytes();
    return work;
  }
  if (inputs.empty() || inputs[0].bytes_each == 0.0 || inputs[0].extents.empty()) return std::nullopt;
  work.type = inputs[0].type;
  if (name == "aten::copy_") {
    if (inputs.size() < 2 || inputs[1].bytes_each == 0.0) return std::nullopt;
    work.bytes_read = inputs[1].bytes();
    work.bytes_written = inputs[0].bytes();
    return work;
  }
  if (name == "aten::sum" || name == "aten::mean") {
    work.flops = inputs[0].elements();
    work.bytes_read = inputs[0].bytes();
    return work;
  }
  const std::string_view plain = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  if (std::ranges::find(elementwise, plain) == std::end(elementwise)) return std::nullopt;
  double elements = 0.0;
  for (const Input& input : inputs) {
    if (input.bytes_each == 0.0 || input.extents.empty()) continue;
    work.bytes_read += input.bytes();
    elements = std::max(elements, input.elements());
  }
  work.bytes_written = elements * inputs[0].bytes_each;
  if (std::ranges::find(counted, plain) != std::end(counted)) work.flops = elements;
  return work;
}

}  // namespace gpubench::traces
