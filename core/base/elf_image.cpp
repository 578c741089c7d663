// SPDX-License-Identifier: Apache-2.0
#include "core/base/elf_image.h"

#include <elf.h>

#include <bit>
#include <cstring>

namespace gpubench {
namespace {

constexpr unsigned char our_byte_order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

/// Those of [offset, offset + size); none where they lie outside.
std::string_view piece(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  const bool inside = offset <= bytes.size() && size <= bytes.size() - offset;
  return inside ? bytes.substr(offset, size) : std::string_view();
}

}  // namespace

std::optional<ElfImage> read_elf(std::string_view bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != our_byte_order || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shstrndx >= header.e_shnum)
    return std::nullopt;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  const std::string_view table = piece(bytes, header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  if (table.empty()) return std::nullopt;
  std::memcpy(sections.data(), table.data(), table.size());
  const Elf64_Shdr& row_of_names = sections[header.e_shstrndx];
  const std::string_view names = piece(bytes, row_of_names.sh_offset, row_of_names.sh_size);
  if (names.empty()) return std::nullopt;
  ElfImage image{header.e_machine, header.e_ident[EI_ABIVERSION], header.e_flags, {}};
  for (const Elf64_Shdr& section : sections) {
    const std::size_t end = section.sh_name < names.size() ? names.find('\0', section.sh_name) : std::string::npos;
    if (end == std::string::npos) continue;  // one without a name is nothing that is looked for
    image.sections.push_back({names.substr(section.sh_name, end - section.sh_name), section.sh_type, section.sh_offset,
                              piece(bytes, section.sh_offset, section.sh_size)});
  }
  return image;
}

}  // namespace gpubench
