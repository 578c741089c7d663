// SPDX-License-Identifier: Apache-2.0
// A JSON document: parsed within limits, with typed and checked access. A ReadError names the file and the place.
// Who only reads needs nothing of nlohmann's header, which takes a second to compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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

/// One value; the document and `origin` must outlive it. Its path is looked for only when an error names it.
class Node {
 public:
  /// `remedy` is what an error says to do; it must outlive the node as well.
  Node(const nlohmann::json& document, std::string_view origin, int version,
       std::string_view remedy = "give a file written by gpubench, whole and unchanged")
      : value_(&document), root_(&document), origin_(origin), remedy_(remedy), version_(version) {}

  /// Of the document's schema.
  [[nodiscard]] int version() const { return version_; }

  /// A member that must be there; a member that may be missing (null counts as missing).
  [[nodiscard]] Node at(std::string_view key) const;
  [[nodiscard]] std::optional<Node> find(std::string_view key) const;

  /// What names the document in errors: of a file its path.
  [[nodiscard]] std::string_view origin() const { return origin_; }

  /// Whether it is an object with that member, which may be null.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool is_flag() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool flag() const;
  [[nodiscard]] double number(Domain domain) const;
  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const;
  [[nodiscard]] std::vector<double> numbers(Domain domain) const;

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
  /// visit(element) for each element of an array.
  template <class Visit>
  void each_element(Visit visit) const {
    for (std::size_t i = 0, size = array_size(); i < size; ++i) visit(element(i));
  }
  /// For each member of an object, by key.
  void each(const std::function<void(const std::string& key, const Node& member)>& visit) const;
  /// Of an array.
  [[nodiscard]] std::size_t array_size() const;
  [[nodiscard]] Node element(std::size_t index) const;

  /// Throws ReadError: "run.json: /points/3/name: <what>; <remedy>".
  [[noreturn]] void fail(std::string_view what) const;

 private:
  [[nodiscard]] Node inner(const nlohmann::json& value) const {
    Node node = *this;
    node.value_ = &value;
    return node;
  }
  [[nodiscard]] std::string path() const;  ///< a JSON Pointer (RFC 6901)
  [[nodiscard]] std::size_t index_in(const std::string_view* names, std::size_t count) const;
  void expect_object() const;
  [[noreturn]] void fail_type(std::string_view wanted) const;

  const nlohmann::json* value_;
  const nlohmann::json* root_;  ///< what `value_` is somewhere inside of
  std::string_view origin_;
  std::string_view remedy_;
  int version_;
};

inline constexpr std::size_t max_array = 1'000'000;
inline constexpr std::int64_t max_integer = std::numeric_limits<std::int64_t>::max();

inline constexpr std::string_view run_schema = "gpubench-run";
inline constexpr std::string_view baseline_schema = "gpubench-baseline";
inline constexpr std::string_view calibration_schema = "gpubench-calibration";
inline constexpr std::string_view remedy = "give a file written by gpubench, whole and unchanged";

inline constexpr int deepest_nesting = 64;
/// A JSON value takes up to 40 bytes for one byte of text: this bounds the memory that a hostile file can take.
inline constexpr std::size_t max_values = std::size_t{1} << 26;

/// A text of a file as an error shows it: short and without control characters, for it may be anything.
std::string excerpt(std::string_view text);

/// What was parsed, shared by all copies.
struct Document {
  std::shared_ptr<const nlohmann::json> json;
  int version = 0;  ///< of its schema; 0 where that does not count
  [[nodiscard]] Node root(std::string_view origin, std::string_view what_to_do = remedy) const {
    return {*json, origin, version, what_to_do};
  }
};

/// Parses within the limits. Throws ReadError, which says of an empty text what could have written such a file.
nlohmann::json parse_json(std::string_view text, std::string_view origin, std::string_view schema);
/// The schema that a document names; empty where it names none.
std::string_view schema_of(const nlohmann::json& json);
/// Checks that it names this schema, of this version or an older one. Throws ReadError.
Document document_of(nlohmann::json json, std::string_view origin, std::string_view schema, int version);
/// Both; without a version, the schema is only what errors speak of.
Document parse_document(std::string_view text, std::string_view origin, std::string_view schema, int version);
Document parse_document(std::string_view text, std::string_view origin, std::string_view schema);

/// JSON as text, on one line where the indent is -1. Bytes that are not UTF-8 become U+FFFD; `ascii` escapes all signs
/// beyond ASCII. Each source that calls nlohmann's own `dump` compiles it again.
std::string json_text(const nlohmann::json& value, int indent = -1, bool ascii = false);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1, bool ascii = false);
/// What is no JSON is discarded: `is_discarded()`.
nlohmann::json parsed_json(std::string_view text);

/// The text of a document, "schema" first, indented. Bytes that are not UTF-8 become U+FFFD.
/// Throws WriteError on a number that is not finite: JSON has none, and a null would read as "not measured".
std::string document_text(const nlohmann::ordered_json& body, std::string_view schema, int version);

}  // namespace gpubench::storage
