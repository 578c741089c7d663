// SPDX-License-Identifier: Apache-2.0
#include "main/run/previous_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "calibrate/calibrate.h"
#include "core/base/elf_image.h"
#include "core/storage/storage.h"

namespace gpubench {
namespace {

/// One for each program on each set of devices; absent without a cache.
std::optional<std::filesystem::path> file_of_last(const Run& run) {
  const auto cache = calibrate::cache_directory();
  if (!cache) return std::nullopt;
  Fnv1a64 hash;
  const auto add = [&](const std::string& text) { hash.add(text + '\n'); };
  add(run.context.program);
  add(run.context.host);
  for (const Device& device : run.devices) {
    add(device.id);
    add(device.name);
    const auto uuid = device.properties.find("uuid");
    add(uuid == device.properties.end() ? "" : uuid->second);
  }
  return *cache / "last" / fmt::format("{:016x}.json.gz", hash.value());
}

}  // namespace

std::optional<compare::Comparison> changes_since_last(const Run& run) {
  const auto file = file_of_last(run);
  std::error_code error;
  if (!file || !std::filesystem::exists(*file, error)) return std::nullopt;
  try {
    const Run last = storage::read_slim_run(*file);
    auto changes = compare::compare({last}, {storage::slim(run)}, {});
    if (!changes.comparable || changes.points.empty()) return std::nullopt;
    return changes;
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
