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
/// All that there are, about as far as `max_size`.
std::string read_whole(Bytes& bytes, std::size_t max_size);
/// All of a file, unpacked, up to 2 GiB.
std::string read_whole(const std::filesystem::path& file);
/// Of a text that outlives them.
std::unique_ptr<Bytes> bytes_of(std::string_view text);
/// Of what gzip or zlib packed.
std::unique_ptr<Bytes> unpacked(std::string_view packed);

/// Bytes as they come, of which a part is in memory. One byte before it may be written to, and `padding` behind it.
class Window {
 public:
  static constexpr std::size_t padding = 64;
  explicit Window(Bytes& bytes) : bytes_(bytes) {}

  [[nodiscard]] char* data() { return buffer_.get() + begin_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] std::string_view text() const { return {buffer_.get() + begin_, size()}; }
  /// Of the first byte in memory.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// All of the bytes have been in memory.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Reads until `size` bytes are in memory, as far as there are.
  bool fill(std::size_t size);
  /// Lets go of the first bytes.
  void pass(std::size_t count) {
    begin_ += count;
    offset_ += count;
  }

 private:
  Bytes& bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0, begin_ = 1, end_ = 1;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace gpubench::timeline
