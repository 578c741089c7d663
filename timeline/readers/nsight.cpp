// SPDX-License-Identifier: Apache-2.0
// What `nsys export --type=sqlite` writes. Its tables and columns differ between versions: those that are missing are
// left out. The file may be hostile: it is opened as it is on disk, read-only, and only its tables are read.
#include "timeline/readers.h"

#ifdef GPUBENCH_WITH_SQLITE
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "timeline/input/common.h"

namespace gpubench::timeline {
namespace {

struct CloseSqlite {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// One row of a table: the columns as they were asked for.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] std::optional<std::int64_t> number(int column) const {
    if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return std::nullopt;
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] std::string_view text(int column) const {
    if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return {};
    const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, std::min(static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)), max_name_bytes)};
  }

 private:
  sqlite3_stmt* statement_;
};

class NsightReader {
 public:
  explicit NsightReader(const std::filesystem::path& file) : origin_(file.string()) {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(file).string())
      uri += contains("%?#", c) ? fmt::format("%{:02X}", c) : std::string(1, c);
    sqlite3* opened = nullptr;
    const int state =
        sqlite3_open_v2((uri + "?immutable=1").c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
    database_.reset(opened);
    if (state != SQLITE_OK) fail(opened == nullptr ? "out of memory" : sqlite3_errmsg(opened));
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 1 << 24);
    sqlite3_limit(opened, SQLITE_LIMIT_COLUMN, 512);
  }

  Timeline read() {
    bool any = false;
    rows("sqlite_master", {"name", "type"}, [&](const Row& row) {
      const std::string_view name = row.text(0);
      any |= row.text(1) == "table" && (name.starts_with("CUPTI_ACTIVITY_KIND_") || name == "NVTX_EVENTS");
    });
    if (!any)
      throw storage::ReadError(fmt::format(
          "{}: {}; record with 'nsys profile --trace=cuda,nvtx' and write it with 'nsys export --type=sqlite'", origin_,
          broken_.empty() ? "is an SQLite file without CUDA or NVTX events" : "cannot be read (" + broken_ + ")"));
    rows("StringIds", {"id", "value"}, [&](const Row& row) {
      if (const auto id = row.number(0)) texts_.emplace(*id, timeline_.names.number(row.text(1)));
    });
    rows("PROCESSES", {"globalPid", "pid", "name"}, [&](const Row& row) {
      if (const auto id = row.number(0)) process_names_[pid_of(*id)] = printable(row.text(2));
    });
    rows("ThreadNames", {"globalTid", "nameId"}, [&](const Row& row) {
      if (const auto id = row.number(0))
        thread_names_[{pid_of(*id), tid_of(*id)}] = printable(name_of_text(row.number(1)));
    });
    rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
         [&](const Row& row) { timeline_.base_ns = row.number(0).value_or(0); });
    calls();
    work();
    ranges();
    memory();
    gpus();
    for (Slice& slice : timeline_.slices)
      if (slice.open) slice.duration_ns = std::max<std::int64_t>(last_ns_ - slice.start_ns, 0);
    if (!broken_.empty())
      timeline_.warnings.push_back(fmt::format("{} is damaged ({}); what could be read is kept.", origin_, broken_));
    return builder_.take();
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw storage::ReadError(fmt::format("{}: cannot be read: {}; export it again", origin_, why));
  }

  using Statement = std::unique_ptr<sqlite3_stmt, CloseSqlite>;
  Statement prepared(const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_.get(), text.c_str(), -1, &statement, nullptr) != SQLITE_OK && broken_.empty())
      broken_ = sqlite3_errmsg(database_.get());
    return Statement(statement);
  }

  /// Calls `use` with each row of a table; columns that it does not have are null.
  template <class Use>
  void rows(const std::string& table, const std::vector<std::string>& columns, const Use& use) {
    std::vector<std::string> known = {"name", "type"};
    if (table != "sqlite_master") {
      known.clear();
      const Statement about = prepared(
          "SELECT t.name FROM pragma_table_info('" + table +
          "') AS t WHERE EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '" + table + "')");
      while (about && sqlite3_step(about.get()) == SQLITE_ROW) known.emplace_back(Row(about.get()).text(0));
      if (known.empty()) return;
    }
    std::string text;
    for (const std::string& column : columns)
      text += (text.empty() ? "SELECT " : ", ") + (!contains(known, column) ? "NULL" : '"' + column + '"');
    const Statement statement = prepared(text + " FROM \"" + table + '"');
    if (!statement) return;
    std::uint64_t count = 0;
    int state = SQLITE_ROW;
    for (; (state = sqlite3_step(statement.get())) == SQLITE_ROW; ++count) use(Row(statement.get()));
    if (state != SQLITE_DONE)
      timeline_.warnings.push_back(fmt::format("{}: table {} is damaged after {} rows ({}); what came before is kept.",
                                               origin_, table, count, sqlite3_errmsg(database_.get())));
  }

  /// Nsight Systems packs process and thread into one number.
  static std::int64_t pid_of(std::int64_t global) { return global >> 24 & 0xFFFFFF; }
  static std::int64_t tid_of(std::int64_t global) { return global & 0xFFFFFF; }

  [[nodiscard]] std::uint32_t number_of_text(std::optional<std::int64_t> id) const {
    const auto text = id ? texts_.find(*id) : texts_.end();
    return text == texts_.end() ? 0 : text->second;
  }
  [[nodiscard]] const std::string& name_of_text(std::optional<std::int64_t> id) const {
    return timeline_.names.text(number_of_text(id));
  }

  std::uint32_t process_of(std::int64_t pid) {
    const auto [place, added] = processes_.emplace(pid, static_cast<std::uint32_t>(timeline_.processes.size()));
    if (added) timeline_.processes.push_back({.id = pid, .rank = {}, .local_rank = {}, .name = process_names_[pid]});
    return place->second;
  }

  std::optional<std::uint32_t> track_of(TrackKind kind, std::int64_t pid, std::int64_t device, std::int64_t id) {
    return builder_.track(kind, process_of(pid), device, id, [&] {
      const std::string thread =
          thread_names_.contains({pid, id}) ? thread_names_[{pid, id}] : fmt::format("thread {}", id);
      return kind == TrackKind::stream   ? fmt::format("stream {}", id)
             : kind == TrackKind::thread ? thread
             : kind == TrackKind::ranges ? "ranges of " + thread
                                         : "synchronisation";
    });
  }

  /// A slice from columns 0 and 1; absent where these are no times. A call or a range without an end goes on.
  Slice* add(const Row& row, std::optional<std::uint32_t> track, std::uint32_t name, SliceKind kind) {
    const auto start = row.number(0), end = row.number(1);
    Slice* const slice =
        builder_.slice(start ? track : std::nullopt, start.value_or(0), end.value_or(start.value_or(0)), name, kind);
    if (slice == nullptr) return nullptr;
    slice->open = !end;
    last_ns_ = std::max(last_ns_, slice->end_ns());
    return slice;
  }

  void calls() {
    for (const char* const table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"})
      rows(table, {"start", "end", "globalTid", "correlationId", "nameId"}, [&](const Row& row) {
        const std::int64_t global = row.number(2).value_or(0);
        const std::uint32_t name = number_of_text(row.number(4));
        if (Slice* const slice = add(row, track_of(TrackKind::thread, pid_of(global), -1, tid_of(global)), name,
                                     kind_of_call(timeline_.names.text(name))))
          slice->correlation = to_uint32(row.number(3));
      });
  }

  /// Of columns 2 to 6: device, stream, correlation, process, node of a graph.
  Slice* add_work(const Row& row, std::uint32_t name, SliceKind kind) {
    const auto track = track_of(TrackKind::stream, pid_of(row.number(5).value_or(0)), row.number(2).value_or(-1),
                                row.number(3).value_or(0));
    Slice* const slice = add(row, row.number(1) ? track : std::nullopt, name, kind);
    if (slice != nullptr) {
      slice->correlation = to_uint32(row.number(4));
      slice->in_graph = row.number(6).value_or(0) != 0;
    }
    return slice;
  }

  void work() {
    const std::vector<std::string> common = {"start",         "end",       "deviceId",   "streamId",
                                             "correlationId", "globalPid", "graphNodeId"};
    const auto with = [&](std::initializer_list<const char*> more) {
      std::vector<std::string> all = common;
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    rows("CUPTI_ACTIVITY_KIND_KERNEL",
         with({"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
               "registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread"}),
         [&](const Row& row) {
           std::uint32_t name = number_of_text(row.number(7));
           if (name == 0) name = number_of_text(row.number(8));
           Slice* const slice = add_work(row, name, kind_of_kernel(timeline_.names.text(name)));
           if (slice == nullptr) return;
           LaunchShape shape;
           for (int i = 0; i < 3; ++i) {
             shape.grid[static_cast<std::size_t>(i)] = to_uint32(row.number(9 + i));
             shape.block[static_cast<std::size_t>(i)] = to_uint32(row.number(12 + i));
           }
           shape.registers = to_uint32(row.number(15));
           shape.static_shared_bytes = to_uint32(row.number(16));
           shape.dynamic_shared_bytes = to_uint32(row.number(17));
           shape.local_bytes = to_uint32(row.number(18));
           slice->detail = builder_.shape(shape);
         });
    rows("CUPTI_ACTIVITY_KIND_MEMCPY", with({"bytes", "copyKind", "srcKind", "dstKind"}), [&](const Row& row) {
      constexpr std::array<std::string_view, 11> kinds = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                          "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
      const auto kind = static_cast<std::size_t>(row.number(8).value_or(0));
      std::string name = fmt::format("Memcpy {}", kind < kinds.size() ? kinds[kind] : "");
      if (row.number(9) && row.number(10))
        name += fmt::format(" ({} -> {})", memory_name(*row.number(9)), memory_name(*row.number(10)));
      if (Slice* const slice = add_work(row, timeline_.names.number(name), SliceKind::copy))
        slice->detail = std::max<std::int64_t>(row.number(7).value_or(-1), -1);
    });
    rows("CUPTI_ACTIVITY_KIND_MEMSET", with({"bytes", "memKind"}), [&](const Row& row) {
      const std::string name = row.number(8) ? fmt::format("Memset ({})", memory_name(*row.number(8))) : "Memset";
      if (Slice* const slice = add_work(row, timeline_.names.number(name), SliceKind::fill))
        slice->detail = std::max<std::int64_t>(row.number(7).value_or(-1), -1);
    });
    // Graphs that were recorded as a whole.
    rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", with({"graphId"}), [&](const Row& row) {
      const std::string name = fmt::format("CUDA graph {}", row.number(7).value_or(0));
      if (Slice* const slice = add_work(row, timeline_.names.number(name), SliceKind::kernel)) slice->in_graph = true;
    });
    // Beside the calls that wait, which stand among the calls.
    rows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", with({"syncType"}), [&](const Row& row) {
      const auto& kinds = synchronization_names;
      constexpr std::size_t stream_waits = 2;
      const auto kind = static_cast<std::size_t>(row.number(7).value_or(0));
      const auto track = track_of(TrackKind::other, pid_of(row.number(5).value_or(0)), -1, 0);
      if (Slice* const slice = add(row, track, timeline_.names.number(kinds[kind < kinds.size() ? kind : 0]),
                                   kind == stream_waits ? SliceKind::other : SliceKind::synchronization))
        slice->correlation = to_uint32(row.number(4));
    });
  }

  static std::string_view memory_name(std::int64_t kind) {
    constexpr std::array<std::string_view, 7> names = {"Pageable", "Pinned",        "Device",        "Array",
                                                       "Managed",  "Device Static", "Managed Static"};
    return kind >= 0 && static_cast<std::size_t>(kind) < names.size() ? names[static_cast<std::size_t>(kind)]
                                                                      : "Unknown";
  }

  void ranges() {
    rows("NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"}, [&](const Row& row) {
      constexpr std::int64_t mark = 34, push_pop = 59, start_end = 60;
      const auto type = row.number(2);
      if (type != mark && type != push_pop && type != start_end) return;
      std::uint32_t name = timeline_.names.number(row.text(3));
      if (name == 0) name = number_of_text(row.number(4));
      const std::int64_t global = row.number(5).value_or(0);
      const auto track = track_of(TrackKind::ranges, pid_of(global), -1, tid_of(global));
      if (type != mark) {
        add(row, track, name, SliceKind::range);
      } else if (const auto time = row.number(0); time && track && std::abs(*time / 2) <= max_time_ns / 2) {
        timeline_.marks.push_back({*time, name, *track});
      } else {
        builder_.leave_out();
      }
    });
  }

  void memory() {
    rows("CUDA_GPU_MEMORY_USAGE_EVENTS",
         {"start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType",
          "localMemoryPoolAddress"},
         [&](const Row& row) {
           const auto time = row.number(0), bytes = row.number(4), operation = row.number(6);
           if (!time || !bytes || std::abs(*time / 2) > max_time_ns / 2 || *bytes < 0 ||
               (operation != 0 && operation != 1))
             return builder_.leave_out();
           constexpr std::int64_t pinned = 1, device = 2, managed = 4;
           const auto kind = row.number(5);
           timeline_.memory.push_back(
               {.time_ns = *time,
                .address = static_cast<std::uint64_t>(row.number(3).value_or(0)),
                .bytes = operation == 0 ? *bytes : -*bytes,
                .process = process_of(pid_of(row.number(1).value_or(0))),
                .device = static_cast<std::int16_t>(std::clamp<std::int64_t>(row.number(2).value_or(-1), -1, 0x7FFF)),
                .kind = row.number(7).value_or(0) != 0 ? MemoryKind::pool
                        : kind == device               ? MemoryKind::device
                        : kind == pinned               ? MemoryKind::pinned
                        : kind == managed              ? MemoryKind::managed
                                                       : MemoryKind::other});
         });
  }

  /// TARGET_INFO_GPU has the machine's GPUs, TARGET_INFO_CUDA_DEVICE (since 2024) what each process calls them.
  void gpus() {
    std::map<std::int64_t, std::string> by_id, by_cuda_id;
    rows("TARGET_INFO_GPU", {"id", "cuDevice", "name"}, [&](const Row& row) {
      const std::string name = printable(row.text(2).substr(0, max_name_bytes));
      if (row.number(0)) by_id[*row.number(0)] = name;
      if (row.number(1) || row.number(0)) by_cuda_id[row.number(1) ? *row.number(1) : *row.number(0)] = name;
    });
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> of_process;
    rows("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, [&](const Row& row) {
      if (row.number(0) && row.number(1) && row.number(2) && by_id.contains(*row.number(0)))
        of_process[{*row.number(2), *row.number(1)}] = by_id[*row.number(0)];
    });
    note_gpus(timeline_, [&](std::int64_t pid, std::int64_t device) {
      const auto own = of_process.find({pid, device});
      if (own != of_process.end()) return own->second;
      const auto any = by_cuda_id.find(device);
      return any == by_cuda_id.end() ? std::string() : any->second;
    });
  }

  std::string origin_;
  std::unique_ptr<sqlite3, CloseSqlite> database_;
  Builder builder_{origin_};
  Timeline& timeline_ = builder_.timeline;
  std::unordered_map<std::int64_t, std::uint32_t> texts_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> thread_names_;
  std::map<std::int64_t, std::uint32_t> processes_;
  std::int64_t last_ns_ = -max_time_ns;
  std::string broken_;
};

}  // namespace

Timeline read_nsight(const std::filesystem::path& file) { return NsightReader(file).read(); }

}  // namespace gpubench::timeline

#else
#include "core/storage/storage.h"

namespace gpubench::timeline {
Timeline read_nsight(const std::filesystem::path& file) {
  throw storage::ReadError(
      file.string() +
      ": is an SQLite file of Nsight Systems, which this gpubench was built without; build gpubench "
      "with libsqlite3-dev installed");
}
}  // namespace gpubench::timeline
#endif

namespace gpubench::timeline {

extern const Reader nsight_reader{"what 'nsys export --type=sqlite' writes",
                                  [](std::string_view start) { return start.starts_with("SQLite format 3"); },
                                  read_nsight};

}  // namespace gpubench::timeline
