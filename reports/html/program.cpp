// SPDX-License-Identifier: Apache-2.0
// The section of a profiled program.
#include "reports/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "reports/charts/rows.h"
#include "reports/html/markup.h"
#include "reports/html/sections.h"

namespace gpubench::reports::sections {
namespace {

using markup::CaptionedTable;
using markup::render;
using nlohmann::json;

constexpr std::size_t kernels_at_a_glance = 20;
constexpr std::size_t shown_kernels = 300;
constexpr std::size_t shown_ranges = 1000;
constexpr std::size_t shown_gpus = 16;

/// How many are not shown; empty for none.
std::string text_of_rest(std::size_t all, std::size_t shown) { return all > shown ? fmt::to_string(all - shown) : ""; }

struct Part {
  std::string_view look;  ///< class of its colour
  std::string text;
  double seconds = 0.0;
};

/// Compute, then what is not under it, then idle time by cause: together the wall time without the recording.
std::vector<Part> parts_of(const GpuTime& gpu) {
  const double beside = std::max(gpu.busy_seconds - gpu.compute_seconds, 0.0);
  const double memory = std::clamp(gpu.memory_seconds - gpu.memory_overlap_seconds, 0.0, beside);
  std::vector<Part> parts = {{"compute", "compute", gpu.compute_seconds},
                             {"memory", "copies and fills, not during kernels", memory},
                             {"latency", "communication, not during kernels", beside - memory}};
  for (const Idle& idle : gpu.idle)
    if (idle.cause != IdleCause::recording)
      parts.push_back({name_of(idle.cause), fmt::format("idle: {}", text_of(idle.cause)), idle.seconds});
  std::erase_if(parts, [&](const Part& part) { return part.seconds <= 1e-9 * gpu.wall_seconds; });
  return parts;
}

/// A bar of parts of a whole, and what they are.
std::string card(const std::string& name, const std::string& what, const std::vector<Part>& of, double whole) {
  json parts = json::array();
  for (const Part& part : of)
    parts.push_back({{"look", part.look},
                     {"text", part.text},
                     {"part", fmt::format("{:.6f}", part.seconds / whole)},
                     {"share", format_percent(part.seconds / whole)},
                     {"time", format_seconds(part.seconds)}});
  return markup::part("card", {{"name", name}, {"what", what}, {"parts", std::move(parts)}});
}

std::string gpu_card(const GpuTime& gpu) {
  const double wall = undisturbed_seconds(gpu);
  std::string facts =
      fmt::format("{} launch{}", format_count(static_cast<double>(gpu.launches)), gpu.launches == 1 ? "" : "es");
  if (gpu.launch_call_seconds) facts += fmt::format(", {} a call", format_seconds(*gpu.launch_call_seconds));
  if (gpu.launch_period_seconds) facts += fmt::format(", one every {}", format_seconds(*gpu.launch_period_seconds));
  return card(name_of(gpu),
              fmt::format("{} busy of {}. {}.", format_percent(gpu.busy_seconds / wall), wall_text(gpu), facts),
              parts_of(gpu), wall);
}

/// The phases of each process as a strip.
std::string phase_cards(const Program& program) {
  std::string html;
  for (std::size_t i = 0; i < program.phases.size();) {
    std::vector<Part> parts;
    double whole = 0.0;
    const std::string& process = program.phases[i].process;
    for (; i < program.phases.size() && program.phases[i].process == process; ++i) {
      const ProgramPhase& phase = program.phases[i];
      whole += phase.seconds;
      parts.push_back({name_of(phase.kind),
                       phase.steps > 0 ? fmt::format("{}, {}", text_of(phase.kind), plural(phase.steps, "step"))
                                       : std::string(text_of(phase.kind)),
                       phase.seconds});
    }
    html += card(process.empty() ? "Phases" : "Phases of " + process, steady_text(program), parts, whole);
  }
  return html;
}

std::string step_card(const StepTime& step) {
  std::vector<Part> parts;
  for (const StepPart& part : step.parts) {
    std::string text(text_of(part.kind));
    if (part.kind == StepPartKind::above_roof) text += ": " + (part.name.empty() ? "others" : part.name);
    parts.push_back({name_of(part.kind), std::move(text), part.seconds});
  }
  return card("A step of " + name_of(step),
              fmt::format("{} ({}) of {}. {}", plural(step.steps, "step"), step.by, format_seconds(step.seconds),
                          joined(step_notes(step), " ")),
              parts, step.seconds);
}

std::string kernel_table(const Run& run, std::span<const ProgramRow> rows) {
  CaptionedTable table{
      "Launches of one function with one shape in one range, by their time in all. A name leads to all that is known.",
      headings("kernel*; launches>-; total>; share>*; mean>-; p50>-; p95>-; of ceiling>*; regime*; limiter; "
               "certainty-")};
  for (const ProgramRow& row : rows) {
    const ProgramKernel& kernel = *row.kernel;
    const Verdict* const verdict = row.point != nullptr && row.point->verdict ? &*row.point->verdict : nullptr;
    const auto mean = mean_seconds(kernel);
    std::string name = markup::escape(row.name);
    constexpr std::string_view may_break = "<wbr>";
    for (auto at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1 + may_break.size()))
      name.insert(at + 1, may_break);
    if (row.point != nullptr)
      name = fmt::format("<a href=\"#p{}\" title=\"{}\">{}</a>", row.point - run.points.data(),
                         markup::escape(kernel.point), name);
    std::string further = row.differs;
    if (!kernel.range.empty() && !contains(further, "in "))
      further += (further.empty() ? "in " : ", in ") + kernel.range;
    if (!further.empty()) name += fmt::format(" <small>{}</small>", markup::escape(further));
    auto& cells = table.rows.emplace_back(std::vector<std::string>{
        std::move(name), format_count(static_cast<double>(kernel.launches)), format_seconds(kernel.total_seconds),
        meter(verdict == nullptr ? "unknown" : gpubench::name_of(verdict->regime), kernel.share),
        mean ? format_seconds(*mean) : "", format_seconds(kernel.p50_seconds), format_seconds(kernel.p95_seconds)});
    if (verdict == nullptr) continue;
    const std::string_view regime = gpubench::name_of(verdict->regime);
    cells.push_back(verdict->achieved ? meter(regime, *verdict->achieved) : "");
    cells.push_back(sections::regime(regime));
    cells.emplace_back(label_of(verdict->limiter));
    cells.emplace_back(gpubench::name_of(verdict->certainty));
  }
  return render(table);
}

std::string kernels(const Run& run) {
  const auto rows = program_rows(run);
  if (rows.empty()) return "<p class=\"empty\">No kernel was recorded.</p>\n";
  const std::span all(rows);
  const std::size_t first = std::min(rows.size(), kernels_at_a_glance), end = std::min(rows.size(), shown_kernels);
  std::string html = kernel_table(run, all.first(first));
  if (end > first)
    html += markup::part("folded", {{"summary", fmt::format("{} more kernels", end - first)},
                                    {"html", kernel_table(run, all.subspan(first, end - first))}});
  if (rows.size() > end)
    html += fmt::format("<p class=\"empty\">{} more stand in the table of all points.</p>\n", rows.size() - end);
  return html;
}

bool has_flops(const Point& point) { return shown_work(point.measurement).total_flops() > 0.0; }

/// Live bytes as steps: nothing to compute in the page. Null where there is nothing to show.
json memory_curve(const Program& program, const ProgramMemory& memory) {
  if (memory.curve_seconds.empty() || memory.peak_bytes <= 0 || program.wall_seconds <= 0.0) return nullptr;
  constexpr double width = 1000.0, height = 120.0;
  const auto x = [&](double seconds) { return width * std::clamp(seconds / program.wall_seconds, 0.0, 1.0); };
  const auto y = [&](std::int64_t bytes) {
    return height * (1.0 - std::clamp(static_cast<double>(bytes) / static_cast<double>(memory.peak_bytes), 0.0, 1.0));
  };
  std::string path = fmt::format("M{:.1f} {:.1f}", x(memory.curve_seconds.front()), height);
  for (std::size_t i = 0; i < memory.curve_seconds.size(); ++i)
    path += fmt::format("H{:.1f}V{:.1f}", x(memory.curve_seconds[i]), y(memory.curve_bytes[i]));
  return {{"name", name_of(memory)},
          {"text", memory_text(memory)},
          {"peak", format_bytes(static_cast<double>(memory.peak_bytes))},
          {"path", path + fmt::format("H{:.1f}V{:.1f}Z", width, height)},
          {"wall", format_seconds(program.wall_seconds)}};
}

/// Indented by depth.
std::string ranges(const Program& program) {
  CaptionedTable table{"Ranges that the program names. Kernel time is that of the kernels launched in them.",
                       headings("range; times>; host>; kernels>; own>; launches>; memory peak>")};
  const std::size_t shown = std::min(program.ranges.size(), shown_ranges);
  for (std::size_t i = 0; i < shown; ++i) {
    const ProgramRange& range = program.ranges[i];
    // A path is that of the node around it, a slash and a name, which may hold slashes itself.
    std::size_t cut = 0;
    for (std::size_t k = i; range.depth > 0 && cut == 0 && k-- > 0;)
      if (program.ranges[k].depth < range.depth) cut = std::min(program.ranges[k].path.size() + 1, range.path.size());
    std::string name;
    for (std::int64_t depth = 0; depth < std::min<std::int64_t>(range.depth, 20); ++depth) name += "\u2003";
    name += range.path.substr(cut) + (range.depth == 0 && !range.process.empty() ? ", " + range.process : "");
    table.rows.push_back({name, format_count(static_cast<double>(range.count)), format_seconds(range.host_seconds),
                          format_seconds(range.kernel_seconds), format_seconds(range.own_kernel_seconds),
                          format_count(static_cast<double>(range.launches)),
                          range.allocations == 0 ? "" : format_bytes(static_cast<double>(range.peak_bytes))});
  }
  const std::string rest = text_of_rest(program.ranges.size(), shown);
  return render(table) + (rest.empty() ? "" : "<p class=\"empty\">" + rest + " more stand in the run's JSON.</p>\n");
}

std::string tables(const Program& program) {
  CaptionedTable left{"Memory that was never given back", headings("taken by; kind; allocations>; bytes>")};
  for (const NeverFreed& one : program.never_freed)
    left.rows.push_back({one.source.empty() ? "not known" : one.source, one.kind,
                         format_count(static_cast<double>(one.allocations)),
                         format_bytes(static_cast<double>(one.bytes))});
  CaptionedTable cost{"What the recording itself cost", headings("what; times>; each>; in all>")};
  for (const SelfCost& one : program.self_cost)
    cost.rows.push_back({one.what, format_count(static_cast<double>(one.count)),
                         one.seconds_each ? format_seconds(*one.seconds_each) : "not measured",
                         one.seconds_each ? format_seconds(*one.seconds_each * static_cast<double>(one.count)) : ""});
  return render(left) + render(cost);
}

}  // namespace

