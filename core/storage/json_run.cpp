// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "core/storage/document.h"
#include "core/storage/document_parts.h"
#include "core/storage/json_parts.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

Json json_of(const Context& context) {
  Json result;
  result["gpubench_version"] = context.gpubench_version;
  result["created_utc"] = context.created_utc;
  result["host"] = context.host;
  result["program"] = context.program;
  result["arguments"] = context.arguments;
  result["environment"] = storage::json_of(context.environment);
  return result;
}

Context read_context(const Node& node) {
  return {node.at("gpubench_version").text(), node.at("created_utc").text(), node.at("host").text(),
          node.at("program").text(),          node.at("arguments").texts(),  read_text_map(node.at("environment"))};
}

Json json_of(const Point& point) {
  Json result;
  result["measurement"] = storage::json_of(point.measurement);
  if (point.verdict) result["verdict"] = storage::json_of(*point.verdict);
  return result;
}

Point read_point(const Node& node) {
  Point point{read_measurement(node.at("measurement")), std::nullopt};
  if (const auto verdict = node.find("verdict")) point.verdict = read_verdict(*verdict);
  return point;
}

Json json_of(const Advice& advice) {
  Json result;
  result["action"] = advice.action;
  result["evidence"] = advice.evidence;
  set_optional(result, "gain", advice.gain);
  return result;
}

Advice read_advice(const Node& node) {
  return {node.at("action").text(), node.at("evidence").text(), optional_number(node, "gain", Domain::not_negative)};
}

Json json_of(const Vote& vote) {
  Json result;
  result["check"] = vote.check;
  result["outcome"] = name_of(vote.outcome);
  result["says"] = vote.says;
  result["evidence"] = vote.evidence;
  return result;
}

Vote read_vote(const Node& node) {
  return {node.at("check").text(), node.at("outcome").name<Outcome>(outcome_names), node.at("says").text(),
          node.at("evidence").text()};
}

/// Older runs do not have these lists, so they are written only when something is in them.
template <class T>
void set_list(Json& result, const char* key, const std::vector<T>& values) {
  if (values.empty()) return;
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  result[key] = std::move(list);
}

Share read_share(const Node& node) { return {node.at("resource").text(), node.at("fraction").number(Domain::any)}; }

}  // namespace

Json json_of(const Verdict& verdict) {
  Json shares = Json::array();
  for (const auto& share : verdict.shares) {
    Json item;
    item["resource"] = share.resource;
    item["fraction"] = share.fraction;
    shares.push_back(std::move(item));
  }
  Json result;
  result["regime"] = name_of(verdict.regime);
  result["limiter"] = verdict.limiter;
  result["shares"] = std::move(shares);
  set_optional(result, "achieved", verdict.achieved);
  set_optional(result, "speed_up_left", verdict.speed_up_left);
  result["confidence"] = verdict.confidence;
  result["certainty"] = name_of(verdict.certainty);
  result["runner_up"] = name_of(verdict.runner_up);
  result["runner_up_probability"] = verdict.runner_up_probability;
  result["model_seconds"] = verdict.model_seconds;
  result["evidence"] = verdict.evidence;
  set_list(result, "advice", verdict.advice);
  set_list(result, "votes", verdict.votes);
  return result;
}

Verdict read_verdict(const Node& node) {
  Verdict verdict;
  verdict.regime = node.at("regime").name<Regime>(regime_names);
  verdict.limiter = node.at("limiter").text();
  verdict.shares = node.at("shares").list(read_share);
  verdict.achieved = optional_number(node, "achieved", Domain::not_negative);
  verdict.speed_up_left = optional_number(node, "speed_up_left", Domain::not_negative);
  verdict.confidence = node.at("confidence").number(Domain::probability);
  verdict.certainty = node.at("certainty").name<Certainty>(certainty_names);
  verdict.runner_up = node.at("runner_up").name<Regime>(regime_names);
  verdict.runner_up_probability = optional_number(node, "runner_up_probability", Domain::probability).value_or(0.0);
  verdict.model_seconds = node.at("model_seconds").number(Domain::not_negative);
  verdict.evidence = node.at("evidence").text();
  if (const auto advice = node.find("advice")) verdict.advice = advice->list(read_advice);
  if (const auto votes = node.find("votes")) verdict.votes = votes->list(read_vote);
  return verdict;
}

