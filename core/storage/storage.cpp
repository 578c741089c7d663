// SPDX-License-Identifier: Apache-2.0
#include "core/storage/storage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/storage/document.h"

namespace gpubench::storage {
namespace {

/// Parsers may read beyond the end of a text, if its memory goes on; else they would have to copy it.
constexpr std::size_t room_behind_text = 64;

std::string words_of(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail_read(const std::filesystem::path& file, std::string_view why, std::string_view what_to_do) {
  throw ReadError(fmt::format("{}: {}; {}", file.string(), why, what_to_do));
}

[[noreturn]] void fail_write(const std::filesystem::path& file, std::string_view why, std::string_view what_to_do) {
  throw WriteError(fmt::format("{}: cannot be written: {}; {}", file.string(), why, what_to_do));
}

std::string_view write_remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or choose another place";
    case EACCES:
    case EPERM: return "choose a place where you may write, or change its permissions";
    case EFBIG: return "raise the limit on the size of files (ulimit -f)";
    case EMFILE:
    case ENFILE: return "raise the limit on open files (ulimit -n)";
    case EROFS: return "choose a place that is not read-only";
    case ENAMETOOLONG: return "choose a shorter name";
    default: return "choose another place";
  }
}

[[noreturn]] void fail_write(const std::filesystem::path& file, int error) {
  fail_write(file, words_of(error), write_remedy(error));
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  const auto folder = file.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

void make_folder_of(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::create_directories(folder_of(file), error);
  if (error)
    fail_write(file, fmt::format("its folder cannot be made: {}", error.message()), write_remedy(error.value()));
}

/// Refuses what a rename would wrongly replace or could not replace.
void check_target(const std::filesystem::path& file) {
  if (file.filename().empty() || file.filename() == "." || file.filename() == "..")
    fail_write(file, "it is not a file name", "add a name such as run.json");
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    fail_write(file, errno);
  }
  if (S_ISDIR(status.st_mode)) fail_write(file, "it is a folder", "add a file name such as run.json");
  if (S_ISLNK(status.st_mode)) return;  // the link itself is replaced, not what it points to
  if (!S_ISREG(status.st_mode)) fail_write(file, "it is not a regular file", "choose another name");
  if (::access(file.c_str(), W_OK) != 0) fail_write(file, errno);
}

/// In a sticky folder (/tmp) only the owner of a file or of the folder may replace it.
void check_sticky(const std::filesystem::path& file) {
  struct stat folder {};
  struct stat target {};
  if (::stat(folder_of(file).c_str(), &folder) != 0 || ::lstat(file.c_str(), &target) != 0) return;
  const uid_t user = ::geteuid();
  if ((folder.st_mode & S_ISVTX) != 0 && user != 0 && user != folder.st_uid && user != target.st_uid)
    fail_write(file, "it belongs to another user", "choose another name");
}

constexpr int gzip_format = MAX_WBITS + 16;

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// Stops where it would hold more than a file may have. Further members, as `cat a.gz b.gz` makes, are not read.
std::string unzipped(const std::filesystem::path& file, std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, gzip_format) != Z_OK) fail_read(file, "no memory to decompress it", "close other programs");
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());  // at most max_file_bytes
  std::string text;
  int state = Z_OK;
  while (state == Z_OK && text.size() <= max_file_bytes) {
    constexpr std::size_t part = std::size_t{1} << 20;
    text.resize(text.size() + part);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + text.size() - part);
    stream.avail_out = part;
    state = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (text.size() > max_file_bytes)
    fail_read(file, fmt::format("has over {} bytes when decompressed, which is the limit", max_file_bytes),
              "give a file written by gpubench");
  if (state == Z_BUF_ERROR || state == Z_OK) fail_read(file, "ends in the middle", "write or copy it again");
  if (state != Z_STREAM_END) fail_read(file, "is not valid gzip", remedy);
  text.reserve(text.size() + room_behind_text);
  return text;
}

}  // namespace

