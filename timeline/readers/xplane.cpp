// SPDX-License-Identifier: Apache-2.0
// XLA's own format, XSpace, which JAX's profiler writes as .xplane.pb: planes of lines of events, by the numbers of its
// public schema (tsl/profiler/protobuf/xplane.proto). GPUs are planes, and their streams lines.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "timeline/input/bytes.h"
#include "timeline/input/chrome_xla.h"
#include "timeline/input/common.h"
#include "timeline/input/protobuf.h"
#include "timeline/readers.h"

namespace gpubench::timeline {
namespace {

class XPlaneReader {
 public:
  explicit XPlaneReader(std::string origin) : origin_(std::move(origin)) {}

  Timeline read(std::string_view text) {
    const auto each = [&](const MessageField& field) { plane(field.bytes); };
    take_fields(text, 1, each);
    if (timeline_.slices.empty())
      throw storage::ReadError(fmt::format("{}: holds no events; record it again while your program runs", origin_));
    std::vector<std::string_view> threads(threads_.begin(), threads_.end());
    std::vector<bool> of_nobody(timeline_.tracks.size());
    (void)take_xla_devices(timeline_, threads, of_nobody);
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i)
      if (timeline_.tracks[i].kind != TrackKind::stream) timeline_.tracks[i].name = threads_[i];
    return builder_.take();
  }

 private:
  /// Names by their numbers: an entry of a map is a message of a key and what it names, whose second field is a name.
  static void note_name(std::string_view entry, std::unordered_map<std::uint64_t, std::string_view>& names) {
    std::uint64_t key = 0;
    std::string_view named, name;
    take_fields(entry, 1, key, 2, named);
    take_fields(named, 2, name);
    names[key] = name.substr(0, max_name_bytes);
  }

  void plane(std::string_view bytes) {
    names_.clear();
    stats_.clear();
    std::string_view name;
    bool any = false;
    const auto note_event = [&](const MessageField& field) { note_name(field.bytes, names_); };
    const auto note_stat = [&](const MessageField& field) { note_name(field.bytes, stats_); };
    const auto note_line = [&](const MessageField&) { any = true; };
    take_fields(bytes, 2, name, 3, note_line, 4, note_event, 5, note_stat);
    if (!any) return;
    process_ = static_cast<std::uint32_t>(timeline_.processes.size());
    timeline_.processes.push_back(
        {.id = 0, .rank = {}, .local_rank = {}, .name = printable(name.substr(0, max_name_bytes))});
    each_field(bytes, [&](const MessageField& field) {
      if (field.number == 3 && timeline_.tracks.size() < max_tracks) line(field.bytes);
    });
  }

  void line(std::string_view bytes) {
    std::int64_t id = 0, start = 0;
    std::string_view name, shown;
    take_fields(bytes, 1, id, 2, name, 3, start, 11, shown);
    if (!shown.empty()) name = shown;
    if (start < 0 || start > max_time_ns) start = 0;
    timeline_.tracks.push_back({.kind = TrackKind::thread, .process = process_, .device = -1, .id = id, .name = {}});
    threads_.push_back(printable(name.substr(0, max_name_bytes)));
    const auto each = [&](const MessageField& field) { event(field.bytes, start); };
    take_fields(bytes, 4, each);
  }

  void event(std::string_view bytes, std::int64_t line_start) {
    std::uint64_t metadata = 0, offset_ps = 0, length_ps = 0;
    std::uint32_t correlation = 0;
    std::string_view details;
    const auto take_stat = [&](const MessageField& field) {
      std::uint64_t stat = 0, value = 0, reference = 0;
      std::string_view text;
      take_fields(field.bytes, 1, stat, 3, value, 4, value, 5, text, 7, reference);
      const std::string_view what = stats_[stat];
      if (what == "correlation_id") correlation = to_uint32(static_cast<std::int64_t>(value & INT64_MAX));
      if (what == "kernel_details") details = reference == 0 ? text : stats_[reference];
    };
    take_fields(bytes, 1, metadata, 2, offset_ps, 3, length_ps, 4, take_stat);
    constexpr std::uint64_t max_ps = static_cast<std::uint64_t>(max_time_ns);  // 26 days
    const bool in_range = offset_ps <= max_ps && length_ps <= max_ps;
    const std::string_view name = names_[metadata];
    const bool is_call = correlation != 0 && (name.starts_with("cu") || name.starts_with("hip"));
    const std::int64_t start = line_start + static_cast<std::int64_t>(in_range ? offset_ps / 1000 : 0);
    Slice* const slice =
        builder_.slice(in_range ? std::optional(static_cast<std::uint32_t>(timeline_.tracks.size() - 1)) : std::nullopt,
                       start, start + static_cast<std::int64_t>((offset_ps % 1000 + length_ps) / 1000),
                       timeline_.names.number(name), is_call ? kind_of_call(name) : SliceKind::other);
    if (slice == nullptr) return;
    slice->correlation = correlation;
    if (details.empty()) return;
    LaunchShape shape;
    read_xla_details(details, shape);
    slice->detail = builder_.shape(shape);
  }

  std::string origin_;
  Builder builder_{origin_};
  Timeline& timeline_ = builder_.timeline;
  std::uint32_t process_ = 0;
  std::vector<std::string> threads_;                                   // of each track the name of its line
  std::unordered_map<std::uint64_t, std::string_view> names_, stats_;  // of a plane
};

Timeline read_xplane(const std::filesystem::path& file) { return XPlaneReader(file.string()).read(read_whole(file)); }

}  // namespace

extern const Reader xplane_reader{"XLA's .xplane.pb (JAX)", is_xspace, read_xplane};

}  // namespace gpubench::timeline
