// SPDX-License-Identifier: Apache-2.0
#include "profile/recording_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/time.h"

namespace gpubench::profile {
namespace {

constexpr std::size_t held_bytes = std::size_t{1} << 18U;
/// What is written at most once the limit is reached: what is held, a last record and the note.
constexpr std::uint64_t last_bytes = held_bytes + 2 * max_name_bytes + 4096;

/// At most as many bytes as the program's own limit on files leaves (RLIMIT_FSIZE): the system would end the program.
std::uint64_t within_limit_on_files(std::uint64_t max_bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return max_bytes;
  return std::min<std::uint64_t>(max_bytes, limit.rlim_cur > last_bytes ? limit.rlim_cur - last_bytes : 0);
}

}  // namespace

RecordingWriter::RecordingWriter(const std::filesystem::path& file, const RecordingHeader& header,
                                 std::uint64_t max_bytes)
    : header_(header),
      file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600)),
      max_bytes_(within_limit_on_files(max_bytes)) {
  held_.reserve(2 * held_bytes);
  restart();
}

void RecordingWriter::restart() {
  full_ = ending_ = file_ >= 0 && ::ftruncate(file_, 0) != 0;
  written_ = 0;
  held_.clear();
  names_.clear();
  shapes_.clear();
  hold(&header_, sizeof header_);
  disk_full_ = name(
      "The disk was full while a process was recorded, and what came later is not in the recording. Make room, or name "
      "another folder with --keep.");
  flush();
}

RecordingWriter::~RecordingWriter() {
  flush();
  if (file_ >= 0) ::close(file_);
}

std::uint32_t RecordingWriter::name(std::string_view text) {
  text = text.substr(0, max_name_bytes);
  if (text.empty()) return 0;
  if (const auto place = names_.find(text); place != names_.end()) return place->second;
  const NameRecord record{.number = static_cast<std::uint32_t>(names_.size() + 1),
                          .bytes = static_cast<std::uint32_t>(text.size())};
  names_.emplace(text, record.number);
  hold(&record, sizeof record);
  hold(text.data(), text.size());
  flush_if_much();
  return record.number;
}

std::uint32_t RecordingWriter::shape(std::uint8_t device, std::uint32_t name, const timeline::LaunchShape& shape) {
  const auto [place, fresh] = shapes_.try_emplace({{device, name}, shape}, static_cast<std::uint32_t>(shapes_.size()));
  if (fresh) add(ShapeRecord{.device = device, .number = place->second, .name = name, .shape = shape});
  return place->second;
}

void RecordingWriter::counted(std::uint32_t correlation, const std::vector<std::pair<std::uint32_t, double>>& values) {
  const CountedRecord record{.values = static_cast<std::uint16_t>(values.size()), .correlation = correlation};
  hold(&record, sizeof record);
  for (const auto& [metric, value] : values) {
    hold(&metric, sizeof metric);
    hold(&value, sizeof value);
  }
  flush_if_much();
}

void RecordingWriter::held_up(std::string_view by, std::int64_t since_ns) {
  CallRecord record{.kind = RecordKind::overhead,
                    .start = halves(static_cast<std::uint64_t>(since_ns)),
                    .name = name(by),
                    .thread = static_cast<std::uint32_t>(gettid())};
  set_duration(record, static_cast<std::uint64_t>(std::max<std::int64_t>(utc_nanoseconds() - since_ns, 0)));
  add(record);
}

void RecordingWriter::note(std::string_view sentence, bool about_counters) {
  add(NoteRecord{.about_counters = static_cast<std::uint8_t>(about_counters), .name = name(sentence)});
}

void RecordingWriter::hold(const void* bytes, std::size_t count) {
  if (!open()) return;
  const auto* const first = static_cast<const std::uint8_t*>(bytes);
  held_.insert(held_.end(), first, first + count);
}

void RecordingWriter::flush_if_much() {
  if (held_.size() >= held_bytes && !ending_) flush();
}

void RecordingWriter::flush() {
  if (file_ < 0 || full_) return;
  const bool last = written_ + held_.size() > max_bytes_;
  if (last && !ending_) {
    ending_ = true;  // a note may make it a little longer
    note(
        "The recording of a process reached its limit on disk, and what came later is not in it. Record less with "
        "--range, --start-after and --duration, or allow more with --max-recording. In a session of one's own, call "
        "reset() now and then.");
    add(EndRecord{});
  }
  const std::uint64_t whole = written_;
  for (std::size_t at = 0; at < held_.size();) {
    const ssize_t done = ::write(file_, held_.data() + at, held_.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      full_ = true;
      // What is whole stays, and in the room of what is not a note, if there was some.
      const NoteRecord why{.name = disk_full_};
      const EndRecord end;
      if ((done < 0 && errno != ENOSPC && errno != EDQUOT) || ::ftruncate(file_, static_cast<off_t>(whole)) != 0) break;
      if (::write(file_, &why, sizeof why) == static_cast<ssize_t>(sizeof why)) (void)!::write(file_, &end, sizeof end);
      break;
    }
    at += static_cast<std::size_t>(done);
    written_ += static_cast<std::uint64_t>(done);
  }
  held_.clear();
  full_ = full_ || last;
}

}  // namespace gpubench::profile
