// SPDX-License-Identifier: Apache-2.0
#include "core/storage/document.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/storage/node.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

using Json = nlohmann::ordered_json;

std::string_view noun_of(std::string_view schema) {
  if (schema == baseline_schema) return "baseline";
  return schema == run_schema ? "run" : "calibration";
}
std::string_view writer_of(std::string_view schema) {
  if (schema == baseline_schema) return "gpubench gate update";
  return schema == run_schema ? "gpubench --out=FILE.json" : "gpubench --calibrate";
}

[[noreturn]] void refuse_foreign(std::string_view origin, std::string_view schema, std::string_view what) {
  throw ReadError(fmt::format("{}: not a gpubench {} ({}). Give a file written by {}", origin, noun_of(schema), what,
                              writer_of(schema)));
}

/// Line and column of a byte, both from 1.
std::pair<std::size_t, std::size_t> place_of(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, byte);
  std::size_t lines = 1;
  for (const char c : before) lines += c == '\n' ? 1 : 0;
  const auto newline = before.rfind('\n');
  return {lines, newline == std::string_view::npos ? byte + 1 : byte - newline};
}

/// Counts while the parser works, so that a hostile document ends before it fills the memory.
class Limits {
 public:
  explicit Limits(std::string_view origin) : origin_(origin) {}
  bool operator()(int depth, nlohmann::json::parse_event_t /*event*/, nlohmann::json& /*value*/) {
    if (depth > deepest_nesting)
      throw ReadError(fmt::format("{}: nested deeper than {} levels, so not a gpubench file; {}", origin_,
                                  deepest_nesting, remedy));
    if (++values_ > max_values)
      throw ReadError(fmt::format("{}: has more than {} values; split the run with --filter", origin_, max_values));
    return true;
  }

 private:
  std::string_view origin_;
  std::size_t values_ = 0;
};

[[noreturn]] void refuse_syntax(std::string_view text, std::size_t byte, std::string_view origin) {
  if (byte > text.size())
    throw ReadError(fmt::format("{}: ends in the middle, after {} bytes: it was cut off; write or copy it again",
                                origin, text.size()));
  const auto [line, column] = place_of(text, byte > 0 ? byte - 1 : 0);
  throw ReadError(fmt::format("{}: not valid JSON at line {}, column {}; {}", origin, line, column, remedy));
}

/// The path of a number that is not finite, or nothing.
std::string not_finite(const Json& value, const std::string& path) {
  if (value.is_number_float()) return std::isfinite(value.get<double>()) ? "" : path;
  if (!value.is_structured()) return {};
  std::size_t index = 0;
  for (auto item = value.begin(); item != value.end(); ++item, ++index) {
    const bool leaf = !item->is_structured();
    if (leaf && (!item->is_number_float() || std::isfinite(item->get<double>()))) continue;
    std::string found = not_finite(*item, path + "/" + (value.is_object() ? item.key() : std::to_string(index)));
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace

std::string excerpt(std::string_view text) {
  constexpr std::size_t max = 40;
  std::string result;
  for (const char c : text.substr(0, max)) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text.size() > max ? result + "..." : result;
}

nlohmann::json parse_json(std::string_view text, std::string_view origin, std::string_view schema) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw ReadError(fmt::format("{}: is empty; give a file written by {}", origin, writer_of(schema)));
  try {
    return nlohmann::json::parse(text, Limits(origin));
  } catch (const nlohmann::json::parse_error& error) {
    refuse_syntax(text, error.byte, origin);
  } catch (const nlohmann::json::exception&) {  // a number beyond double
    throw ReadError(fmt::format("{}: has a number that is too large; {}", origin, remedy));
  }
}

std::string_view schema_of(const nlohmann::json& json) {
  const auto schema = json.find("schema");
  if (schema == json.end() || !schema->is_object()) return {};
  const auto name = schema->find("name");
  return name != schema->end() && name->is_string() ? name->get_ref<const std::string&>() : std::string_view();
}

Document document_of(nlohmann::json json, std::string_view origin, std::string_view schema, int version) {
  if (!json.is_object()) refuse_foreign(origin, schema, "no object");
  const auto place = json.find("schema");
  if (place == json.end() || !place->is_object()) refuse_foreign(origin, schema, "it names no schema");
  const Node named = Node(json, origin, version).at("schema");
  const auto name = named.find("name");
  if (const std::string found = name ? name->text() : ""; found != schema)
    refuse_foreign(origin, schema, fmt::format("schema name '{}'", excerpt(found)));
  const std::int64_t written = named.at("version").integer(1, max_integer);
  if (written > version)
    throw ReadError(
        fmt::format("{}: written by a newer gpubench (schema {}, this one reads {}); use that gpubench or a newer one",
                    origin, written, version));
  return {std::move(json), static_cast<int>(written)};
}

Document parse_document(std::string_view text, std::string_view origin, std::string_view schema, int version) {
  return document_of(parse_json(text, origin, schema), origin, schema, version);
}

std::string document_text(Json body, std::string_view schema, int version) {
  if (const std::string path = not_finite(body, ""); !path.empty())
    throw WriteError(fmt::format(
        "a gpubench {} has a number that is not finite at {} and cannot be written as JSON; please report this bug",
        noun_of(schema), path));
  Json document;
  document["schema"] = {{"name", schema}, {"version", version}};
  document.update(body);
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gpubench::storage