Json json_of(const Boundary& boundary) {
  Json result;
  result["operation"] = boundary.operation;
  result["device"] = boundary.device;
  result["argument"] = boundary.argument;
  result["from"] = boundary.from;
  result["to"] = boundary.to;
  result["at"] = boundary.at;
  if (boundary.ci95) result["ci95"] = json_of(*boundary.ci95);
  if (boundary.placement != Placement::at) result["placement"] = name_of(boundary.placement);
  return result;
}

Boundary read_boundary(const Node& node) {
  Boundary boundary{node.at("operation").text(),
                    node.at("device").text(),
                    node.at("argument").text(),
                    node.at("from").text(),
                    node.at("to").text(),
                    node.at("at").number(Domain::any),
                    std::nullopt,
                    Placement::at};
  if (const auto placement = node.find("placement")) boundary.placement = placement->name<Placement>(placement_names);
  if (const auto interval = node.find("ci95")) boundary.ci95 = read_interval(*interval);
  return boundary;
}

namespace {

/// What `slim` leaves out of a point's lists, by the names they have in a file.
std::set<std::string, std::less<>> lists_left_out(Clocks clocks) {
  std::set<std::string, std::less<>> names = {"samples_seconds", "block_sizes",     "samples_clock_hz", "variants",
                                              "counters",        "absent_counters", "advice",           "votes"};
  if (clocks == Clocks::own) names.emplace("other_clocks");
  return names;
}

void make_slim(Point& point, Clocks clocks) {
  Measurement& measurement = point.measurement;
  if (clocks == Clocks::own && measurement.timings.size() > 1) measurement.timings.resize(1);
  for (Timing& timing : measurement.timings) {
    timing.samples_seconds = {};
    timing.block_sizes = {};
    timing.samples_clock_hz = {};
  }
  measurement.variants = {};
  measurement.counters = {};
  measurement.absent_counters = {};
  if (!point.verdict) return;
  point.verdict->evidence = {};
  point.verdict->advice = {};
  point.verdict->votes = {};
}

}  // namespace

Json json_of(const Run& run) {
  Json points = Json::array();
  for (const auto& point : run.points) points.push_back(json_of(point));
  Json result;
  result["context"] = json_of(run.context);
  result["devices"] = json_list(run.devices);
  result["calibrations"] = json_list(run.calibrations);
  result["points"] = std::move(points);
  result["boundaries"] = json_list(run.boundaries);
  result["warnings"] = run.warnings;
  return result;
}

Run read_run(const Node& node) {
  Run run;
  run.context = read_context(node.at("context"));
  run.devices = node.at("devices").list(read_device);
  run.calibrations = node.at("calibrations").list([](const Node& item) { return read_calibration(item); });
  run.points = node.at("points").list(read_point);
  run.boundaries = node.at("boundaries").list(read_boundary);
  run.warnings = node.at("warnings").texts();
  return run;
}

std::string to_json(const Run& run) { return document_text(json_of(run), run_schema, Run::schema_version); }

Run slim(Run run, Clocks clocks) {
  run.calibrations.clear();
  run.boundaries.clear();
  for (Point& point : run.points) make_slim(point, clocks);
  return run;
}

Run slim_run_from_json(std::string_view text, std::string_view origin, Clocks clocks) {
  std::vector<Point> points;
  PartsOptions options{"points", lists_left_out(clocks), [&](nlohmann::json&& part, std::size_t index) {
                         points.push_back(read_point(Node(part, origin, "points", index)));
                         make_slim(points.back(), clocks);
                       }};
  const auto document = parse_parts(text, origin, run_schema, Run::schema_version, options);
  Run run = read_run(Node(document, origin));
  run.calibrations.clear();
  run.boundaries.clear();
  run.points = std::move(points);
  return run;
}

Run run_from_json(std::string_view text, std::string_view origin) {
  const auto document = parse_document(text, origin, run_schema, Run::schema_version);
  return read_run(Node(document, origin));
}

}  // namespace gpubench::storage
