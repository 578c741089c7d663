// SPDX-License-Identifier: Apache-2.0
// The sections of an ELF file of 64 bits: programs, and the code of a GPU inside of them. Nothing in it is trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/files.h"

namespace gpubench {

/// 64-bit FNV-1a (RFC 9923), of bytes piece by piece.
class Fnv1a64 {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;  ///< SHT_PROGBITS, ...
  std::uint64_t offset = 0;
  std::string_view bytes;  ///< none where it lies outside of the image
};

/// Refers into the bytes that it was read from.
struct ElfImage {
  std::uint16_t machine = 0;     ///< EM_X86_64, EM_CUDA, ...
  std::uint8_t abi_version = 0;  ///< of that machine
  std::uint32_t flags = 0;       ///< likewise
  std::vector<ElfSection> sections;
};

/// Absent for what is no sound one of 64 bits in this machine's byte order.
std::optional<ElfImage> read_elf(std::string_view bytes);

}  // namespace gpubench