std::string compressed(std::string_view text) {
  z_stream stream{};
  constexpr int memory_level = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_format, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string bytes(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, Z_FINISH);  // there is room for all of it
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

bool is_gzip_name(const std::filesystem::path& file) { return lower(file.extension().string()) == ".gz"; }

std::string read_text(const std::filesystem::path& file) {
  std::string text;
  read_text(file, text);
  return text;
}

void read_text(const std::filesystem::path& file, std::string& text) {
  // Not blocking, so that a pipe without a writer is refused below instead of waited for.
  const Descriptor input(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!input.open())
    fail_read(file, fmt::format("cannot be read: {}", words_of(errno)),
              errno == ENOENT ? "check the name" : "check the file and its permissions");
  struct stat status {};
  if (::fstat(input.number(), &status) != 0) fail_read(file, words_of(errno), "check the file");
  if (S_ISDIR(status.st_mode)) fail_read(file, "is a folder", "give a file inside it");
  if (!S_ISREG(status.st_mode)) fail_read(file, "is not a regular file", "store its contents in a file first");
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size > max_file_bytes)
    fail_read(file, fmt::format("has {} bytes, over the limit of {}", size, max_file_bytes),
              "give a file written by gpubench");
  text.reserve(size + room_behind_text);
  text.resize(size);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(input.number(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(file, fmt::format("cannot be read: {}", words_of(errno)), "check the disk");
    if (count == 0) break;  // it may have shrunk while it was read; the parser tells whether it is whole
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  if (is_gzip(text)) text = unzipped(file, text);
}

Run read_run(const std::filesystem::path& file) { return run_from_json(read_text(file), file.string()); }

Run read_slim_run(const std::filesystem::path& file) { return slim_run_from_json(read_text(file), file.string()); }

Calibration read_calibration(const std::filesystem::path& file) {
  return calibration_from_json(read_text(file), file.string());
}

std::vector<Calibration> read_calibrations(const std::filesystem::path& file) {
  return calibrations_from_json(read_text(file), file.string());
}

Calibration read_calibration_for(const std::filesystem::path& file, const std::vector<Device>& devices) {
  std::vector<Calibration> all = read_calibrations(file);
  if (all.empty()) throw ReadError(fmt::format("{} is a run without a calibration.", file.string()));
  const auto likeness = [&](const Calibration& one) {
    int best = 0;
    for (const Device& device : devices)
      if (device.kind == one.device.kind) best = std::max(best, device.name == one.device.name ? 2 : 1);
    return best;
  };
  return std::move(*std::ranges::max_element(all, {}, likeness));
}

void check_writable(const std::filesystem::path& file) {
  make_folder_of(file);
  check_target(file);
  check_sticky(file);
  const TemporaryFile probe(folder_of(file));
  if (probe.error() != 0) fail_write(file, probe.error());
  // A disk that is full takes a new name but no bytes.
  if (const int error = write_all(probe.descriptor(), std::string(4096, ' ')); error != 0) fail_write(file, error);
  if (const int error = probe.descriptor().sync(); error != 0) fail_write(file, error);
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  write_file(file, [&](const Sink& sink) { sink(text); });
}

void write_file(const std::filesystem::path& file, const std::function<void(const Sink&)>& fill) {
  make_folder_of(file);
  check_target(file);
  TemporaryFile beside(folder_of(file));
  if (beside.error() != 0) fail_write(file, beside.error());
  fill([&](std::string_view part) {
    if (const int error = write_all(beside.descriptor(), part); error != 0) fail_write(file, error);
  });
  if (const int error = beside.keep_as(file); error != 0) fail_write(file, error);
}

void write_for_reading(const std::filesystem::path& file, std::string_view text, std::uintmax_t max_bytes) {
  if (text.size() > max_bytes)
    fail_write(file, fmt::format("it would have {} bytes, and no more than {} are read again", text.size(), max_bytes),
               "measure in several runs (--filter), or take fewer samples (->Iterations)");
  if (is_gzip_name(file)) return write_file(file, compressed(text));
  write_file(file, text);
}

}  // namespace gpubench::storage
