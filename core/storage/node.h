// SPDX-License-Identifier: Apache-2.0
// Typed, checked access to a JSON document. Every error is a ReadError that names the file and the place in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench::storage {

/// What a number may be; all are finite.
enum class Domain {
  any,           ///< an interval's end may lie below zero
  not_negative,  ///< seconds, bytes, rates
  probability,   ///< 0 to 1
};

/// One value of a document. Refers into it: the document and `origin` must outlive the node. Where it stands is
/// looked for in the document only when an error is to name the place: a run has millions of values and few errors.
class Node {
 public:
  Node(const nlohmann::json& document, std::string_view origin, int version)
      : value_(&document), root_(&document), origin_(origin), version_(version) {}

  /// Of the document's schema.
  [[nodiscard]] int version() const { return version_; }

  /// A member that must be there; a member that may be missing (null counts as missing).
  [[nodiscard]] Node at(std::string_view key) const;
  [[nodiscard]] std::optional<Node> find(std::string_view key) const;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool flag() const;
  [[nodiscard]] double number(Domain domain) const;
  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const;
  [[nodiscard]] std::vector<double> numbers(Domain domain) const;
  [[nodiscard]] std::vector<std::string> texts() const;

  /// The enumerator of that name, from a table in the order of the enumeration.
  template <class Enum, std::size_t N>
  [[nodiscard]] Enum name(const std::array<std::string_view, N>& names) const {
    return static_cast<Enum>(index_in(names.data(), N));
  }

  /// read(element) for each element of an array.
  template <class Read>
  [[nodiscard]] auto list(Read read) const {
    std::vector<decltype(read(*this))> result;
    const std::size_t size = array_size();
    result.reserve(size);
    for (std::size_t i = 0; i < size; ++i) result.push_back(read(element(i)));
    return result;
  }
  /// visit(key, member) for each member of an object, by key.
  template <class Visit>
  void each(Visit visit) const {
    expect_object();
    for (const auto& item : value_->items()) visit(item.key(), inner(item.value()));
  }

  /// Throws ReadError: "run.json: /points/3/name: <what>; <remedy>".
  [[noreturn]] void fail(std::string_view what) const;

 private:
  [[nodiscard]] Node inner(const nlohmann::json& value) const {
    Node node = *this;
    node.value_ = &value;
    return node;
  }
  [[nodiscard]] Node element(std::size_t index) const { return inner((*value_)[index]); }
  [[nodiscard]] std::string path() const;  ///< a JSON Pointer (RFC 6901)
  [[nodiscard]] std::size_t array_size() const;
  [[nodiscard]] std::size_t index_in(const std::string_view* names, std::size_t count) const;
  void expect_object() const;
  [[noreturn]] void fail_type(std::string_view wanted) const;

  const nlohmann::json* value_;
  const nlohmann::json* root_;  ///< what `value_` is somewhere inside of
  std::string_view origin_;
  int version_;
};

inline constexpr std::size_t max_array = 1'000'000;
inline constexpr std::int64_t max_integer = std::numeric_limits<std::int64_t>::max();

}  // namespace gpubench::storage
