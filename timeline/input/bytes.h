// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, read once and in order, unpacked on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace gpubench::timeline {

class Bytes {
 public:
  virtual ~Bytes() = default;
  /// Fills `to` but at the end, where fewer bytes come, and then none.
  virtual std::size_t read(char* to, std::size_t size) = 0;
  /// How much of the file has been read, from 0 to 1.
  [[nodiscard]] virtual double share() const = 0;
  /// Why the bytes ended before their end: "its gzip data break off at byte 7"; else empty.
  [[nodiscard]] virtual std::string cut() const = 0;
};

/// Of a file, which gzip or Zstandard may have packed, whatever its name. Throws storage::ReadError.
std::unique_ptr<Bytes> open_bytes(const std::filesystem::path& file);
/// All of a file, unpacked, up to 2 GiB.
std::string read_whole(const std::filesystem::path& file);
/// Of a text that outlives them.
std::unique_ptr<Bytes> bytes_of(std::string_view text);

}  // namespace gpubench::timeline
