// SPDX-License-Identifier: Apache-2.0
#include "main/run/previous_run.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "calibrate/calibrate.h"
#include "core/storage/storage.h"

namespace gpubench {
namespace {

/// One for each program on each set of devices; absent without a cache.
std::optional<std::filesystem::path> file_of_last(const Run& run) {
  const auto cache = calibrate::cache_directory();
  if (!cache) return std::nullopt;
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto add = [&](const std::string& text) {
    for (const char c : text + '\n') hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  };
  add(run.context.program);
  add(run.context.host);
  for (const Device& device : run.devices) {
    add(device.id);
    add(device.name);
    const auto uuid = device.properties.find("uuid");
    add(uuid == device.properties.end() ? "" : uuid->second);
  }
  return *cache / "last" / fmt::format("{:016x}.json.gz", hash);
}

}  // namespace

std::optional<SinceLast> changes_since_last(const Run& run) {
  const auto file = file_of_last(run);
  std::error_code error;
  if (!file || !std::filesystem::exists(*file, error)) return std::nullopt;
  try {
    const Run last = storage::read_slim_run(*file);
    auto changes = compare::compare({last}, {storage::slim(run)}, {});
    if (!changes.comparable || changes.points.empty()) return std::nullopt;
    return SinceLast{std::move(changes), last.context.created_utc};
  } catch (const storage::ReadError&) {
    return std::nullopt;
  }
}

void keep_as_last(const Run& run) {
  const auto file = file_of_last(run);
  if (!file) return;
  try {
    storage::write_for_reading(*file, storage::to_json(storage::slim(run)));
  } catch (const storage::WriteError&) {  // a cache that cannot be written is a run without a last one
  }
}

}  // namespace gpubench
