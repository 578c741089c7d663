// SPDX-License-Identifier: Apache-2.0
// What is written of any run and of any trace for people and for other programs: pages, and the specifications of which
// vl-convert draws each SVG, PNG and PDF. JSON must be JSON, and a page must not run what a file says.
#include <nlohmann/json.hpp>
#include <sstream>

#include "classifier/classifier.h"
#include "core/storage/storage.h"
#include "reports/charts/picture.h"
#include "reports/reports.h"
#include "reports/timelines.h"
#include "tests/fuzz/fuzz.h"
#include "timeline/readers.h"
#include "timeline/views/flame.h"

namespace {

using namespace gpubench;

nlohmann::json parsed(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  require(!json.is_discarded());
  return json;
}

/// Every chart, as the specification that is drawn.
[[maybe_unused]] void run_pictures(std::string_view text) {
  Run run = storage::run_from_json(text, "input");
  classifier::classify(run);
  std::istringstream names(reports::known_charts());
  for (std::string name; names >> name;) try {
      require(parsed(reports::picture(run, "chart.vl.json", reports::parse_chart(name))).is_object());
    } catch (const reports::PictureError&) {  // no data for it
    }
}

[[maybe_unused]] void trace_pages(std::string_view text) {
  const timeline::Timeline timeline = timeline::chrome_json(text, "input");
  const reports::AboutTrace about{"</script>\"<u>", "0", timeline.warnings};
  const timeline::FlameGraph graph = timeline::flame(timeline);
  const timeline::FlameDiff diff = timeline::diff(graph, graph, graph.natural_weight());
  for (const std::string& picture :
       {reports::flame_picture(graph, graph.natural_weight(), about), reports::flame_picture(diff, about)})
    require(parsed(picture).is_object());
  for (const std::string& page : {reports::flame_html(graph, graph.natural_weight(), about),
                                  reports::timeline_html(timeline, about), reports::flame_html(diff, {}, about)})
    require(page.find("<u>") == std::string::npos);
  (void)timeline::folded(graph, graph.natural_weight());
}

}  // namespace

FUZZ_TARGET(READER, gpubench::storage::ReadError)
