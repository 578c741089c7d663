// SPDX-License-Identifier: Apache-2.0
#include "core/base/elf_image.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <system_error>

namespace gpubench {
namespace {

constexpr std::uint64_t max_bytes_of_names = std::uint64_t{64} << 20;
constexpr unsigned char our_byte_order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

}  // namespace

std::optional<std::string> Bytes::piece(std::uint64_t offset, std::uint64_t size, std::uint64_t max) {
  if (size > max || !lies_within(offset, size, this->size())) return std::nullopt;
  std::string text(size, '\0');
  return read(offset, text.data(), size) ? std::optional(std::move(text)) : std::nullopt;
}

FileBytes::FileBytes(const std::filesystem::path& file) : stream_(file, std::ios::binary) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (!error) size_ = size;
}

bool FileBytes::read(std::uint64_t offset, void* target, std::uint64_t size) {
  if (!lies_within(offset, size, size_)) return false;
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(offset));
  stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(size));
  return static_cast<std::uint64_t>(stream_.gcount()) == size;
}

bool TextBytes::read(std::uint64_t offset, void* target, std::uint64_t size) {
  if (!lies_within(offset, size, text_.size())) return false;
  if (size > 0) std::memcpy(target, text_.data() + offset, size);
  return true;
}

std::optional<ElfImage> read_elf(Bytes& bytes) {
  Elf64_Ehdr header{};
  if (!bytes.read(0, &header, sizeof(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != our_byte_order ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum)
    return std::nullopt;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!bytes.read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return std::nullopt;
  const Elf64_Shdr& table = sections[header.e_shstrndx];
  const auto names = bytes.piece(table.sh_offset, table.sh_size, max_bytes_of_names);
  if (!names) return std::nullopt;
  ElfImage image{header.e_machine, header.e_ident[EI_ABIVERSION], header.e_flags, {}};
  for (const Elf64_Shdr& section : sections) {
    const std::size_t end = section.sh_name < names->size() ? names->find('\0', section.sh_name) : std::string::npos;
    if (end == std::string::npos) continue;  // one without a name is nothing that is looked for
    image.sections.push_back(
        {names->substr(section.sh_name, end - section.sh_name), section.sh_type, section.sh_offset, section.sh_size});
  }
  return image;
}

}  // namespace gpubench
