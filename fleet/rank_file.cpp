// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"

namespace gpubench::fleet {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view rank_schema = "gpubench-fleet-rank";
constexpr int rank_schema_version = 1;
constexpr std::size_t max_text = 1000;
constexpr std::size_t max_properties = 100;
constexpr std::string_view name_head = "rank-", name_tail = ".jsonl";

std::string as_json(std::string_view text) { return storage::json_string(text); }

std::string number(double value) { return fmt::format("{}", value); }

/// Reads one line, and says in an error which.
class LineReader {
 public:
  LineReader(std::string_view origin, RankResult& result) : origin_(origin), result_(result) {}

  void read(const char* text, std::size_t size) {
    ++line_;
    element root;
    if (parser_.parse(text, size, false).get(root) != simdjson::SUCCESS) fail("is no JSON");
    object fields;
    if (root.get(fields) != simdjson::SUCCESS) fail("must be an object");
    if (line_ == 1) return read_head(fields);
    if (!result_.ended_utc.empty()) fail("stands after the end");
    if (has(fields, "ended_utc")) return read_end(fields);
    if (has(fields, "path")) {
      const int peer = integer_at(fields, "peer", 0, max_ranks - 1);
      if (++readings_ > max_readings_of_rank) fail("is one line too many");
      result_.paths[peer] = text_at(fields, "path");
      return;
    }
    Test test{text_at(fields, "phase"), text_at(fields, "resource"), {}, {}};
    const int run = integer_at(fields, "run", 0, max_runs - 1);
    if (++readings_ > max_readings_of_rank) fail(fmt::format("is one reading too many, over {}", max_readings_of_rank));
    if (has(fields, "absent")) {
      result_.absent.push_back({test.phase, test.resource, text_at(fields, "absent"), run});
      return;
    }
    test.unit = text_at(fields, "unit");
    if (has(fields, "peer")) test.peer = integer_at(fields, "peer", 0, max_ranks - 1);
    Reading reading{number_of(test), run, {positive_at(fields, "value"), {}}};
    reading.value.ci95 = {positive_at(fields, "low"), positive_at(fields, "high")};
    if (reading.value.ci95.low > reading.value.value || reading.value.value > reading.value.ci95.high)
      fail("has a value outside of its interval");
    if (has(fields, "clock_hz")) reading.clock_hz = positive_at(fields, "clock_hz");
    result_.readings.push_back(reading);
  }
  [[nodiscard]] int line() const { return line_; }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw storage::ReadError(fmt::format("{}: line {} {}; {}.", printable(origin_), line_, what, storage::remedy));
  }

  static bool has(const object& fields, std::string_view key) {
    element value;
    return fields[key].get(value) == simdjson::SUCCESS && !value.is_null();
  }
  std::string text_at(const object& fields, std::string_view key) const {
    std::string_view text;
    if (fields[key].get(text) != simdjson::SUCCESS) fail(fmt::format("has no text \"{}\"", key));
    if (text.size() > max_text) fail(fmt::format("has a \"{}\" of {} bytes, over {}", key, text.size(), max_text));
    return std::string(text);
  }
  int integer_at(const object& fields, std::string_view key, int min, int max) const {
    std::int64_t value = 0;
    if (fields[key].get(value) != simdjson::SUCCESS || value < min || value > max)
      fail(fmt::format("has no whole number \"{}\" between {} and {}", key, min, max));
    return static_cast<int>(value);
  }
  double positive_at(const object& fields, std::string_view key) const {
    double value = 0.0;
    if (fields[key].get(value) != simdjson::SUCCESS || !(value > 0.0) || !std::isfinite(value))
      fail(fmt::format("has no positive number \"{}\"", key));
    return value;
  }

  void read_head(const object& fields) {
    object schema;
    if (fields["schema"].get(schema) != simdjson::SUCCESS || text_at(schema, "name") != rank_schema)
      fail(fmt::format("names no schema {}", rank_schema));
    if (const int version = integer_at(schema, "version", 1, max_runs); version != rank_schema_version)
      fail(
          fmt::format("is of version {} of its format, and this gpubench reads version {}; join it with the gpubench "
                      "that wrote it",
                      version, rank_schema_version));
    result_.campaign = text_at(fields, "campaign");
    result_.ranks = integer_at(fields, "ranks", 1, max_ranks);
    result_.rank = integer_at(fields, "rank", 0, result_.ranks - 1);
    result_.local_rank = integer_at(fields, "local_rank", 0, max_ranks - 1);
    result_.node = text_at(fields, "node");
    result_.gpubench_version = text_at(fields, "gpubench_version");
    result_.started_utc = text_at(fields, "started_utc");
    object device, properties;
    if (fields["device"].get(device) != simdjson::SUCCESS || device["properties"].get(properties) != simdjson::SUCCESS)
      fail("has no device");
    result_.device.id = text_at(device, "id");
    result_.device.name = text_at(device, "name");
    result_.device.kind = kind_of_id(result_.device.id);
    if (properties.size() > max_properties) fail("has too many properties of the device");
    for (const auto& property : properties)
      result_.device.properties.emplace(std::string(property.key), text_at(properties, property.key));
  }

