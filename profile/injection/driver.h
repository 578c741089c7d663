// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <dlfcn.h>

namespace gpubench::profile {

/// A function of the driver that the program uses; null where it has none.
template <class Function>
Function driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function>(library == nullptr ? nullptr : dlsym(library, name));
}

}  // namespace gpubench::profile
