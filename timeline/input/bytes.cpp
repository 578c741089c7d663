// SPDX-License-Identifier: Apache-2.0
#include "timeline/input/bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#ifdef GPUBENCH_WITH_ZSTD
#include <zstd.h>
#endif

#include "core/storage/storage.h"

namespace gpubench::timeline {
namespace {

struct Close {
  void operator()(std::FILE* opened) const { static_cast<void>(std::fclose(opened)); }
};
using Opened = std::unique_ptr<std::FILE, Close>;

/// A file, a part of which is in memory.
class FileBytes : public Bytes {
 public:
  FileBytes(Opened input, std::uint64_t size) : input_(std::move(input)), size_(size) {}
  std::size_t read(char* to, std::size_t size) override {
    const std::size_t count = std::fread(to, 1, size, input_.get());
    read_ += count;
    return count;
  }
  [[nodiscard]] double share() const override {
    return size_ == 0 ? 1.0 : static_cast<double>(read_ - waiting()) / static_cast<double>(size_);
  }
  [[nodiscard]] std::string cut() const override { return cut_; }

 protected:
  /// Packed bytes that were read and not unpacked yet.
  [[nodiscard]] virtual std::uint64_t waiting() const { return 0; }
  void damaged(std::string_view packer, std::uint64_t left, std::string_view why) {
    cut_ = fmt::format("its {} data are damaged at byte {} of {}: {}", packer, read_ - left, size_, why);
  }
  void broken_off(std::string_view packer) { cut_ = fmt::format("its {} data break off at byte {}", packer, read_); }
  std::vector<char> packed_ = std::vector<char>(std::size_t{1} << 18);

 private:
  Opened input_;
  std::uint64_t read_ = 0, size_;
  std::string cut_;
};

class GzipBytes : public FileBytes {
 public:
  GzipBytes(Opened input, std::uint64_t size) : FileBytes(std::move(input), size) {
    if (inflateInit2(&stream_, 15 + 32) != Z_OK) throw std::bad_alloc();
  }
  ~GzipBytes() override { inflateEnd(&stream_); }
  GzipBytes& operator=(GzipBytes&&) = delete;  ///< not copied, not moved
  std::size_t read(char* to, std::size_t size) override {
    std::size_t count = 0;
    while (count < size && cut().empty() && !ended_) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
        stream_.avail_in = static_cast<uInt>(FileBytes::read(packed_.data(), packed_.size()));
        if (stream_.avail_in == 0) {
          if (within_) broken_off("gzip");
          break;
        }
      }
      stream_.next_out = reinterpret_cast<Bytef*>(to + count);
      stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(size - count, 1U << 30));
      const uInt room = stream_.avail_out;
      const int state = inflate(&stream_, Z_NO_FLUSH);
      count += room - stream_.avail_out;
      if (state == Z_STREAM_END) {
        members_ = true;
        within_ = false;
        inflateReset(&stream_);  // another may follow
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        // What follows a whole member and is none is padding.
        if (members_ && !within_)
          ended_ = true;
        else
          damaged("gzip", stream_.avail_in, stream_.msg != nullptr ? stream_.msg : "it cannot be unpacked");
      } else {
        within_ = true;
      }
    }
    return count;
  }

 protected:
  [[nodiscard]] std::uint64_t waiting() const override { return stream_.avail_in; }

 private:
  z_stream stream_{};
  bool within_ = false, members_ = false, ended_ = false;
};

#ifdef GPUBENCH_WITH_ZSTD
class ZstdBytes : public FileBytes {
 public:
  ZstdBytes(Opened input, std::uint64_t size) : FileBytes(std::move(input), size), unpacker_(ZSTD_createDStream()) {
    if (!unpacker_) throw std::bad_alloc();
  }
  std::size_t read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos < size && cut().empty()) {
      if (in_.pos == in_.size) {
        in_ = {packed_.data(), FileBytes::read(packed_.data(), packed_.size()), 0};
        if (in_.size == 0) {
          if (within_) broken_off("Zstandard");
          break;
        }
      }
      const std::size_t state = ZSTD_decompressStream(unpacker_.get(), &out, &in_);
      if (ZSTD_isError(state) != 0) damaged("Zstandard", in_.size - in_.pos, ZSTD_getErrorName(state));
      within_ = state != 0;
    }
    return out.pos;
  }

 protected:
  [[nodiscard]] std::uint64_t waiting() const override { return in_.size - in_.pos; }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> unpacker_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool within_ = false;
};
#endif

}  // namespace