  void read_end(const object& fields) {
    result_.ended_utc = text_at(fields, "ended_utc");
    if (has(fields, "failure")) result_.failure = text_at(fields, "failure");
    if (has(fields, "lost")) {
      simdjson::dom::array lost;
      if (fields["lost"].get(lost) != simdjson::SUCCESS) fail("has a \"lost\" that is no list");
      for (const element one : lost) {
        std::string_view text;
        if (one.get(text) != simdjson::SUCCESS || text.size() > max_text) fail("has a \"lost\" that is no text");
        result_.lost.emplace_back(text);
      }
    }
  }

  /// Ranks measure in the same order, run after run: the next test is mostly the one after the last.
  std::uint32_t number_of(const Test& test) {
    if (next_ >= result_.tests.size()) next_ = 0;
    if (result_.tests.empty() || result_.tests[next_] != test) {
      const auto [known, is_new] = numbers_.emplace(test, static_cast<std::uint32_t>(result_.tests.size()));
      if (is_new) result_.tests.push_back(test);
      next_ = known->second;
    }
    return static_cast<std::uint32_t>(next_++);
  }

  std::string_view origin_;
  RankResult& result_;
  simdjson::dom::parser parser_;
  int line_ = 0;
  std::size_t readings_ = 0;
  std::size_t next_ = 0;
  std::map<Test, std::uint32_t> numbers_;
};

}  // namespace

std::uint32_t RankResult::test_number(const Test& test) {
  const auto found = std::ranges::find(tests, test);
  if (found == tests.end()) {
    tests.push_back(test);
    return static_cast<std::uint32_t>(tests.size() - 1);
  }
  return static_cast<std::uint32_t>(found - tests.begin());
}

std::string rank_file_name(int rank) { return fmt::format("{}{:06}{}", name_head, rank, name_tail); }

bool is_rank_file_name(std::string_view name) {
  if (!name.starts_with(name_head) || !name.ends_with(name_tail)) return false;
  name.remove_prefix(name_head.size());
  name.remove_suffix(name_tail.size());
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::string to_json_lines(const RankResult& result) {
  const auto properties = joined(result.device.properties, ",", [](const auto& one) {
    return fmt::format("{}:{}", as_json(one.first), as_json(one.second));
  });
  std::string text = fmt::format(
      "{{\"schema\":{{\"name\":\"{}\",\"version\":{}}},\"campaign\":{},\"rank\":{},\"ranks\":{},\"local_rank\":{},"
      "\"node\":{},\"gpubench_version\":{},\"started_utc\":{},\"device\":{{\"id\":{},\"name\":{},\"properties\":{{{}}}}"
      "}"
      "}}\n",
      rank_schema, rank_schema_version, as_json(result.campaign), result.rank, result.ranks, result.local_rank,
      as_json(result.node), as_json(result.gpubench_version), as_json(result.started_utc), as_json(result.device.id),
      as_json(result.device.name), properties);
  for (const Reading& one : result.readings) {
    const Test& test = result.tests.at(one.test);
    text += fmt::format("{{\"phase\":{},\"run\":{},\"resource\":{},\"unit\":{},", as_json(test.phase), one.run,
                        as_json(test.resource), as_json(test.unit));
    if (test.peer) text += fmt::format("\"peer\":{},", *test.peer);
    text += fmt::format("\"value\":{},\"low\":{},\"high\":{}", number(one.value.value), number(one.value.ci95.low),
                        number(one.value.ci95.high));
    text += one.clock_hz ? fmt::format(",\"clock_hz\":{}}}\n", number(*one.clock_hz)) : "}\n";
  }
  for (const AbsentReading& one : result.absent)
    text += fmt::format("{{\"phase\":{},\"run\":{},\"resource\":{},\"absent\":{}}}\n", as_json(one.phase), one.run,
                        as_json(one.resource), as_json(one.reason));
  for (const auto& [peer, path] : result.paths)
    text += fmt::format("{{\"peer\":{},\"path\":{}}}\n", peer, as_json(path));
  if (result.ended_utc.empty()) return text;
  text += fmt::format("{{\"ended_utc\":{}", as_json(result.ended_utc));
  if (!result.failure.empty()) text += fmt::format(",\"failure\":{}", as_json(result.failure));
  if (!result.lost.empty()) text += fmt::format(",\"lost\":[{}]", joined(result.lost, ",", as_json));
  return text + "}\n";
}

RankResult rank_from_json_lines(std::string_view text, std::string_view origin) {
  RankResult result;
  LineReader reader(origin, result);
  // simdjson reads a little beyond a line, which must be memory of ours.
  std::string padded;
  padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  padded = text;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = padded.find('\n', begin)) != std::string::npos; begin = end + 1)
    reader.read(padded.data() + begin, end - begin);
  if (reader.line() == 0)
    throw storage::ReadError(fmt::format("{}: it has no first line; {}.", printable(origin), storage::remedy));
  if (begin < padded.size()) result.damage = fmt::format("it was cut off in line {}", reader.line() + 1);
  return result;
}

RankResult read_rank(const std::filesystem::path& file) {
  return rank_from_json_lines(storage::read_text(file), file.string());
}

}  // namespace gpubench::fleet
