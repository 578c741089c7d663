// SPDX-License-Identifier: Apache-2.0
#include "gpu/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <cstdlib>

namespace gpubench::bench {

std::vector<std::string> library_files(const std::vector<std::string>& names, const std::vector<std::string>& folders) {
  std::vector<std::string> files = names;
  for (const char* root :
       std::array<const char*, 3>{std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"})
    for (const std::string& folder : root != nullptr && *root != '\0' ? folders : std::vector<std::string>())
      for (const std::string& name : names) files.push_back(fmt::format("{}/{}/{}", root, folder, name));
  return files;
}

void* open_library(const std::vector<std::string>& files, std::string& reason) {
  for (const std::string& file : files) {
    if (void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* const text = dlerror();
    if (reason.empty()) reason = text != nullptr ? text : file;
  }
  return nullptr;
}

std::string uuid_text(const char* bytes) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i)
    text += fmt::format("{}{:02x}", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                        static_cast<unsigned char>(bytes[i]));
  return text;
}

std::optional<std::string> loaded_library(std::string_view name) {
  struct Search {
    std::string_view name;
    std::optional<std::string> found;
  } search{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* place) {
        auto& wanted = *static_cast<Search*>(place);
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with(wanted.name)) wanted.found = path;
        return static_cast<int>(wanted.found.has_value());
      },
      &search);
  return search.found;
}

}  // namespace gpubench::bench
