// SPDX-License-Identifier: Apache-2.0
#include "gpu/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "doctor/doctor.h"

namespace gpubench::doctor {
namespace {

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return {};
  std::error_code error;
  const auto real = std::filesystem::canonical(map->l_name, error);
  return error ? map->l_name : real.string();
}

template <class Function>
Function* function_in(void* handle, const char* name) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

using Version = std::string (*)(void* handle);

std::optional<int> cuda_of(void* handle) {
  const auto get = function_in<int(int*)>(handle, "cuDriverGetVersion");
  int version = 0;
  return get != nullptr && get(&version) == 0 && version > 0 ? std::optional(version) : std::nullopt;
}

std::string cuda_version(void* handle) {
  const auto version = cuda_of(handle);
  return version ? "CUDA " + cuda_version_text(*version) : "";
}

std::string cupti_version(void* handle) {
  const auto get = function_in<int(std::uint32_t*)>(handle, "cuptiGetVersion");
  std::uint32_t version = 0;
  return get != nullptr && get(&version) == 0 ? fmt::format("API {}", version) : "";
}

std::string nvml_version(void* handle) {
  const auto init = function_in<int()>(handle, "nvmlInit_v2");
  const auto shutdown = function_in<int()>(handle, "nvmlShutdown");
  const auto get = function_in<int(char*, unsigned)>(handle, "nvmlSystemGetNVMLVersion");
  if (init == nullptr || shutdown == nullptr || get == nullptr || init() != 0) return {};
  char text[96] = {};
  const bool known = get(text, sizeof(text)) == 0;
  shutdown();
  return known ? text : "";
}

std::string cublaslt_version(void* handle) {
  const auto get = function_in<std::size_t()>(handle, "cublasLtGetVersion");
  if (get == nullptr) return {};
  const std::size_t version = get();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

Library look_up(const char* name, const std::vector<std::string>& files, Version version) {
  Library library{name, "", "", ""};
  void* const handle = bench::open_library(files, library.reason);
  if (handle == nullptr) return library;
  library.reason.clear();
  library.path = path_of(handle);
  if (version != nullptr) library.version = version(handle);
  return library;
}

}  // namespace

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::vector<Library> gather_libraries() {
  const std::vector<std::string> cupti_folders = {"extras/CUPTI/lib64", "lib64", "lib"};
  std::vector<Library> libraries;
  libraries.push_back(look_up("libcuda", {"libcuda.so.1"}, cuda_version));
  libraries.push_back(look_up("libnvidia-ml", {"libnvidia-ml.so.1"}, nvml_version));
  libraries.push_back(look_up(
      "libcublasLt", bench::library_files({"libcublasLt.so.13", "libcublasLt.so.12"}, {"lib64"}), cublaslt_version));
  libraries.push_back(look_up("libcupti",
                              bench::library_files({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, cupti_folders),
                              cupti_version));
  // CUPTI takes it from its own folder.
  std::vector<std::string> files = bench::library_files({"libnvperf_host.so"}, cupti_folders);
  if (const auto slash = libraries.back().path.rfind('/'); slash != std::string::npos)
    files.insert(files.begin(), libraries.back().path.substr(0, slash) + "/libnvperf_host.so");
  libraries.push_back(look_up("libnvperf_host", files, nullptr));
  return libraries;
}

std::optional<int> driver_cuda_version() {
  std::string reason;
  void* const handle = bench::open_library({"libcuda.so.1"}, reason);
  return handle != nullptr ? cuda_of(handle) : std::nullopt;
}

}  // namespace gpubench::doctor
