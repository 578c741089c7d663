// SPDX-License-Identifier: Apache-2.0
// What the objects of this process call in libraries that they link to.
#pragma once

#include <span>
#include <string_view>

namespace gpubench::profile {

struct Import {
  std::string_view name;
  void* instead = nullptr;
};

/// Objects that link to a library whose file begins with `library` call `instead` from here on, for each import of
/// these names. Does nothing for those that asked the loader for the function (dlsym). May be called again, for objects
/// that were loaded since.
void redirect_imports(std::string_view library, std::span<const Import> imports);

}  // namespace gpubench::profile
