// SPDX-License-Identifier: Apache-2.0
#include "core/storage/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/storage/document.h"
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

}  // namespace

std::string Node::path() const {
  std::string path;
  find_place(*root_, *value_, path);
  return path.empty() ? "/" : path;
}

void Node::fail(std::string_view what) const {
  throw ReadError(fmt::format("{}: {}: {}; {}", origin_, path(), what, remedy));
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

std::vector<std::string> Node::texts() const {
  return list([](const Node& node) { return node.text(); });
}

std::size_t Node::index_in(const std::string_view* names, std::size_t count) const {
  if (!value_->is_string()) fail_type("a text");
  const auto& word = value_->get_ref<const std::string&>();
  const auto* const place = std::find(names, names + count, word);
  if (place == names + count)
    fail(fmt::format("is '{}', which is none of {}", excerpt(word), fmt::join(names, names + count, ", ")));
  return static_cast<std::size_t>(place - names);
}

}  // namespace gpubench::storage
