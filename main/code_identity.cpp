// SPDX-License-Identifier: Apache-2.0
#include "main/code_identity.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

namespace gpubench {
namespace {

/// Reads pieces of a file, refusing what lies outside of it.
class Pieces {
 public:
  explicit Pieces(const std::filesystem::path& file) : stream_(file, std::ios::binary) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    if (!error) size_ = size;
  }
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t size) const {
    return offset <= size_ && size <= size_ - offset;
  }
  bool read(std::uint64_t offset, void* target, std::uint64_t size) {
    if (!holds(offset, size)) return false;
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(size));
    return static_cast<std::uint64_t>(stream_.gcount()) == size;
  }

 private:
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

std::optional<std::uint64_t> hash_of(Pieces& file, std::uint64_t offset, std::uint64_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;  // the basis and prime of FNV-1a (RFC 9923)
  std::vector<unsigned char> buffer(std::min<std::uint64_t>(size, std::uint64_t{1} << 20));
  while (size > 0) {
    const std::uint64_t part = std::min<std::uint64_t>(size, buffer.size());
    if (!file.read(offset, buffer.data(), part)) return std::nullopt;
    for (std::uint64_t i = 0; i < part; ++i) hash = (hash ^ buffer[i]) * 0x100000001b3;
    offset += part;
    size -= part;
  }
  return hash;
}

}  // namespace

std::map<std::string, std::string> code_identity(const std::filesystem::path& executable) {
  std::map<std::string, std::string> result;
  Pieces file(executable);
  Elf64_Ehdr header{};
  if (!file.read(0, &header, sizeof(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shstrndx >= header.e_shnum)
    return result;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!file.read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return result;
  const auto is_named = [&](const Elf64_Shdr& section, std::string_view name) {
    std::array<char, 16> text{};
    const Elf64_Shdr& names = sections[header.e_shstrndx];
    if (name.size() + 1 > text.size() || section.sh_name >= names.sh_size) return false;
    return file.read(names.sh_offset + section.sh_name, text.data(), name.size() + 1) &&
           std::string_view(text.data(), name.size() + 1) == std::string_view(name.data(), name.size() + 1);
  };
  for (const auto& [key, name] : {std::pair("host_code", ".text"), std::pair("device_code", ".nv_fatbin")})
    for (const Elf64_Shdr& section : sections)
      if (section.sh_type == SHT_PROGBITS && is_named(section, name))
        if (const auto hash = hash_of(file, section.sh_offset, section.sh_size))
          result[key] = fmt::format("fnv1a64 of {}: {:016x}", name, *hash);
  return result;
}

}  // namespace gpubench