std::unique_ptr<Bytes> open_bytes(const std::filesystem::path& file) {
  std::error_code error;
  const auto refuse = [&](std::string_view why, std::string_view what_to_do) {
    throw storage::ReadError(fmt::format("{}: {}; {}", file.string(), why, what_to_do));
  };
  const auto kind = std::filesystem::status(file, error).type();
  if (kind == std::filesystem::file_type::not_found)
    refuse("cannot be read: No such file or directory", "check the name");
  if (kind != std::filesystem::file_type::regular) refuse("is not a regular file", "give the file of a trace");
  const std::uint64_t size = std::filesystem::file_size(file, error);
  Opened input(std::fopen(file.c_str(), "rb"));
  if (!input) refuse("cannot be read: " + std::generic_category().message(errno), "check the file and its permissions");
  std::array<unsigned char, 4> magic = {};
  if (std::fread(magic.data(), 1, magic.size(), input.get()) < magic.size()) magic = {};
  std::rewind(input.get());
  if (magic == std::array<unsigned char, 4>{0x28, 0xB5, 0x2F, 0xFD}) {
#ifdef GPUBENCH_WITH_ZSTD
    return std::make_unique<ZstdBytes>(std::move(input), size);
#else
    refuse("is packed by Zstandard, which this gpubench was built without",
           "unpack it with 'zstd -d', or build gpubench with libzstd-dev installed");
#endif
  }
  if (magic[0] == 0x1F && magic[1] == 0x8B) return std::make_unique<GzipBytes>(std::move(input), size);
  return std::make_unique<FileBytes>(std::move(input), size);
}

std::string read_whole(Bytes& bytes, std::size_t max_size) {
  constexpr std::size_t part = std::size_t{1} << 20;
  std::string text;
  for (std::size_t got = part; got == part && text.size() < max_size;) {
    text.resize(text.size() + part);
    got = bytes.read(text.data() + text.size() - part, part);
    text.resize(text.size() - part + got);
  }
  return text;
}

std::string read_whole(const std::filesystem::path& file) {
  return read_whole(*open_bytes(file), std::size_t{1} << 31);
}

namespace {

Opened opened(std::string_view text) {
  Opened input(text.empty() ? std::fopen("/dev/null", "rb")
                            : fmemopen(const_cast<char*>(text.data()), text.size(), "rb"));
  if (!input) throw std::bad_alloc();
  return input;
}

}  // namespace

std::unique_ptr<Bytes> bytes_of(std::string_view text) {
  return std::make_unique<FileBytes>(opened(text), text.size());
}

std::unique_ptr<Bytes> unpacked(std::string_view packed) {
  return std::make_unique<GzipBytes>(opened(packed), packed.size());
}

bool Window::fill(std::size_t size) {
  if (this->size() >= size || ended_) return this->size() >= size;
  if (begin_ + size + padding > capacity_) {
    const std::size_t held = this->size();
    std::unique_ptr<char[]> moved;
    if (1 + size + padding > capacity_) {
      capacity_ = 1 + size + padding;
      moved.reset(new char[capacity_]);
    }
    char* const to = (moved ? moved : buffer_).get();
    if (held > 0) std::memmove(to + 1, buffer_.get() + begin_, held);
    if (moved) buffer_ = std::move(moved);
    begin_ = 1;
    end_ = 1 + held;
  }
  const std::size_t wanted = size - this->size();
  const std::size_t got = bytes_.read(buffer_.get() + end_, wanted);
  end_ += got;
  ended_ = got < wanted;
  std::memset(buffer_.get() + end_, 0, padding);
  return !ended_;
}

}  // namespace gpubench::timeline
