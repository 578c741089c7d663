// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "profile/spool.h"

namespace gpubench::profile {
namespace {

constexpr std::size_t held_bytes = std::size_t{1} << 18U;

}  // namespace

SpoolWriter::SpoolWriter(const std::filesystem::path& file, const SpoolHeader& header, std::uint64_t max_bytes)
    : file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600)), max_bytes_(max_bytes) {
  held_.reserve(2 * held_bytes);
  append(&header, sizeof header);
  flush();
}

SpoolWriter::~SpoolWriter() {
  flush();
  if (file_ >= 0) ::close(file_);
}

std::uint32_t SpoolWriter::name(std::string_view text) {
  text = text.substr(0, max_name_bytes);
  if (text.empty()) return 0;
  if (const auto place = names_.find(text); place != names_.end()) return place->second;
  const NameRecord record{.number = static_cast<std::uint32_t>(names_.size() + 1),
                          .bytes = static_cast<std::uint32_t>(text.size())};
  names_.emplace(text, record.number);
  add(record);
  append(text.data(), text.size());
  return record.number;
}

std::uint32_t SpoolWriter::shape(std::uint8_t device, std::uint32_t name, const traces::LaunchShape& shape) {
  const auto [place, fresh] = shapes_.try_emplace({{device, name}, shape}, static_cast<std::uint32_t>(shapes_.size()));
  if (fresh) add(ShapeRecord{.device = device, .number = place->second, .name = name, .shape = shape});
  return place->second;
}

void SpoolWriter::counted(std::uint32_t correlation, const std::vector<std::pair<std::uint32_t, double>>& values) {
  add(CountedRecord{.values = static_cast<std::uint16_t>(values.size()), .correlation = correlation});
  for (const auto& [metric, value] : values) {
    append(&metric, sizeof metric);
    append(&value, sizeof value);
  }
}

void SpoolWriter::note(std::string_view sentence, bool about_counters) {
  add(NoteRecord{.about_counters = static_cast<std::uint8_t>(about_counters), .name = name(sentence)});
}

void SpoolWriter::append(const void* bytes, std::size_t count) {
  if (!open()) return;
  const auto* const first = static_cast<const std::uint8_t*>(bytes);
  held_.insert(held_.end(), first, first + count);
  // A flush must not part a name or a counted launch from what follows it, so it waits for the next record.
  if (held_.size() >= held_bytes) flush();
}

void SpoolWriter::flush() {
  if (file_ < 0 || full_) return;
  if (written_ + held_.size() > max_bytes_) {
    // What no longer fits is lost as a whole, and a last record says so.
    full_ = true;
    return;
  }
  for (std::size_t at = 0; at < held_.size();) {
    const ssize_t done = ::write(file_, held_.data() + at, held_.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      full_ = true;  // the reader takes what is whole
      break;
    }
    at += static_cast<std::size_t>(done);
    written_ += static_cast<std::uint64_t>(done);
  }
  held_.clear();
}

}  // namespace gpubench::profile
