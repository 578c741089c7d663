// SPDX-License-Identifier: Apache-2.0
#include "main/serve/serve_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "core/base/pattern.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/storage.h"

namespace gpubench::serve {
namespace {

namespace fs = std::filesystem;

/// How a file begins, unpacked where gzip packed it.
std::string head_of(const fs::path& file) {
  struct Close {
    void operator()(gzFile_s* opened) const { gzclose(opened); }
  };
  const std::unique_ptr<gzFile_s, Close> input(gzopen(file.c_str(), "rb"));
  std::string head(8192, '\0');
  const int count = input ? gzread(input.get(), head.data(), static_cast<unsigned>(head.size())) : 0;
  head.resize(static_cast<std::size_t>(std::max(count, 0)));
  return head;
}

/// `name` in small letters.
std::optional<FileKind> kind_of(const std::string& name, const std::string& head) {
  if (name.ends_with(".compile.json")) return FileKind::compile;
  if (name.ends_with(".perfetto-trace") || name.ends_with(".pftrace") || name.ends_with(".json.zst"))
    return FileKind::trace;
  if (name.ends_with(".sqlite") && head.starts_with("SQLite format 3")) return FileKind::trace;
  const auto has = [&](std::string_view text) { return contains(head, text); };
  if (has("\"gpubench-run\"")) return FileKind::run;
  if (has("\"gpubench-calibration\"")) return FileKind::calibration;
  if (has("\"traceEvents\"") || has("\"displayTimeUnit\"") || (has("\"ph\"") && has("\"ts\""))) return FileKind::trace;
  return std::nullopt;
}

/// What stands behind the first such key whose value is a text, or else a whole number; empty where none is.
std::string value_in(std::string_view json, std::string_view key, bool is_text) {
  for (std::size_t at = json.find(key); at != std::string_view::npos; at = json.find(key, at + 1)) {
    std::string_view rest = json.substr(at + key.size());
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    if (is_text && !rest.starts_with('"')) continue;
    if (is_text) rest.remove_prefix(1);
    const std::size_t end = is_text ? rest.find('"') : std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (end != 0 && end != std::string_view::npos) return std::string(rest.substr(0, end));
  }
  return {};
}

/// What made a trace, on which GPU and as which rank, as far as its head tells.
std::string about_trace(const std::string& name, const std::string& head) {
  if (name.ends_with(".sqlite")) return "Nsight Systems";
  if (name.ends_with(".perfetto-trace") || name.ends_with(".pftrace")) return "Perfetto";
  if (name.ends_with(".zst")) return "Chrome JSON, packed by zstd";
  constexpr std::pair<std::string_view, std::string_view> makers[] = {{"\"gpubench", "gpubench"},
                                                                      {"\"deviceProperties\"", "PyTorch"},
                                                                      {"\"schemaVersion\"", "PyTorch"},
                                                                      {"viztracer", "viztracer"},
                                                                      {"highres-ticks", "JAX or TensorFlow (XLA)"}};
  const auto* const maker = std::ranges::find_if(makers, [&](const auto& one) { return contains(head, one.first); });
  std::string text(maker == std::end(makers) ? "Chrome JSON" : maker->second);
  const std::string_view from_gpus =
      std::string_view(head).substr(std::min(head.find("\"deviceProperties\""), head.size()));
  const auto gpu = value_in(from_gpus.substr(0, from_gpus.find(']')), "\"name\":", true);
  if (!gpu.empty()) text += ", " + gpu;
  if (const auto rank = value_in(head, "\"rank\":", false); !rank.empty()) text += ", rank " + rank;
  if (const auto ranks = value_in(head, "\"world_size\":", false); !ranks.empty()) text += " of " + ranks;
  return text;
}

/// Whether it lies in the folder, both without links.
bool is_in(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error), real = error ? fs::path() : fs::canonical(file, error);
  return !error && std::ranges::mismatch(root, real).in1 == root.end();
}

/// Of a store of baselines, which changes with it; empty where the folder is none.
fs::path newest_entry(const fs::path& folder) {
  std::error_code error;
  std::pair newest(fs::file_time_type::min(), fs::path());
  for (fs::recursive_directory_iterator place(folder, error), end; !error && place != end; place.increment(error)) {
    if (place.depth() > 0) place.disable_recursion_pending();
    if (place.depth() == 1 && fs::exists(place->path().parent_path() / "000001.json", error))
      newest = std::max(newest, std::pair(place->last_write_time(error), place->path()));
  }
  return newest.second;
}

std::string about(FileKind kind, const fs::path& file, const std::string& name, const std::string& head) {
  if (kind == FileKind::trace) return about_trace(name, head);
  if (kind == FileKind::compile) return {};
  if (kind == FileKind::calibration) {
    const Calibration calibration = storage::read_calibration(file);
    return fmt::format("{}, {}", calibration.device.name, calibration.created_utc);
  }
  const Run run = storage::read_slim_run(file);
  std::string text = run.context.program;
  for (const Device& device : run.devices) text += ", " + device.name;
  return text + fmt::format(", {}, {}", plural(std::ssize(run.points), "point"), run.context.created_utc);
}

/// Absent where it is nothing to show.
std::optional<ServedFile> described(ServedFile file, const fs::path& place) {
  const std::string name = lower(place.filename().string());
  const bool tells = name.ends_with(".sqlite") || name.ends_with(".json") || name.ends_with(".json.gz");
  const std::string head = tells ? head_of(place) : "";
  const auto kind = kind_of(name, head);
  if (!kind) return std::nullopt;
  file.kind = *kind;
  try {
    file.about = about(*kind, place, name, head);
  } catch (const std::exception& error) {
    file.trouble = error.what();
  }
  return file;
}

}  // namespace

