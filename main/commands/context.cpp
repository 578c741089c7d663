// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "bench/devices.h"
#include "core/base/elf_image.h"
#include "core/base/time.h"
#include "gpubench/version.h"
#include "main/commands/commands.h"

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

std::optional<std::uint64_t> hash_of(Bytes& file, std::uint64_t offset, std::uint64_t size) {
  Fnv1a64 hash;
  constexpr std::uint64_t max = std::uint64_t{1} << 20;
  while (size > 0) {
    const std::uint64_t part = std::min(size, max);
    const auto bytes = file.piece(offset, part, max);
    if (!bytes) return std::nullopt;
    hash.add(*bytes);
    offset += part;
    size -= part;
  }
  return hash.value();
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
  // Some packages of it do not tell their version.
  const std::string google_benchmark{GPUBENCH_GOOGLE_BENCHMARK_VERSION};
  context.environment["google_benchmark"] = google_benchmark.empty() ? "version unknown" : google_benchmark;
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
  FileBytes file(executable);
  const auto image = read_elf(file);
  if (!image) return result;
  for (const auto& [key, name] : {std::pair("host_code", ".text"), std::pair("device_code", ".nv_fatbin")})
    for (const ElfSection& section : image->sections)
      if (section.type == SHT_PROGBITS && section.name == name)
        if (const auto hash = hash_of(file, section.offset, section.size))
          result[key] = fmt::format("fnv1a64 of {}: {:016x}", name, *hash);
  return result;
}

}  // namespace gpubench
