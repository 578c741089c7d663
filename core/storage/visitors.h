// SPDX-License-Identifier: Apache-2.0
// One description of a structure's fields serves reading and writing. For each structure there is one function
//   template <class Visitor, class T> void describe(Visitor& visit, T& object)
// that names its fields in their order (core/storage/json.cpp). A Writer makes JSON of them, a Reader takes and checks
// them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/run.h"
#include "core/storage/document.h"

namespace gpubench::storage {

inline constexpr auto device_kind_names = std::to_array<std::string_view>({"cpu", "cuda"});

constexpr const auto& names_of(DeviceKind) { return device_kind_names; }
constexpr const auto& names_of(StopReason) { return stop_reason_names; }
constexpr const auto& names_of(FailureKind) { return failure_kind_names; }
constexpr const auto& names_of(Ablation) { return ablation_names; }
constexpr const auto& names_of(CommandKind) { return command_kind_names; }
constexpr const auto& names_of(WorkKind) { return work_kind_names; }

using Json = nlohmann::ordered_json;  ///< for writing alone: its look-up is linear, so reading goes through Node

namespace detail {

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
using Extent = std::array<std::int64_t, 3>;
using Texts = std::map<std::string, std::string>;
using Flops = std::map<Pipe, double>;

}  // namespace detail

/// The JSON of any field, and a field from JSON. `domain` goes to the numbers in it.
template <class T>
Json json_of(const T& value);
template <class T>
void read_value(const Node& node, T& value, Domain domain = Domain::not_negative);

/// A member of a structure, and what files call it.
template <class T>
struct Field {
  const char* key;
  T& value;
  Domain domain;  ///< of the numbers in it
  bool filled;    ///< left out while it has its first value: an empty text or list, zero. Older files lack it.
};
template <class T>
Field<T> field_of(const char* key, T& value, Domain domain = Domain::not_negative, bool filled = false) {
  return {key, value, domain, filled};
}

class Writer {
 public:
  [[nodiscard]] Json take() { return std::move(object_); }

  /// An optional one is there while it has a value.
  template <class T>
  void field(const Field<T>& field) {
    if constexpr (detail::is_optional<std::remove_const_t<T>>) {
      if (field.value) object_[field.key] = json_of(*field.value);
    } else {
      if (!field.filled || !(field.value == std::remove_const_t<T>{})) object_[field.key] = json_of(field.value);
    }
  }
  [[nodiscard]] static Domain domain() { return Domain::any; }
  [[nodiscard]] static const char* key(const char* now, const char* /*of_schema_1*/) { return now; }
  template <class... What>
  static void require(bool /*sound*/, const char* /*key*/, const What&... /*what*/) {}

 private:
  Json object_ = Json::object();
};

class Reader {
 public:
  Reader(const Node& node, Domain domain) : node_(node), domain_(domain) {}

  template <class T>
  void field(const Field<T>& field) {
    const auto found =
        detail::is_optional<T> || field.filled ? node_.find(field.key) : std::optional(node_.at(field.key));
    if (!found) return;
    if constexpr (detail::is_optional<T>)
      read_value(*found, field.value.emplace(), field.domain);
    else
      read_value(*found, field.value, field.domain);
  }
  /// What the numbers of this object may be, where that depends on the object it is in.
  [[nodiscard]] Domain domain() const { return domain_; }
  /// The name of a field that had another one in schema 1.
  [[nodiscard]] const char* key(const char* now, const char* of_schema_1) const {
    return node_.version() == 1 ? of_schema_1 : now;
  }
  /// Fails at the field of that name, which is there.
  template <class... Values>
  void require(bool sound, const char* key, fmt::format_string<const Values&...> what, const Values&... values) const {
    if (!sound) node_.at(key).fail(fmt::format(what, values...));
  }
  [[nodiscard]] const Node& node() const { return node_; }

 private:
  const Node& node_;
  Domain domain_;
};

template <class T>
Json json_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> || std::is_same_v<T, detail::Extent> ||
                std::is_same_v<T, std::vector<double>> || std::is_same_v<T, std::vector<std::int64_t>> ||
                std::is_same_v<T, std::vector<std::string>>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return names_of(T{})[static_cast<std::size_t>(value)];
  } else if constexpr (std::is_same_v<T, Interval>) {
    return Json::array({value.low, value.high});
  } else if constexpr (std::is_same_v<T, detail::Texts>) {
    Json result = Json::object();
    // Not emplace, which looks through all that are there: the keys differ, and there may be many.
    auto& entries = result.template get_ref<Json::object_t&>();
    for (const auto& [key, text] : value) entries.emplace_back(key, text);
    return result;
  } else if constexpr (std::is_same_v<T, detail::Flops>) {
    Json result = Json::object();
    for (const auto& [pipe, count] : value) result.emplace(std::string(name_of(pipe)), count);
    return result;
  } else if constexpr (detail::is_optional<T>) {
    return value ? json_of(*value) : Json();
  } else if constexpr (detail::is_list<T>) {
    Json result = Json::array();
    for (const auto& item : value) result.push_back(json_of(item));
    return result;
  } else {
    Writer writer;
    describe(writer, value);
    return writer.take();
  }
}

template <class T>
void read_value(const Node& node, T& value, Domain domain) {
  if constexpr (std::is_same_v<T, bool>) {
    value = node.flag();
  } else if constexpr (std::is_integral_v<T>) {
    constexpr auto min = static_cast<std::int64_t>(std::numeric_limits<T>::min());
    value = static_cast<T>(node.integer(domain == Domain::any ? min : 0, std::numeric_limits<T>::max()));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = node.number(domain);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = node.text();
  } else if constexpr (std::is_enum_v<T>) {
    value = node.name<T>(names_of(T{}));
  } else if constexpr (std::is_same_v<T, Interval>) {
    const auto ends = node.numbers(Domain::any);
    if (ends.size() != 2) node.fail("must hold two numbers, the ends of an interval");
    value = {ends[0], ends[1]};
    if (value.low > value.high) node.fail(fmt::format("begins at {}, above its end {}", value.low, value.high));
  } else if constexpr (std::is_same_v<T, detail::Extent>) {
    std::vector<std::int64_t> sizes;
    read_value(node, sizes);
    if (sizes.size() != value.size()) node.fail("must have three sizes, along x, y and z");
    std::copy(sizes.begin(), sizes.end(), value.begin());
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    value = node.numbers(domain);
  } else if constexpr (std::is_same_v<T, detail::Texts>) {
    node.each([&](const std::string& key, const Node& text) { value.emplace(key, text.text()); });
  } else if constexpr (std::is_same_v<T, detail::Flops>) {
    node.each([&](const std::string& name, const Node& count) {
      const auto place = std::find(pipe_names.begin(), pipe_names.end(), name);
      if (place == pipe_names.end()) count.fail("is no pipe that gpubench knows");
      value[static_cast<Pipe>(place - pipe_names.begin())] = count.number(Domain::not_negative);
    });
  } else if constexpr (detail::is_optional<T>) {
    if (!node.is_null()) read_value(node, value.emplace(), domain);
  } else if constexpr (detail::is_list<T>) {
    value = node.list([&](const Node& item) {
      typename T::value_type element{};
      read_value(item, element, domain);
      return element;
    });
  } else {
    Reader reader(node, domain);
    describe(reader, value);
  }
}

/// What stands at a place of a document.
template <class T>
T read_as(const Node& node) {
  T value{};
  read_value(node, value);
  return value;
}

}  // namespace gpubench::storage
