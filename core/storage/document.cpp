// SPDX-License-Identifier: Apache-2.0
#include "core/storage/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

/// RFC 6901: '~' and '/' inside a key are written "~0" and "~1".
std::string pointer_token(std::string_view key) {
  std::string result = "/";
  for (const char c : key.substr(0, 80)) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return result;
}

/// Whether `value` itself, not one like it, is or is in `root`; then `path` leads there.
bool find_place(const nlohmann::json& root, const nlohmann::json& value, std::string& path) {
  if (&root == &value) return true;
  const std::size_t before = path.size();
  if (root.is_object()) {
    for (const auto& [key, member] : root.get_ref<const nlohmann::json::object_t&>()) {
      path += pointer_token(key);
      if (find_place(member, value, path)) return true;
      path.resize(before);
    }
  } else if (root.is_array()) {
    std::size_t index = 0;
    for (const auto& element : root) {
      path += fmt::format("/{}", index++);
      if (find_place(element, value, path)) return true;
      path.resize(before);
    }
  }
  return false;
}

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

std::string Node::path() const {
  std::string path;
  find_place(*root_, *value_, path);
  return path.empty() ? "/" : path;
}

void Node::fail(std::string_view what) const {
  throw ReadError(fmt::format("{}: {}: {}; {}", origin_, path(), what, remedy_));
}

void Node::fail_type(std::string_view wanted) const {
  fail(fmt::format("is {} where {} must stand", value_->is_null() ? "null" : value_->type_name(), wanted));
}

void Node::expect_object() const {
  if (!value_->is_object()) fail_type("an object");
  if (value_->size() > max_array) fail("has too many members");
}

Node Node::at(std::string_view key) const {
  expect_object();
  const auto place = value_->find(key);
  if (place == value_->end()) fail(fmt::format("'{}' is missing", key));
  return inner(*place);
}

std::optional<Node> Node::find(std::string_view key) const {
  expect_object();
  const auto place = value_->find(key);
  if (place == value_->end() || place->is_null()) return std::nullopt;
  return inner(*place);
}

std::string Node::text() const {
  if (!value_->is_string()) fail_type("a text");
  return value_->get_ref<const std::string&>();
}

bool Node::flag() const {
  if (!value_->is_boolean()) fail_type("true or false");
  return value_->get<bool>();
}

double Node::number(Domain domain) const {
  if (!value_->is_number()) fail_type("a number");
  const double number = value_->get<double>();
  if (!std::isfinite(number)) fail("is not a finite number");
  if (domain != Domain::any && number < 0.0) fail(fmt::format("is {}, below zero", number));
  if (domain == Domain::probability && number > 1.0) fail(fmt::format("is {}, above 1", number));
  return number;
}

std::int64_t Node::integer(std::int64_t min, std::int64_t max) const {
  if (!value_->is_number_integer()) fail_type("a whole number");
  // The parser keeps what lies above int64 as unsigned, so that the cast below would wrap.
  const bool too_large =
      value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = too_large ? 0 : value_->get<std::int64_t>();
  if (too_large || number < min || number > max) fail(fmt::format("is not between {} and {}", min, max));
  return number;
}

bool Node::has(std::string_view key) const { return value_->contains(key); }
bool Node::is_null() const { return value_->is_null(); }
bool Node::is_text() const { return value_->is_string(); }
bool Node::is_number() const { return value_->is_number(); }
bool Node::is_flag() const { return value_->is_boolean(); }
bool Node::is_list() const { return value_->is_array(); }

Node Node::element(std::size_t index) const { return inner((*value_)[index]); }

void Node::each(const std::function<void(const std::string& key, const Node& member)>& visit) const {
  expect_object();
  for (const auto& item : value_->items()) visit(item.key(), inner(item.value()));
}

std::size_t Node::array_size() const {
  if (!value_->is_array()) fail_type("an array");
  if (value_->size() > max_array) fail(fmt::format("has {} elements, over {}", value_->size(), max_array));
  return value_->size();
}

std::vector<double> Node::numbers(Domain domain) const {
  std::vector<double> result;
  result.reserve(array_size());
  // Nodes, with their paths, only for elements that are wrong: there may be millions.
  for (std::size_t i = 0; i < value_->size(); ++i) {
    const auto& item = (*value_)[i];
    const double number = item.is_number() ? item.get<double>() : -1.0;
    const bool plain = item.is_number() && std::isfinite(number) && number >= 0.0 && number <= 1.0;
    result.push_back(plain ? number : element(i).number(domain));
  }
  return result;
}

std::size_t Node::index_in(const std::string_view* names, std::size_t count) const {
  if (!value_->is_string()) fail_type("a text");
  const auto& word = value_->get_ref<const std::string&>();
  const auto* const place = std::find(names, names + count, word);
  if (place == names + count)
    fail(fmt::format("is '{}', which is none of {}", excerpt(word), fmt::join(names, names + count, ", ")));
  return static_cast<std::size_t>(place - names);
}

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
  if (json.contains("traceEvents"))
    throw ReadError(fmt::format("{}: this is a trace: gpubench trace {}", origin, origin));
  if (json.contains("benchmarks") && json.contains("context") && json["context"].contains("gpubench_version"))
    refuse_foreign(origin, schema, "but what one writes for Google Benchmark's tools");
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
  return {std::make_shared<const nlohmann::json>(std::move(json)), static_cast<int>(written)};
}

Document parse_document(std::string_view text, std::string_view origin, std::string_view schema, int version) {
  return document_of(parse_json(text, origin, schema), origin, schema, version);
}

Document parse_document(std::string_view text, std::string_view origin, std::string_view schema) {
  return {std::make_shared<const nlohmann::json>(parse_json(text, origin, schema))};
}

std::string json_text(const nlohmann::json& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

std::string json_text(const Json& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, Json::error_handler_t::replace);
}

std::string json_string(std::string_view text) { return json_text(nlohmann::json(text), -1, true); }

nlohmann::json parsed_json(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }

std::string document_text(const Json& body, std::string_view schema, int version) {
  if (const std::string path = not_finite(body, ""); !path.empty())
    throw WriteError(fmt::format(
        "a gpubench {} has a number that is not finite at {} and cannot be written as JSON; please report this bug",
        noun_of(schema), path));
  Json document;
  document["schema"] = {{"name", schema}, {"version", version}};
  document.update(body);
  // A line for each member, and for each element of a list of objects: half the size of an indented text.
  std::string text = "{";
  for (const auto& [key, member] : document.items()) {
    text += fmt::format("{}\n{}: ", text.size() > 1 ? "," : "", json_text(Json(key)));
    if (!member.is_array() || member.empty() || !member.front().is_object()) {
      text += json_text(member);
      continue;
    }
    for (std::size_t i = 0; i < member.size(); ++i) text += (i == 0 ? "[\n" : ",\n") + json_text(member[i]);
    text += "\n]";
  }
  return text + "\n}\n";
}

}  // namespace gpubench::storage
