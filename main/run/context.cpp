// SPDX-License-Identifier: Apache-2.0
#include "main/run/context.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/cores.h"
#include "core/base/elf_image.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "gpu/devices.h"
#include "gpubench/version.h"
#include "main/embedding.h"

namespace gpubench {
namespace {

std::string operating_system() {
  std::ifstream file("/etc/os-release");
  std::string line;
  constexpr std::string_view head = "PRETTY_NAME=";
  while (std::getline(file, line)) {
    if (!line.starts_with(head)) continue;
    line.erase(0, head.size());
    std::erase(line, '"');
    return line;
  }
  return "Linux";
}

/// Where a compiler keeps them: GCC's -frecord-gcc-switches, and what -g says of who produced the code.
std::string compiler_flags(const std::filesystem::path& executable) {
  const MappedFile file(executable);
  const auto image = read_elf(file.bytes());
  if (!image) return {};
  constexpr std::size_t max_bytes = std::size_t{1} << 26;
  std::string strings;
  for (const ElfSection& section : image->sections)
    for (const std::string_view name : {".GCC.command.line", ".debug_str", ".debug_line_str"})
      if (section.name == name) strings.append(section.bytes.substr(0, max_bytes)).push_back('\0');
  return flags_in(strings);
}

/// How many libraries this process has loaded and unloaded so far.
std::pair<unsigned long long, unsigned long long> library_changes() {
  std::pair<unsigned long long, unsigned long long> changes;
  (void)dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        *static_cast<decltype(changes)*>(found) = {info->dlpi_adds, info->dlpi_subs};
        return 1;
      },
      &changes);
  return changes;
}

/// "libcublas.so.12.6.4.1 libcudart.so.12.6.77": those of NVIDIA that are loaded, as their files are named.
std::string loaded_libraries() {
  std::set<std::string> names;
  (void)dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        constexpr std::string_view wanted[] = {"libcublas", "libcudnn",  "libcufft", "libcusparse", "libcusolver",
                                               "libcudart", "libcurand", "libnccl",  "libnvrtc",    "libcutensor"};
        const std::filesystem::path file(info->dlpi_name);
        const std::string name = file.filename().string();
        std::error_code none;
        if (std::ranges::any_of(wanted, [&](std::string_view head) { return name.starts_with(head); }))
          static_cast<std::set<std::string>*>(found)->insert(
              std::filesystem::canonical(file, none).filename().string());
        return 0;
      },
      &names);
  return joined(names, " ");
}

}  // namespace

std::string flags_in(std::string_view strings) {
  std::set<std::string> flags;
  constexpr std::string_view producer = "GNU C";
  for (std::size_t at = strings.find(producer); at != std::string_view::npos; at = strings.find(producer, at)) {
    std::string_view line = strings.substr(at);
    line = line.substr(0, line.find('\0'));
    at += line.size();
    std::istringstream words{std::string(line)};
    for (std::string word; words >> word;)
      if (word.starts_with('-')) flags.insert(word);
  }
  constexpr std::size_t max_flags_bytes = 4096;
  std::string text = joined(flags, " ");
  return text.size() <= max_flags_bytes ? text : std::string();
}

Context gather_context(const std::string& program, const std::vector<std::string>& arguments) {
  Context context;
  context.gpubench_version = std::string(version);
  context.created_utc = utc_now();
  context.program = std::filesystem::path(program).filename().string();
  context.arguments = arguments;
  utsname names{};
  if (uname(&names) == 0) {
    context.host = names.nodename;
    context.environment["kernel"] = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  // Of this process, and the same in each of its runs.
  static const std::string system = operating_system(), processor = bench::host_device().name;
  context.environment["os"] = system;
  context.environment["cpu"] = processor;
  if (usable_cores() < affinity_cores())
    context.environment["core_limit"] = fmt::format("{} of {}", usable_cores(), affinity_cores());
  context.environment["compiler"] = GPUBENCH_COMPILER;
  context.environment["google_benchmark"] = GPUBENCH_GOOGLE_BENCHMARK_VERSION;
  static const std::map<std::string, std::string> identity = code_identity("/proc/self/exe");
  static const std::string flags = compiler_flags("/proc/self/exe");
  Embedding::Known& known = embedding().known;  // a program with PyTorch has hundreds
  if (const auto changes = library_changes(); changes != known.library_changes) {
    known.libraries = loaded_libraries();
    known.library_changes = changes;
  }
  context.environment.insert(identity.begin(), identity.end());
  for (const auto& [key, text] : {std::pair("compiler_flags", flags), std::pair("libraries", known.libraries)})
    if (!text.empty()) context.environment[key] = text;
#ifdef NDEBUG
  context.environment["build"] = "optimised";
#else
  context.environment["build"] = "debug";
#endif
  return context;
}

std::map<std::string, std::string> code_identity(const std::filesystem::path& executable) {
  std::map<std::string, std::string> result;
  const MappedFile file(executable);
  const auto image = read_elf(file.bytes());
  if (!image) return result;
  for (const auto& [key, name] : {std::pair("host_code", ".text"), std::pair("device_code", ".nv_fatbin")})
    for (const ElfSection& section : image->sections) {
      if (section.type != SHT_PROGBITS || section.name != name || section.bytes.empty()) continue;
      Fnv1a64 hash;
      hash.add(section.bytes);
      result[key] = fmt::format("fnv1a64 of {}: {:016x}", name, hash.value());
    }
  return result;
}

}  // namespace gpubench
