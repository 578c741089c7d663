// SPDX-License-Identifier: Apache-2.0
// A document read part by part, so that memory does not grow with all of it.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace gpubench::storage {

struct PartsOptions {
  std::string_view list;                        ///< the member of the document whose elements are parts
  std::set<std::string, std::less<>> left_out;  ///< inside parts: lists of these names are read as empty
  /// Takes a part, and which it is. What it throws as ReadError is thrown once the whole document is known to be sound
  /// JSON of the right schema, for else that is what should be said.
  std::function<void(nlohmann::json&& part, std::size_t index)> take;
};

/// As parse_document, but each element of the list goes to `take` as soon as it is read, and the list of the document
/// that is returned is empty. Throws ReadError.
nlohmann::json parse_parts(std::string_view text, std::string_view origin, std::string_view schema, int version,
                           const PartsOptions& options);

}  // namespace gpubench::storage