std::vector<ServedFile> ServedFolder::files() {
  const std::lock_guard lock(mutex_);
  std::vector<ServedFile> files;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator place(folder_, options, error), end; !error && place != end;
       place.increment(error)) {
    if (files.size() >= max_served_files) break;
    const fs::path& path = place->path();
    const bool hidden = path.filename().string().starts_with('.');
    std::error_code ignored;
    const bool is_folder = place->is_directory(ignored);
    const fs::path content = is_folder ? newest_entry(path) : path;
    const bool is_store = is_folder && !content.empty();
    if (is_folder && (hidden || is_store || place.depth() >= max_served_depth)) place.disable_recursion_pending();
    struct stat status {};
    if (is_store ? !is_in(folder_, content)
                 : hidden || !place->is_regular_file(ignored) || (place->is_symlink(ignored) && !is_in(folder_, path)))
      continue;
    if (stat(content.c_str(), &status) != 0) continue;
    ServedFile file;
    file.kind = FileKind::gate;
    file.path = path.lexically_relative(folder_).generic_string();
    file.bytes = static_cast<std::uintmax_t>(status.st_size);
    file.stamp = fmt::format("{:x}-{:x}-{:x}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size);
    file.modified_utc = utc_text(status.st_mtim.tv_sec);
    auto& [stamp, known] = known_[file.path];
    if (stamp != file.stamp) {
      stamp = file.stamp;
      known = is_store ? std::move(file) : described(std::move(file), path);
    }
    if (known) files.push_back(*known);
  }
  std::ranges::sort(files, [](const ServedFile& a, const ServedFile& b) {
    return a.modified_utc != b.modified_utc ? a.modified_utc > b.modified_utc : a.path < b.path;
  });
  return files;
}

bool is_own_host(const std::string& header) {
  static const auto own = searcher(R"(^(localhost|127(\.[0-9]{1,3}){3}|[[]::1[]])(:[0-9]{0,5})?$)");
  return own(lower(header));
}

}  // namespace gpubench::serve
