// SPDX-License-Identifier: Apache-2.0
// Pages of timelines: bars over time, flame graphs, the difference of two.
#include "reports/timelines.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/base64.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/charts/flame.h"
#include "reports/charts/picture.h"
#include "reports/charts/rows.h"
#include "reports/html/markup.h"
#include "reports/html/page.h"
#include "reports/result_table.h"
#include "timeline/rows.h"

namespace gpubench::reports {
namespace {

using markup::escape;

constexpr std::size_t max_frames = 20'000;  // of a page: beyond, Vega takes a second for each step
constexpr std::size_t max_frames_of_picture = 4'000;

std::string packed(std::string_view bytes) {
  z_stream stream = {};
  constexpr int with_gzip_header = 15 + 16;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, with_gzip_header, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib cannot pack the page's data: it gave no memory");
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int state = deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("zlib cannot pack the page's data");
  return result;
}

/// Whole numbers in groups of seven bits, the lowest first; the last group has no eighth bit.
class Numbers {
 public:
  void put(std::uint64_t number) {
    for (; number >= 128; number >>= 7) bytes_ += static_cast<char>(number | 128);
    bytes_ += static_cast<char>(number);
  }
  void put_signed(std::int64_t number) {
    put(number < 0 ? 2 * static_cast<std::uint64_t>(-(number + 1)) + 1 : 2 * static_cast<std::uint64_t>(number));
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct Part {
  std::string id;
  std::string_view type;
  std::string text;
};

/// Scripts that run on the page, with the hashes that let them.
struct Scripts {
  std::vector<std::pair<std::string_view, std::string_view>> own;
  bool draws_charts = false;
  std::string_view further_policy = {};
};

std::string page_of(const AboutTrace& about, const std::string& summary, const std::string& notices,
                    const std::string& body, const std::vector<Part>& data, const Scripts& scripts) {
  std::string hashes, code, parts;
  for (const auto& [text, hash] : scripts.own) {
    hashes += fmt::format(" '{}'", hash);
    code += markup::script(text);
  }
  for (const Part& part : data)
    parts += fmt::format("<script type=\"{}\" id=\"{}\">{}</script>\n", part.type, part.id, part.text);
  if (scripts.draws_charts) {
    hashes += page::vega_sources();
    code = page::vega_scripts() + code;
  }
  std::string warnings = notices;
  for (const std::string& warning : about.warnings)
    warnings += fmt::format("<p class=\"notice warn\">{}</p>\n", escape(warning));
  return markup::fill(page::look(), {{"policy", page::policy(hashes) + std::string(scripts.further_policy)},
                                     {"style", std::string(page::style())},
                                     {"title", escape(about.title)},
                                     {"version", escape(about.version)},
                                     {"summary", escape(summary)},
                                     {"notices", warnings},
                                     {"body", body},
                                     {"credits", scripts.draws_charts ? " Drawn by Vega (BSD-3-Clause, University of "
                                                                        "Washington Interactive Data Lab)."
                                                                      : ""},
                                     {"data", parts},
                                     {"scripts", code}});
}

std::string legend_of_kinds() {
  std::string html;
  for (const auto& [look, text] :
       {std::pair{"compute", "kernel"}, std::pair{"memory", "copy or fill"},
        std::pair{"communication", "communication"}, std::pair{"launch", "launch or call"}, std::pair{"wait", "wait"},
        std::pair{"range", "range"}, std::pair{"other", "annotations and other work"}})
    html += fmt::format("<span><i class=\"work-{}\"></i>{}</span>", look, text);
  return html;
}

std::string names_table(std::initializer_list<std::string_view> columns, std::string_view caption) {
  std::string html = fmt::format(
      "<div class=\"scroll names\" role=\"region\" tabindex=\"0\" aria-label=\"Names\"><table><caption>{}</caption>"
      "<thead><tr><th scope=\"col\">name</th>",
      caption);
  for (const std::string_view column : columns)
    html += fmt::format("<th scope=\"col\"{}>{}</th>", column == "kind" ? "" : " class=\"number\"", column);
  return html + "</tr></thead><tbody id=\"names\"></tbody></table></div>\n";
}

std::string plural_of(std::size_t number, std::string_view one) {
  return fmt::format("{} {}{}", format_count(static_cast<double>(number)), one, number == 1 ? "" : "s");
}

std::string seconds_text(std::int64_t nanoseconds) { return format_seconds(static_cast<double>(nanoseconds) / 1e9); }

charts::Json data_of(const charts::FlameTable& table) {
  return {{"spec", charts::flame_spec(table)},
          {"parents", table.parents},
          {"names_of", table.names},
          {"names", table.texts}};
}

std::string flame_body(std::string_view what, std::string_view controls, std::string_view label) {
  return fmt::format(
      "<figure class=\"card look\" id=\"view\"><figcaption><h2>{}</h2><p>Each frame lies below the one that called it "
      "and is as wide as its time. Click a frame to see it alone. With the picture in focus arrows walk the frames, "
      "Enter "
      "shows one alone, Escape shows all.</p></figcaption><div class=\"controls\">{}<label>Search <input id=\"search\" "
      "type=\"search\" placeholder=\"name &#8230;\" autocomplete=\"off\"></label><span id=\"found\" "
      "role=\"status\"></span>"
      "<button type=\"button\" id=\"back\" hidden>Show all</button></div><p id=\"chosen\" class=\"chosen\" "
      "role=\"status\"></p><div class=\"canvas\" tabindex=\"0\" role=\"application\" "
      "aria-label=\"{}\"></div></figure>\n",
      what, controls, label);
}

std::string left_out_notice(std::size_t frames) {
  if (frames == 0) return {};
  return fmt::format(
      "<p class=\"notice\">{} with the least time are left out; their time is that of their callers.</p>\n",
      plural_of(frames, "frame"));
}

const Scripts flame_scripts = {
    {{page::script_page(), page::script_page_hash()}, {page::script_flame(), page::script_flame_hash()}}, true};

std::string picture_of(const charts::FlameTable& table, std::size_t self, const std::string& title,
                       const std::string& subtitle) {
  return draw(
      charts::flame_picture(table, self, title, subtitle).dump(-1, ' ', false, charts::Json::error_handler_t::replace),
      "svg");
}

std::string before_and_after(const timeline::FlameDiff& diff) {
  std::int64_t before = 0, after = 0;
  for (const timeline::FlameChange& node : diff.nodes) {
    before += node.base_self_ns;
    after += node.new_self_ns;
  }
  return fmt::format("{}: {} before, {} after.", timeline::title_of(diff.weight), seconds_text(before),
                     seconds_text(after));
}

}  // namespace

std::string timeline_html(const timeline::Timeline& timeline, const AboutTrace& about,
                          const std::vector<ResultTable>& tables) {
  const timeline::Rows all = timeline::rows(timeline);
  Numbers numbers;
  charts::Json rows = charts::Json::array(), names = charts::Json::array(), kinds = charts::Json::array();
  // Of each name and kind a number.
  std::vector<std::vector<std::int32_t>> number(timeline::slice_kind_names.size());
  bool is_annotation = false;  // of a GPU: on a track that is no thread
  const auto number_of = [&](const timeline::Bar& bar) {
    auto& known = number[static_cast<std::size_t>(is_annotation ? timeline::SliceKind::range : bar.kind)];
    if (known.empty()) known.assign(timeline.names.size(), -1);
    std::int32_t& place = known[bar.name];
    if (place < 0) {
      place = static_cast<std::int32_t>(names.size());
      const std::string& name = timeline.names.text(bar.name);
      names.push_back(name.empty() ? "(no name)" : printable(name));
      kinds.push_back(timeline::name_of(is_annotation ? timeline::SliceKind::range : bar.kind));
    }
    return static_cast<std::uint64_t>(place);
  };
  std::size_t tracks = 0;
  for (const timeline::BarRow& row : all.rows) {
    const std::string name = printable(row.name);
    is_annotation =
        timeline.tracks[row.track].kind == timeline::TrackKind::other &&
        std::ranges::all_of(row.bars, [](const auto& bar) { return bar.kind == timeline::SliceKind::other; });
    const bool joined = std::ranges::any_of(row.bars, [](const timeline::Bar& bar) { return bar.count > 1; });
    const bool linked = std::ranges::any_of(row.bars, [](const timeline::Bar& bar) { return bar.correlation != 0; });
    tracks += row.level == 0 ? 1 : 0;
    std::int64_t last = all.start_ns;
    for (const timeline::Bar& bar : row.bars) {
      numbers.put(static_cast<std::uint64_t>(bar.start_ns - last));
      last = bar.start_ns;
    }
    for (const timeline::Bar& bar : row.bars) numbers.put(static_cast<std::uint64_t>(bar.end_ns - bar.start_ns));
    for (const timeline::Bar& bar : row.bars) numbers.put(number_of(bar));
    if (joined) {
      for (const timeline::Bar& bar : row.bars) numbers.put(bar.count - 1);
      for (const timeline::Bar& bar : row.bars)
        numbers.put(static_cast<std::uint64_t>(std::max<std::int64_t>(bar.end_ns - bar.start_ns - bar.busy_ns, 0)));
    }
    std::int64_t correlation = 0;
    for (const timeline::Bar& bar : row.bars) {
      if (!linked) break;
      numbers.put_signed(bar.correlation - correlation);
      correlation = bar.correlation;
    }
    rows.push_back({{"label", row.level == 0 ? name : ""},
                    {"track", row.level == 0 ? name : fmt::format("{}, level {}", name, row.level + 1)},
                    {"process", timeline.tracks[row.track].process},
                    {"level", row.level},
                    {"bars", row.bars.size()},
                    {"joined", joined},
                    {"linked", linked}});
  }
  std::string notices;
  if (all.step_ns > 0)
    notices += fmt::format(
        "<p class=\"notice\">There are too many slices to show each: those that end within {} of each other are one "
        "bar, "
        "which says how many it holds.</p>\n",
        seconds_text(all.step_ns));
  if (all.left_out > 0)
    notices += fmt::format("<p class=\"notice\">{} nested too deeply to show.</p>\n",
                           plural_of(static_cast<std::size_t>(all.left_out), "slice"));
  const std::string summary = fmt::format("{} on {} over {}.", plural_of(static_cast<std::size_t>(all.slices), "slice"),
                                          plural_of(tracks, "track"), seconds_text(all.end_ns - all.start_ns));
  const std::string body = fmt::format(
      "<figure class=\"card look\" id=\"view\"><figcaption><h2>Timeline</h2><p>Drag over a stretch to look closer; "
      "click a "
      "bar to see what it is linked with.</p></figcaption><div class=\"controls\"><div class=\"step\"><button "
      "type=\"button\" data-zoom=\"in\">Closer</button><button type=\"button\" data-zoom=\"out\">Wider</button><button "
      "type=\"button\" data-zoom=\"all\">All</button></div><label>Search <input id=\"search\" type=\"search\" "
      "placeholder=\"name &#8230;\" autocomplete=\"off\"></label><div class=\"step\"><button type=\"button\" "
      "id=\"previous\" aria-label=\"Previous hit\">&#8592;</button><button type=\"button\" id=\"next\" "
      "aria-label=\"Next "
      "hit\">&#8594;</button></div><span id=\"found\" role=\"status\"></span><label>Levels <select id=\"levels\">"
      "<option value=\"1\">1</option><option value=\"4\">4</option><option value=\"8\" selected>8</option><option "
      "value=\"128\">all</option></select></label></div><div class=\"legend\">{}</div><div class=\"pane\"><div "
      "class=\"room\"><canvas tabindex=\"0\" role=\"application\" aria-label=\"Timeline. {}\" "
      "aria-describedby=\"keys\"></canvas></div></div><div id=\"chosen\" class=\"chosen\" "
      "role=\"status\"></div><details "
      "class=\"folded\"><summary>Keys</summary><p id=\"keys\">With the timeline in focus: arrows left and right move, "
      "+ "
      "and - or the wheel zoom, 0 shows all. Arrows up and down, comma and full stop select a bar; Enter shows it, L "
      "goes to what it is linked with, Escape lets go. / searches, Enter there goes from hit to hit. Alt and the wheel "
      "scroll.</p></details></figure>\n{}",
      legend_of_kinds(), escape(summary),
      names_table({"kind", "slices", "total", "mean"}, "Names by their time in all. Click one to find it."));
  const charts::Json data = {{"wall", all.end_ns - all.start_ns},
                             {"rows", std::move(rows)},
                             {"names", std::move(names)},
                             {"kinds", std::move(kinds)}};
  return page_of(about, summary, notices, html(tables) + body,
                 {{"data", "application/json", markup::script_json(data)},
                  {"bars", "text/plain", base64(packed(numbers.bytes()))}},
                 {{{page::script_page(), page::script_page_hash()},
                   {page::script_timeline(), page::script_timeline_hash()},
                   {page::script_trace(), page::script_trace_hash()}}});
}

std::string flame_html(const timeline::FlameGraph& graph, timeline::FlameWeight weight, const AboutTrace& about) {
  using timeline::FlameWeight;
  const charts::FlameTable table = charts::table_of(graph, max_frames);
  charts::Json data = data_of(table);
  std::vector<std::string> tones;
  for (const std::uint32_t tone : table.tones) tones.push_back(charts::flame_tones()[tone]);
  data.update({{"kind", "flame"},
               {"tones", std::move(tones)},
               {"self", {{"host", table.self[0]}, {"gpu", table.self[1]}}},
               {"counts", {{"all", table.counts[0]}}},
               {"weight", weight == FlameWeight::gpu ? "gpu" : "host"},
               {"titles", {{"host", "on the host"}, {"gpu", "on the GPU"}}}});
  std::string options;
  for (const auto& [one, value] : {std::pair(FlameWeight::gpu, "gpu"), std::pair(FlameWeight::host, "host")})
    options += fmt::format("<option value=\"{}\"{}>{}</option>", value, one == weight ? " selected" : "",
                           timeline::title_of(one));
  const timeline::FlameNode& root = graph.nodes.front();
  const std::string summary =
      fmt::format("{} of the GPU, {} of the host's threads, in {}.", seconds_text(root.gpu_total_ns),
                  seconds_text(root.host_total_ns), plural_of(graph.nodes.size() - 1, "frame"));
  const std::string body =
      flame_body("Flame graph", fmt::format("<label>Time <select id=\"weight\">{}</select></label>", options),
                 "Flame graph. " + escape(summary)) +
      names_table({"own time", "of all", "times"}, "Frames by the time of their own. Click a name to find it.");
  return page_of(about, summary, left_out_notice(table.left_out), body,
                 {{"data", "application/json", markup::script_json(data)}}, flame_scripts);
}

std::string flame_html(const timeline::FlameDiff& diff, const std::vector<ResultTable>& tables,
                       const AboutTrace& about) {
  const charts::FlameTable table = charts::table_of(diff, max_frames);
  charts::Json data = data_of(table);
  data.update({{"kind", "diff"},
               {"tones", charts::Json::array()},
               {"self", {{"base", table.self[0]}, {"new", table.self[1]}}},
               {"counts", {{"base", table.counts[0]}, {"new", table.counts[1]}}},
               {"weight", "new"},
               {"titles", charts::Json::object()}});
  const std::string summary = before_and_after(diff);
  const std::string body =
      flame_body("What changed, by stack", "", "Icicle graph of two traces. " + escape(summary)) +
      "<p>A frame is as wide as the longer of its times before and after. Orange frames take longer than before, blue "
      "ones less; full colour is twice the time and no time at all.</p>\n" +
      names_table({"before", "after", "change"}, "Frames by how much the time of their own changed.") +
      "<h2 id=\"changes\">What changed, by kernel and operator</h2>\n" + html(tables);
  return page_of(about, summary, left_out_notice(table.left_out), body,
                 {{"data", "application/json", markup::script_json(data)}}, flame_scripts);
}

std::string tables_html(const std::vector<ResultTable>& tables, const AboutTrace& about) {
  return page_of(about, "", "", "<div class=\"card look\" id=\"view\">\n" + html(tables) + "</div>\n", {},
                 {{{page::script_page(), page::script_page_hash()}}});
}

std::string folder_html(const std::string& folder, const std::string& version) {
  const std::string body =
      "<p id=\"state\" role=\"status\"></p><section id=\"shown\" hidden><div class=\"controls\"><h2 "
      "id=\"shown-title\"></h2>"
      "<a id=\"alone\" target=\"_blank\" rel=\"noopener\">Open alone</a><button type=\"button\" "
      "id=\"close\">Close</button></div><iframe id=\"frame\" sandbox=\"allow-scripts\" title=\"What is "
      "shown\"></iframe>"
      "<div id=\"compile\"></div></section><div class=\"controls\" id=\"view\"><label>Search <input id=\"search\" "
      "type=\"search\" placeholder=\"name &#8230;\" autocomplete=\"off\"></label></div><div id=\"lists\"></div>";
  return page_of({folder, version, {}}, "What lies in this folder, as it changes.", "", body, {},
                 {{{page::script_page(), page::script_page_hash()}, {page::script_serve(), page::script_serve_hash()}},
                  false,
                  "; connect-src 'self'; frame-src 'self'"});
}

std::string text_html(const std::string& title, const std::string& lines, const std::string& version) {
  std::string text;
  for (std::size_t from = 0; from < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', from), lines.size());
    text += escape(std::string_view(lines).substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return page_of({title, version, {}}, "", "",
                 "<div class=\"scroll\" id=\"view\" role=\"region\" tabindex=\"0\" aria-label=\"Text\"><pre>" + text +
                     "</pre></div>\n",
                 {}, {{{page::script_page(), page::script_page_hash()}}});
}

std::string flame_svg(const timeline::FlameGraph& graph, timeline::FlameWeight weight, const AboutTrace& about) {
  return picture_of(
      charts::table_of(graph, max_frames_of_picture), weight == timeline::FlameWeight::host ? 0 : 1, about.title,
      fmt::format("{}, {} in all", timeline::title_of(weight), seconds_text(graph.nodes.front().total(weight))));
}

std::string flame_svg(const timeline::FlameDiff& diff, const AboutTrace& about) {
  return picture_of(charts::table_of(diff, max_frames_of_picture), 0, about.title, before_and_after(diff));
}

}  // namespace gpubench::reports
