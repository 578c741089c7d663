// SPDX-License-Identifier: Apache-2.0
#include "main/commands/code_identity.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/elf_image.h"

namespace gpubench {
namespace {

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
