// SPDX-License-Identifier: Apache-2.0
// The sections of an ELF file of 64 bits: programs, and the code of a GPU inside of them. Nothing in it is trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Bytes that are read piece by piece; none outside of them.
class Bytes {
 public:
  virtual ~Bytes() = default;
  /// All of [offset, offset + size), or nothing.
  [[nodiscard]] virtual bool read(std::uint64_t offset, void* target, std::uint64_t size) = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Such a piece as a text; absent also when it is larger than `most`.
  [[nodiscard]] std::optional<std::string> piece(std::uint64_t offset, std::uint64_t size, std::uint64_t max);
};

class FileBytes final : public Bytes {
 public:
  explicit FileBytes(const std::filesystem::path& file);
  bool read(std::uint64_t offset, void* target, std::uint64_t size) override;
  [[nodiscard]] std::uint64_t size() const override { return size_; }

 private:
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

/// Of a text that outlives it.
class TextBytes final : public Bytes {
 public:
  explicit TextBytes(std::string_view text) : text_(text) {}
  bool read(std::uint64_t offset, void* target, std::uint64_t size) override;
  [[nodiscard]] std::uint64_t size() const override { return text_.size(); }

 private:
  std::string_view text_;
};

struct ElfSection {
  std::string name;
  std::uint32_t type = 0;  ///< SHT_PROGBITS, ...
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct ElfImage {
  std::uint16_t machine = 0;     ///< EM_X86_64, EM_CUDA, ...
  std::uint8_t abi_version = 0;  ///< of that machine
  std::uint32_t flags = 0;       ///< likewise
  std::vector<ElfSection> sections;
};

/// Absent for what is no sound one of 64 bits in this machine's byte order. Sections may lie outside of the bytes: what
/// reads them finds out.
std::optional<ElfImage> read_elf(Bytes& bytes);

}  // namespace gpubench