std::string program(const Run& run) {
  if (!run.program) return {};
  const Program& program = *run.program;
  std::string cards;
  for (std::size_t i = 0; i < std::min(program.steps.size(), shown_gpus); ++i) cards += step_card(program.steps[i]);
  for (std::size_t i = 0; i < std::min(program.gpus.size(), shown_gpus); ++i) cards += gpu_card(program.gpus[i]);
  json memories = json::array();
  for (const ProgramMemory& memory : shown_memory(program))
    if (json curve = memory_curve(program, memory); !curve.is_null()) memories.push_back(std::move(curve));
  return markup::part("program",
                      {{"command", joined(program.command, " ")},
                       {"ran", ran_text(program)},
                       {"phases", phase_cards(program)},
                       {"of", program.phases.empty() ? steady_text(program) : ""},
                       {"cards", std::move(cards)},
                       {"no_gpus", program.gpus.empty()},
                       {"more_gpus", text_of_rest(program.gpus.size(), shown_gpus)},
                       {"no_counters", program.counters_reason},
                       {"counters_title", program.counted_launches > 0 ? "Counters" : "No counters"},
                       {"kernels", kernels(run)},
                       {"no_roofline", program.counted_launches > 0 && std::ranges::none_of(run.points, has_flops)},
                       {"timeline", !program.overview.empty()},
                       {"tracks", program.overview.size()},
                       {"wall", format_seconds(program.wall_seconds)},
                       {"memory", std::move(memories)},
                       {"ranges", ranges(program)},
                       {"tables", tables(program)}});
}

nlohmann::json overview_data(const Program& program) {
  auto tracks = nlohmann::json::array();
  for (const ProgramTrack& track : program.overview) {
    auto starts = nlohmann::json::array(), lengths = nlohmann::json::array(), kinds = nlohmann::json::array();
    for (const double seconds : track.starts_seconds) starts.push_back(charts::rounded(seconds));
    for (const double seconds : track.lengths_seconds) lengths.push_back(charts::rounded(seconds));
    for (const WorkKind kind : track.kinds) kinds.push_back(static_cast<int>(kind));
    tracks.push_back({{"name", printable(track.name)},
                      {"starts", std::move(starts)},
                      {"lengths", std::move(lengths)},
                      {"kinds", std::move(kinds)},
                      {"names", track.names}});
  }
  auto names = nlohmann::json::array();
  for (const std::string& name : program.overview_names) names.push_back(printable(name));
  return {{"wall", program.wall_seconds},
          {"tracks", std::move(tracks)},
          {"names", std::move(names)},
          {"kinds", work_kind_names}};
}

}  // namespace gpubench::reports::sections
