// SPDX-License-Identifier: Apache-2.0
// A document as a whole: parsed within limits, of the right schema; and written.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/storage/node.h"

namespace gpubench::storage {

inline constexpr std::string_view run_schema = "gpubench-run";
inline constexpr std::string_view baseline_schema = "gpubench-baseline";
inline constexpr std::string_view calibration_schema = "gpubench-calibration";
inline constexpr std::string_view remedy = "give a file written by gpubench, whole and unchanged";

inline constexpr int deepest_nesting = 64;
/// A JSON value takes up to 40 bytes for one byte of text ("[[],[],..."): this bounds the memory a hostile file can
/// take.
inline constexpr std::size_t max_values = std::size_t{1} << 26;

/// A text of a file as an error shows it: short and without control characters, for it may be anything.
std::string excerpt(std::string_view text);

struct Document {
  nlohmann::json json;
  int version = 0;  ///< of its schema
  [[nodiscard]] Node root(std::string_view origin) const { return {json, origin, version}; }
};

/// Parses within the limits. Throws ReadError, which says of an empty text what could have written such a file.
nlohmann::json parse_json(std::string_view text, std::string_view origin, std::string_view schema);
/// The schema that a document names; empty where it names none.
std::string_view schema_of(const nlohmann::json& json);
/// Checks that it names this schema, of this version or an older one. Throws ReadError.
Document document_of(nlohmann::json json, std::string_view origin, std::string_view schema, int version);
/// Both.
Document parse_document(std::string_view text, std::string_view origin, std::string_view schema, int version);

/// The text of a document, "schema" first, indented. Bytes that are not UTF-8 become U+FFFD.
/// Throws WriteError on a number that is not finite: JSON has none, and a null would read as "not measured".
std::string document_text(nlohmann::ordered_json body, std::string_view schema, int version);

}  // namespace gpubench::storage
