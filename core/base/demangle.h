// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace gpubench {

/// A function's name as in the source, with its parameters. A name that is not mangled stays as it is.
inline std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> source(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
  return source ? source.get() : name;
}

}  // namespace gpubench
