// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace gpubench {

/// The first of these variables of the environment that holds something; empty where none does.
inline std::string environment(std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return {};
}
inline std::string environment(const char* name) { return environment({name}); }

}  // namespace gpubench
