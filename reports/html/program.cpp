// SPDX-License-Identifier: Apache-2.0
// The section of a profiled program.
#include "reports/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/charts/rows.h"
#include "reports/html/page.h"
#include "reports/shared_text.h"

namespace gpubench::reports::sections {
namespace {

using markup::CaptionedTable;
using markup::escape;
using markup::render;

constexpr std::size_t kernels_at_a_glance = 20;
constexpr std::size_t shown_kernels = 300;
constexpr std::size_t shown_ranges = 1000;
constexpr std::size_t shown_gpus = 16;

struct Part {
  std::string_view look;  ///< class of its colour
  std::string text;
  double seconds = 0.0;
};

/// Compute, then what is not under it, then idle time by cause: together the wall time.
std::vector<Part> parts_of(const GpuTime& gpu) {
  const double beside = std::max(gpu.busy_seconds - gpu.compute_seconds, 0.0);
  const double memory = std::clamp(gpu.memory_seconds - gpu.memory_overlap_seconds, 0.0, beside);
  std::vector<Part> parts = {{"compute", "compute", gpu.compute_seconds},
                             {"memory", "copies and fills, not during kernels", memory},
                             {"latency", "communication, not during kernels", beside - memory}};
  for (const Idle& idle : gpu.idle)
    parts.push_back({name_of(idle.cause), fmt::format("idle: {}", text_of(idle.cause)), idle.seconds});
  std::erase_if(parts, [&](const Part& part) { return part.seconds <= 1e-9 * gpu.wall_seconds; });
  return parts;
}

std::string gpu_card(const GpuTime& gpu) {
  std::string bar, legend;
  for (const Part& part : parts_of(gpu)) {
    const std::string share = format_percent(part.seconds / gpu.wall_seconds);
    bar += fmt::format("<span class=\"part-{}\" style=\"flex-grow:{:.6f}\" title=\"{}: {}\"></span>", part.look,
                       part.seconds / gpu.wall_seconds, escape(part.text), share);
    legend += fmt::format("<div><dt><i class=\"part-{}\"></i>{}</dt><dd>{} <small>{}</small></dd></div>", part.look,
                          escape(part.text), share, format_seconds(part.seconds));
  }
  std::string facts = fmt::format("{} launches", format_count(static_cast<double>(gpu.launches)));
  if (gpu.launch_call_seconds) facts += fmt::format(", {} a call", format_seconds(*gpu.launch_call_seconds));
  if (gpu.launch_period_seconds) facts += fmt::format(", one every {}", format_seconds(*gpu.launch_period_seconds));
  return fmt::format(
      "<section class=\"card time\"><h3>{}</h3><p>{}; {}. {}.</p><div class=\"bar\" aria-hidden=\"true\">{}</div>"
      "<dl class=\"parts\">{}</dl></section>\n",
      escape(name_of(gpu)), escape(busy_text(gpu)), escape(idle_text(gpu)), escape(facts), bar, legend);
}

std::string kernel_row(const Run& run, const ProgramRow& row) {
  const ProgramKernel& kernel = *row.kernel;
  const Verdict* const verdict = row.point != nullptr && row.point->verdict ? &*row.point->verdict : nullptr;
  const auto mean = mean_seconds(kernel);
  std::string name = escape(row.name);
  if (row.point != nullptr)
    name =
        fmt::format("<a href=\"#p{}\" title=\"{}\">{}</a>", row.point - run.points.data(), escape(kernel.point), name);
  const auto cell = [](const std::string& text) { return "<td class=\"number\">" + escape(text) + "</td>"; };
  if (!row.differs.empty()) name += fmt::format(" <small>{}</small>", escape(row.differs));
  std::string html = fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td>", name, escape(kernel.range));
  html += cell(format_count(static_cast<double>(kernel.launches))) + cell(format_seconds(kernel.total_seconds)) +
          cell(format_percent(kernel.share)) + cell(mean ? format_seconds(*mean) : "") +
          cell(format_seconds(kernel.p50_seconds)) + cell(format_seconds(kernel.p95_seconds));
  if (verdict == nullptr) return html + "<td></td><td></td><td></td><td></td></tr>\n";
  html += "<td class=\"number\">";
  if (verdict->achieved)
    html += fmt::format("<span class=\"meter\"><i class=\"{}\" style=\"width:{:.1f}%\"></i></span>{}",
                        gpubench::name_of(verdict->regime), 100.0 * std::clamp(*verdict->achieved, 0.0, 1.0),
                        format_percent(*verdict->achieved));
  const std::string_view regime = gpubench::name_of(verdict->regime);
  return html +
         fmt::format(
             "</td><td><span class=\"regime\"><svg class=\"sign {0}\" viewBox=\"0 0 16 16\" "
             "aria-hidden=\"true\"><use href=\"#sign-{0}\"/></svg>{0}</span></td><td>{1}</td><td>{2}</td></tr>\n",
             regime, escape(label_of(verdict->limiter)), gpubench::name_of(verdict->certainty));
}

std::string kernel_table(const Run& run, std::span<const ProgramRow> rows) {
  std::string html =
      "<div class=\"scroll kernels\" role=\"region\" tabindex=\"0\" aria-label=\"Kernels\"><table><caption>Launches "
      "of one function with one shape in one range, by their time in all. A name leads to all that is known.</caption>"
      "<thead><tr>";
  for (const char* const title : {"kernel", "range"}) html += fmt::format("<th scope=\"col\">{}</th>", title);
  for (const char* const title : {"launches", "total", "share", "mean", "p50", "p95", "of max"})
    html += fmt::format("<th scope=\"col\" class=\"number\">{}</th>", title);
  for (const char* const title : {"regime", "limiter", "certainty"})
    html += fmt::format("<th scope=\"col\">{}</th>", title);
  html += "</tr></thead><tbody>\n";
  for (const ProgramRow& row : rows) html += kernel_row(run, row);
  return html + "</tbody></table></div>\n";
}

std::string kernels(const Run& run) {
  const auto rows = program_rows(run);
  if (rows.empty()) return "<p class=\"empty\">No kernel was recorded.</p>\n";
  const std::span all(rows);
  std::string html = kernel_table(run, all.first(std::min(rows.size(), kernels_at_a_glance)));
  if (rows.size() <= kernels_at_a_glance) return html;
  const std::size_t end = std::min(rows.size(), shown_kernels);
  html += fmt::format("<details class=\"folded\"><summary>{} more kernels</summary>{}</details>\n",
                      end - kernels_at_a_glance,
                      kernel_table(run, all.subspan(kernels_at_a_glance, end - kernels_at_a_glance)));
  if (rows.size() > end)
    html += fmt::format("<p class=\"empty\">{} more stand in the table of all points.</p>\n", rows.size() - end);
  return html;
}

std::string overview(const Program& program) {
  if (program.overview.empty()) return {};
  std::string legend;
  for (const auto& [kind, text] : {std::pair{"compute", "kernel"}, std::pair{"memory", "copy or fill"},
                                   std::pair{"communication", "communication"}, std::pair{"launch", "launch"},
                                   std::pair{"wait", "wait"}, std::pair{"range", "range"}})
    legend += fmt::format("<span><i class=\"work-{}\"></i>{}</span>", kind, text);
  return fmt::format(
      "<figure class=\"card look\" id=\"timeline\"><figcaption><h3>Timeline</h3><p>Drag over a stretch to look "
      "closer; "
      "with the timeline in focus the wheel zooms, arrows move, + and - zoom, 0 shows all.</p></figcaption>"
      "<div class=\"controls\"><div class=\"step\"><button type=\"button\" data-zoom=\"in\">Closer</button><button "
      "type=\"button\" data-zoom=\"out\">Wider</button><button type=\"button\" data-zoom=\"all\">All</button></div>"
      "<div class=\"legend\">{}</div></div><canvas tabindex=\"0\" role=\"img\" aria-label=\"Timeline of {} tracks over "
      "{}\"></canvas></figure>\n",
      legend, program.overview.size(), format_seconds(program.wall_seconds));
}

/// Live bytes as steps: nothing to compute in the page.
std::string memory_curve(const Program& program, const ProgramMemory& memory) {
  if (memory.curve_seconds.empty() || memory.peak_bytes <= 0 || program.wall_seconds <= 0.0) return {};
  constexpr double width = 1000.0, height = 120.0;
  const auto x = [&](double seconds) { return width * std::clamp(seconds / program.wall_seconds, 0.0, 1.0); };
  const auto y = [&](std::int64_t bytes) {
    return height * (1.0 - std::clamp(static_cast<double>(bytes) / static_cast<double>(memory.peak_bytes), 0.0, 1.0));
  };
  std::string path = fmt::format("M{:.1f} {:.1f}", x(memory.curve_seconds.front()), height);
  for (std::size_t i = 0; i < memory.curve_seconds.size(); ++i)
    path += fmt::format("H{:.1f}V{:.1f}", x(memory.curve_seconds[i]), y(memory.curve_bytes[i]));
  path += fmt::format("H{:.1f}V{:.1f}Z", width, height);
  return fmt::format(
      "<figure class=\"card look live\"><figcaption><h3>Memory: {0}</h3><p>{1}</p></figcaption><div class=\"axis\">"
      "<span>{2}</span><span>0</span></div><svg viewBox=\"0 0 1000 120\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"Live bytes over time: {1}\"><path d=\"{3}\"/></svg><div class=\"axis across\"><span>0 s</span>"
      "<span>{4}</span></div></figure>\n",
      escape(name_of(memory)), escape(memory_text(memory)), format_bytes(static_cast<double>(memory.peak_bytes)), path,
      format_seconds(program.wall_seconds));
}

/// Nested <details>, a row each; the outermost are open.
std::string ranges(const Program& program) {
  if (program.ranges.empty()) return {};
  const std::size_t shown = std::min(program.ranges.size(), shown_ranges);
  std::string html =
      "<div class=\"scroll tree\" role=\"region\" tabindex=\"0\" aria-label=\"Ranges\"><p>Ranges that the program "
      "names. Kernel time is that of the kernels launched in them.</p><div class=\"row head\"><span>range</span>"
      "<span>times</span><span>host</span><span>kernels</span><span>own</span><span>launches</span><span>memory "
      "peak</span></div>\n";
  std::int64_t open = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const ProgramRange& range = program.ranges[i];
    for (; open > range.depth; --open) html += "</details>";
    const bool has_children = i + 1 < shown && program.ranges[i + 1].depth > range.depth;
    // A path is that of the node around it, a slash and a name, which may hold slashes itself.
    std::size_t cut = 0;
    for (std::size_t k = i; range.depth > 0 && k-- > 0;)
      if (program.ranges[k].depth < range.depth) {
        cut = std::min(program.ranges[k].path.size() + 1, range.path.size());
        break;
      }
    std::string name = range.path.substr(cut);
    if (range.depth == 0 && !range.process.empty()) name += ", " + range.process;
    const std::string row = fmt::format(
        "<span style=\"padding-left:{}rem\">{}</span><span>{}</span><span>{}</span><span>{}</span><span>{}</span><span>"
        "{}</span><span>{}</span>",
        1.1 * static_cast<double>(std::min<std::int64_t>(range.depth, 20)), escape(name),
        format_count(static_cast<double>(range.count)), format_seconds(range.host_seconds),
        format_seconds(range.kernel_seconds), format_seconds(range.own_kernel_seconds),
        format_count(static_cast<double>(range.launches)),
        range.allocations == 0 ? "" : format_bytes(static_cast<double>(range.peak_bytes)));
    if (!has_children) {
      html += "<div class=\"row\">" + row + "</div>\n";
      continue;
    }
    html += fmt::format("<details{}><summary class=\"row\">{}</summary>\n", range.depth == 0 ? " open" : "", row);
    ++open;
  }
  for (; open > 0; --open) html += "</details>";
  if (program.ranges.size() > shown)
    html += fmt::format("<p>{} more stand in the run's JSON.</p>", program.ranges.size() - shown);
  return html + "</div>\n";
}

std::string tables(const Program& program) {
  CaptionedTable left{
      "Memory that was never given back", {{"taken by"}, {"kind"}, {"allocations", true}, {"bytes", true}}, {}};
  for (const NeverFreed& one : program.never_freed)
    left.rows.push_back({one.source.empty() ? "not known" : one.source, one.kind,
                         format_count(static_cast<double>(one.allocations)),
                         format_bytes(static_cast<double>(one.bytes))});
  CaptionedTable cost{
      "What the recording itself cost", {{"what"}, {"times", true}, {"each", true}, {"in all", true}}, {}};
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
  std::string html = fmt::format(
      "<section id=\"program\" aria-labelledby=\"program-title\">\n<h2 id=\"program-title\">The program</h2>\n<p "
      "class=\"ran\"><code>{}</code> {}.</p>\n<div class=\"times\">",
      escape(joined(program.command, " ")), escape(ran_text(program)));
  for (std::size_t i = 0; i < std::min(program.gpus.size(), shown_gpus); ++i) html += gpu_card(program.gpus[i]);
  html += "</div>\n";
  if (program.gpus.size() > shown_gpus)
    html +=
        fmt::format("<p class=\"empty\">{} more GPUs stand in the run's JSON.</p>\n", program.gpus.size() - shown_gpus);
  if (program.gpus.empty()) html += "<p class=\"empty\">No work on a GPU was recorded.</p>\n";
  if (!program.counters_reason.empty())
    html += fmt::format("<p class=\"notice\"><strong>{}:</strong> {}</p>\n",
                        program.counted_launches > 0 ? "Counters" : "No counters", escape(program.counters_reason));
  html += kernels(run) + overview(program);
  for (const ProgramMemory& memory : shown_memory(program)) html += memory_curve(program, memory);
  return html + ranges(program) + tables(program) + "</section>\n";
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
