// SPDX-License-Identifier: Apache-2.0
// What `rocprofv3 --output-format json` writes: kernels, copies and calls of HIP, by ROCm's names.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "timeline/input/bytes.h"
#include "timeline/input/common.h"
#include "timeline/readers.h"

namespace gpubench::timeline {
namespace {

using simdjson::dom::element;

std::int64_t number_at(element of, std::string_view pointer) {
  std::int64_t number = 0;
  return of.at_pointer(pointer).get(number) == simdjson::SUCCESS ? number : 0;
}
std::string_view text_at(element of, std::string_view pointer) {
  std::string_view text;
  return of.at_pointer(pointer).get(text) == simdjson::SUCCESS ? text.substr(0, max_name_bytes) : std::string_view();
}
template <class Use>
void each(element of, std::string_view pointer, const Use& use) {
  simdjson::dom::array all;
  if (of.at_pointer(pointer).get(all) != simdjson::SUCCESS) return;
  for (const element one : all) use(one);
}

class RocprofReader {
 public:
  explicit RocprofReader(const std::filesystem::path& file) : origin_(file.string()) {}

  Timeline read(std::string_view text) {
    simdjson::dom::parser parser;
    element root;
    if (const auto error = parser.parse(text.data(), text.size()).get(root); error != simdjson::SUCCESS)
      throw storage::ReadError(fmt::format("{}: is not JSON that can be read ({}); record it again", origin_,
                                           simdjson::error_message(error)));
    each(root, "/rocprofiler-sdk-tool", [&](element process) { add(process); });
    Timeline timeline = builder_.take();
    timeline.base_ns = 0;  // its clock counts from the machine's start
    return timeline;
  }

 private:
  void add(element process) {
    process_ = static_cast<std::uint32_t>(timeline_.processes.size());
    timeline_.processes.push_back({.id = number_at(process, "/metadata/pid"),
                                   .rank = {},
                                   .local_rank = {},
                                   .name = printable(text_at(process, "/metadata/command/0"))});
    std::unordered_map<std::int64_t, std::string_view> kernels;
    each(process, "/kernel_symbols", [&](element one) {
      const std::string_view plain = text_at(one, "/demangled_kernel_name");
      kernels[number_at(one, "/kernel_id")] = plain.empty() ? text_at(one, "/formatted_kernel_name") : plain;
    });
    std::map<std::int64_t, std::int64_t> gpus;  // agents by handle: their numbers among GPUs
    each(process, "/agents", [&](element one) {
      constexpr std::int64_t gpu = 2;
      if (number_at(one, "/type") != gpu) return;
      const auto number = static_cast<std::int64_t>(gpus.size());
      gpus[number_at(one, "/id/handle")] = number;
      if (const std::string name = printable(text_at(one, "/product_name")); !name.empty())
        timeline_.gpus.push_back({process_, number, name});
    });
    const auto gpu_of = [&](std::int64_t handle) { return gpus.contains(handle) ? gpus[handle] : std::int64_t{-1}; };
    each(process, "/buffer_records/kernel_dispatch", [&](element one) {
      const std::string_view name = kernels[number_at(one, "/dispatch_info/kernel_id")];
      Slice* const slice = put(one,
                               track(TrackKind::stream, gpu_of(number_at(one, "/dispatch_info/agent_id/handle")),
                                     number_at(one, "/dispatch_info/queue_id/handle")),
                               name, kind_of_kernel(name));
      if (slice == nullptr) return;
      LaunchShape shape;
      constexpr std::string_view axes = "xyz";
      for (std::size_t i = 0; i < 3; ++i) {
        const auto extent = [&](const char* of) {
          return to_uint32(number_at(one, fmt::format("/dispatch_info/{}/{}", of, axes[i])));
        };
        shape.block[i] = extent("workgroup_size");
        shape.grid[i] = (extent("grid_size") + std::max(shape.block[i], 1U) - 1) / std::max(shape.block[i], 1U);
      }
      shape.static_shared_bytes = to_uint32(number_at(one, "/dispatch_info/group_segment_size"));
      shape.local_bytes = to_uint32(number_at(one, "/dispatch_info/private_segment_size"));
      slice->detail = builder_.shape(shape);
    });
    each(process, "/buffer_records/memory_copy", [&](element one) {
      const std::int64_t to = gpu_of(number_at(one, "/dst_agent_id/handle")),
                         from = gpu_of(number_at(one, "/src_agent_id/handle"));
      const std::string_view name = to < 0 ? "Memcpy DtoH" : from < 0 ? "Memcpy HtoD" : "Memcpy DtoD";
      if (Slice* const slice = put(one, track(TrackKind::stream, std::max(from, to), 0), name, SliceKind::copy))
        slice->detail = number_at(one, "/bytes");
    });
    for (const char* const api : {"hip_api", "rccl_api", "marker_api"})
      each(process, fmt::format("/buffer_records/{}", api), [&](element one) {
        const std::string_view name =
            text_at(process, fmt::format("/strings/buffer_records/{}/operations/{}", number_at(one, "/kind"),
                                         number_at(one, "/operation")));
        put(one, track(TrackKind::thread, -1, number_at(one, "/thread_id")), name,
            std::string_view(api) == "marker_api" ? SliceKind::range : kind_of_call(name));
      });
  }

  std::optional<std::uint32_t> track(TrackKind kind, std::int64_t device, std::int64_t id) {
    return builder_.track(kind, process_, device, id,
                          [&] { return fmt::format("{} {}", kind == TrackKind::stream ? "queue" : "thread", id); });
  }

  Slice* put(element of, std::optional<std::uint32_t> track, std::string_view name, SliceKind kind) {
    const std::int64_t start = number_at(of, "/start_timestamp");
    Slice* const slice = builder_.slice(start > 0 ? track : std::nullopt, start, number_at(of, "/end_timestamp"),
                                        timeline_.names.number(name), kind);
    if (slice != nullptr) slice->correlation = to_uint32(number_at(of, "/correlation_id/internal"));
    return slice;
  }

  std::string origin_;
  Builder builder_{origin_};
  Timeline& timeline_ = builder_.timeline;
  std::uint32_t process_ = 0;
};

Timeline read_rocprof(const std::filesystem::path& file) { return RocprofReader(file).read(read_whole(file)); }

}  // namespace

extern const Reader rocprof_reader{"what 'rocprofv3 --output-format json' writes", is_rocprof, read_rocprof};

}  // namespace gpubench::timeline
