// SPDX-License-Identifier: Apache-2.0
#include "main/serve/serve_folder.h"

#include <arpa/inet.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <tuple>

#include "core/base/text.h"

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

std::optional<FileKind> kind_of(const fs::path& file) {
  const std::string name = lower(file.filename().string());
  if (name.ends_with(".compile.json")) return FileKind::compile;
  if (name.ends_with(".json.zst")) return FileKind::trace;
  if (name.ends_with(".sqlite") && head_of(file).starts_with("SQLite format 3")) return FileKind::trace;
  if (!name.ends_with(".json") && !name.ends_with(".json.gz")) return std::nullopt;
  const std::string head = head_of(file);
  const auto has = [&](std::string_view text) { return head.find(text) != std::string::npos; };
  if (has("\"gpubench-run\"")) return FileKind::run;
  if (has("\"gpubench-calibration\"")) return FileKind::calibration;
  if (has("\"traceEvents\"") || has("\"displayTimeUnit\"") || (has("\"ph\"") && has("\"ts\""))) return FileKind::trace;
  return std::nullopt;
}

/// What made a trace, on which GPU and as which rank, as far as its head tells.
std::string about_trace(const fs::path& file) {
  const std::string name = lower(file.filename().string()), head = head_of(file);
  if (name.ends_with(".sqlite")) return "Nsight Systems";
  if (name.ends_with(".zst")) return "Chrome JSON, packed by zstd";
  constexpr std::pair<std::string_view, std::string_view> makers[] = {{"\"gpubench", "gpubench"},
                                                                      {"\"deviceProperties\"", "PyTorch"},
                                                                      {"\"schemaVersion\"", "PyTorch"},
                                                                      {"viztracer", "viztracer"},
                                                                      {"highres-ticks", "JAX or TensorFlow (XLA)"}};
  const auto* const maker =
      std::ranges::find_if(makers, [&](const auto& one) { return head.find(one.first) != std::string::npos; });
  std::string text(maker == std::end(makers) ? "Chrome JSON" : maker->second);
  std::smatch found;
  static const std::regex gpu("\"deviceProperties\"[^\\]]*?\"name\": ?\"([^\"]+)\"");
  static const std::regex rank("\"rank\": ?([0-9]+)"), ranks("\"world_size\": ?([0-9]+)");
  if (std::regex_search(head, found, gpu)) text += ", " + found[1].str();
  if (std::regex_search(head, found, rank)) text += ", rank " + found[1].str();
  if (std::regex_search(head, found, ranks)) text += " of " + found[1].str();
  return text;
}

/// A store of baselines: folders of machines with numbered files in them.
bool is_store(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator machine(folder, error), end; !error && machine != end; machine.increment(error))
    if (fs::exists(machine->path() / "000001.json", error)) return true;
  return false;
}

/// Whether it lies in the folder, both without links.
bool is_in(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error), real = error ? fs::path() : fs::canonical(file, error);
  return !error && std::ranges::mismatch(root, real).in1 == root.end();
}

ServedFile described(FileKind kind, std::string path, const fs::path& file) {
  ServedFile result{kind, std::move(path), 0, "", ""};
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return result;
  result.bytes = static_cast<std::uintmax_t>(status.st_size);
  result.stamp = fmt::format("{:x}-{:x}-{:x}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size);
  result.modified_utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(status.st_mtim.tv_sec));
  return result;
}

/// Of a store its newest entry tells when it changed.
ServedFile described_store(std::string path, const fs::path& folder) {
  ServedFile result{FileKind::gate, std::move(path), 0, "", ""};
  std::error_code error;
  for (fs::recursive_directory_iterator place(folder, error), end; !error && place != end; place.increment(error)) {
    if (place.depth() > 1) place.disable_recursion_pending();
    if (place->path().extension() != ".json") continue;
    const ServedFile entry = described(FileKind::gate, "", place->path());
    result.bytes += entry.bytes;
    result.modified_utc = std::max(result.modified_utc, entry.modified_utc);
    result.stamp = std::max(result.stamp, entry.stamp);
  }
  result.stamp += fmt::format("-{:x}", result.bytes);
  return result;
}

}  // namespace

std::vector<ServedFile> served_files(const fs::path& folder) {
  std::vector<ServedFile> files;
  // What a file is does not change as long as its stamp does not.
  static thread_local std::map<std::string, std::tuple<std::string, std::optional<FileKind>, std::string>> known;
  std::error_code error;
  if (is_store(folder)) files.push_back(described_store(".", folder));
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator place(folder, options, error), end; !error && place != end;
       place.increment(error)) {
    if (files.size() >= max_served_files) break;
    const fs::path& path = place->path();
    const std::string name = path.filename().string();
    std::error_code ignored;
    const bool is_folder = place->is_directory(ignored);
    const std::string relative = path.lexically_relative(folder).generic_string();
    if (is_folder) {
      const bool store = is_store(path);
      if (store) files.push_back(described_store(relative, path));
      if (store || name.starts_with('.') || place.depth() >= max_served_depth) place.disable_recursion_pending();
      continue;
    }
    if (name.starts_with('.') || !place->is_regular_file(ignored)) continue;
    if (place->is_symlink(ignored) && !is_in(folder, path)) continue;
    ServedFile file = described(FileKind::run, relative, path);
    auto& [stamp, kind, about] = known[path.string()];
    if (stamp != file.stamp) {
      stamp = file.stamp;
      kind = kind_of(path);
      about = kind == FileKind::trace ? about_trace(path) : "";
    }
    if (!kind) continue;
    file.kind = *kind;
    file.about = about;
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, [](const ServedFile& a, const ServedFile& b) {
    return a.modified_utc != b.modified_utc ? a.modified_utc > b.modified_utc : a.path < b.path;
  });
  return files;
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

bool is_own_host(std::string_view header, const std::string& bound) {
  std::string host = lower(std::string(header));
  if (host.starts_with('[')) {
    const auto close = host.find(']');
    if (close == std::string::npos) return false;
    host = host.substr(1, close - 1);
  } else if (const auto colon = host.rfind(':'); colon != std::string::npos) {
    host.resize(colon);
  }
  if (host == "localhost" || host == lower(bound)) return true;
  unsigned char number[16];
  const bool is_number =
      inet_pton(AF_INET, host.c_str(), number) == 1 || inet_pton(AF_INET6, host.c_str(), number) == 1;
  if (!is_number) return false;
  return is_loopback(host) || bound == "0.0.0.0" || bound == "::";
}

}  // namespace gpubench::serve
