// SPDX-License-Identifier: Apache-2.0
#include "main/run/context.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <utility>

#include "core/base/elf_image.h"
#include "core/base/time.h"
#include "gpu/devices.h"
#include "gpubench/version.h"

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

}  // namespace

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
  context.environment["os"] = operating_system();
  context.environment["cpu"] = bench::host_device().name;
  context.environment["compiler"] = GPUBENCH_COMPILER;
  context.environment["google_benchmark"] = GPUBENCH_GOOGLE_BENCHMARK_VERSION;
  context.environment.merge(code_identity("/proc/self/exe"));
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
