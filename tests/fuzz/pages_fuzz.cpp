// SPDX-License-Identifier: Apache-2.0
// What is written of any run, of two, and of any trace for people and for other programs: pages, tables, and the
// specifications of which vl-convert draws each SVG, PNG and PDF.
#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "classifier/classifier.h"
#include "core/storage/storage.h"
#include "reports/bisections.h"
#include "reports/charts/picture.h"
#include "reports/comparisons.h"
#include "tests/fuzz/written.h"
#include "timeline/analysis.h"
#include "timeline/operators/replay.h"
#include "timeline/readers.h"
#include "timeline/statistics/difference.h"
#include "timeline/views/flame.h"

namespace {

using namespace gpubench;

/// Every chart, as the specification that is drawn.
void run_pictures(std::string_view text) {
  Run run = storage::run_from_json(text, "input");
  classifier::classify(run);
  std::istringstream names(reports::known_charts());
  for (std::string name; names >> name;) try {
      require(fuzz::parsed(reports::picture(run, "chart.vl.json", reports::parse_chart(name))).is_object());
    } catch (const reports::PictureError&) {  // no data for it
    }
}

/// A run and the same one, faster and without its first point.
void comparison(std::string_view text) {
  const Run base = storage::run_from_json(text, "input");
  Run next = base;
  if (!next.points.empty()) next.points.erase(next.points.begin());
  const auto faster = [](double& seconds) { seconds *= 0.75; };
  for (Point& point : next.points)
    for (Timing& timing : point.measurement.timings) {
      std::ranges::for_each(timing.samples_seconds, faster);
      if (timing.seconds)
        for (double Summary::*const figure : {&Summary::minimum, &Summary::lower_quartile, &Summary::median,
                                              &Summary::upper_quartile, &Summary::maximum, &Summary::mean})
          faster((*timing.seconds).*figure);
    }
  for (const auto& comparison : {compare::compare({base}, {next}, {.force = true}),
                                 compare::compare({base, base, base}, {next, next, next}, {.force = true})}) {
    fuzz::plain(reports::console(comparison, {}));
    fuzz::plain(reports::markdown(comparison));
    fuzz::plain(reports::csv(comparison));
    (void)fuzz::parsed(reports::json(comparison));
    fuzz::page(reports::html(comparison, reports::join({{fuzz::hostile, base}, {"new", next}})));
  }
  const compare::Comparison all = compare::compare({base}, {next}, {.force = true});
  const reports::Commit commit{fuzz::hostile, fuzz::hostile, fuzz::hostile, fuzz::hostile};
  reports::Bisected bisected;
  bisected.good = bisected.bad = commit;
  bisected.undecided = all.only_in_base;
  bisected.notes = all.notes;
  bisected.left_out = {{commit, fuzz::hostile}};
  for (const compare::ComparedPoint& point : all.points) {
    if (bisected.changes.size() == 8) break;
    bisected.changes.push_back({point.name, point.device, {commit}, 1, 0.9, point.ratio, point.causes});
    bisected.measured.push_back({commit, 1, {{point.name, point.ratio}}});
  }
  fuzz::write_all(reports::tables_of(bisected));
  fuzz::plain(reports::console(bisected, {}));
  fuzz::plain(reports::markdown(bisected));
}

void trace_pages(std::string_view text) {
  const timeline::Timeline timeline = timeline::chrome_json(text, "input");
  const timeline::Linked linked(timeline);
  const reports::AboutTrace about{fuzz::hostile, "0", timeline.warnings};
  const timeline::FlameGraph graph = timeline::flame(linked);
  const timeline::FlameDiff diff = timeline::diff(graph, graph, graph.natural_weight());
  for (const std::string& picture :
       {reports::flame_picture(graph, graph.natural_weight(), about), reports::flame_picture(diff, about)})
    require(fuzz::parsed(picture).is_object());
  const auto difference = timeline::difference_tables(timeline::difference(timeline, timeline));
  for (const std::string& page :
       {reports::flame_html(graph, graph.natural_weight(), about), reports::timeline_html(timeline, about),
        reports::flame_html(diff, difference, about)})
    fuzz::page(page);
  (void)timeline::folded(graph, graph.natural_weight());
  fuzz::write_all(difference);
  for (const timeline::Analysis* const analysis : timeline::analyses())
    fuzz::write_all(timeline::tables_of(linked, analysis->name));
  try {
    (void)timeline::replay_script(linked);
  } catch (const std::invalid_argument&) {  // nothing can be called again
  }
}

constexpr Target all[] = {{"run_pictures", refusing<run_pictures, storage::ReadError>},
                          {"comparison", refusing<comparison, storage::ReadError>},
                          {"trace_pages", refusing<trace_pages, storage::ReadError>}};
std::span<const Target> targets() { return all; }

}  // namespace
