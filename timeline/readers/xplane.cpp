// SPDX-License-Identifier: Apache-2.0
// XLA's own format, XSpace, which JAX's profiler writes as .xplane.pb: planes of lines of events, by the numbers of its
// public schema (tsl/profiler/protobuf/xplane.proto). GPUs are planes, and their streams lines.
#include <fmt/format.h>

#include <algorithm>
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
#include "timeline/reader.h"

namespace gpubench::timeline {
namespace {

class XPlaneReader {
 public:
  explicit XPlaneReader(std::string origin) : origin_(std::move(origin)) {}

  Timeline read(std::string_view text) {
    each_field(text, [&](const MessageField& field) {
      if (field.number == 1) plane(field.bytes);
    });
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
    std::string_view name;
    each_field(entry, [&](const MessageField& field) {
      if (field.number == 1) key = field.value;
      if (field.number != 2) return;
      each_field(field.bytes, [&](const MessageField& of) {
        if (of.number == 2) name = of.bytes.substr(0, max_name_bytes);
      });
    });
    names[key] = name;
  }

  void plane(std::string_view bytes) {
    names_.clear();
    stats_.clear();
    std::string_view name;
    bool any = false;
    each_field(bytes, [&](const MessageField& field) {
      if (field.number == 2) name = field.bytes;
      if (field.number == 3) any = true;
      if (field.number == 4) note_name(field.bytes, names_);
      if (field.number == 5) note_name(field.bytes, stats_);
    });
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
    std::string_view name;
    each_field(bytes, [&](const MessageField& field) {
      if (field.number == 1) id = static_cast<std::int64_t>(field.value);
      if (field.number == 2 || (field.number == 11 && !field.bytes.empty())) name = field.bytes;
      if (field.number == 3) start = static_cast<std::int64_t>(field.value);
    });
    if (start < 0 || start > max_time_ns) start = 0;
    timeline_.tracks.push_back({.kind = TrackKind::thread, .process = process_, .device = -1, .id = id, .name = {}});
    threads_.push_back(printable(name.substr(0, max_name_bytes)));
    each_field(bytes, [&](const MessageField& field) {
      if (field.number == 4) event(field.bytes, start);
    });
  }

  void event(std::string_view bytes, std::int64_t line_start) {
    std::uint64_t metadata = 0, offset_ps = 0, length_ps = 0;
    std::uint32_t correlation = 0;
    std::string_view details;
    each_field(bytes, [&](const MessageField& field) {
      if (field.number == 1) metadata = field.value;
      if (field.number == 2) offset_ps = field.value;
      if (field.number == 3) length_ps = field.value;
      if (field.number != 4) return;
      std::string_view what, text;
      std::uint64_t value = 0;
      each_field(field.bytes, [&](const MessageField& stat) {
        if (stat.number == 1) what = stats_[stat.value];
        if (stat.number == 3 || stat.number == 4) value = stat.value;
        if (stat.number == 5) text = stat.bytes;
        if (stat.number == 7) text = stats_[stat.value];
      });
      if (what == "correlation_id") correlation = to_uint32(static_cast<std::int64_t>(value & INT64_MAX));
      if (what == "kernel_details") details = text;
    });
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
