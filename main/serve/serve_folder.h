// SPDX-License-Identifier: Apache-2.0
// What `gpubench serve` shows of a folder, and what it refuses: no path leads out of it, and no other site's name leads
// in. Knows no HTTP.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench::serve {

enum class FileKind { run, calibration, trace, compile, gate };
inline constexpr std::string_view file_kind_names[] = {"run", "calibration", "trace", "compile", "gate"};

struct ServedFile {
  FileKind kind = FileKind::run;
  std::string path;  ///< from the folder on, with slashes
  std::uintmax_t bytes = 0;
  std::string stamp;  ///< differs when the file does
  std::string modified_utc;
  std::string about;    ///< what it is, in a few words: "PyTorch, NVIDIA H200, rank 1 of 8"
  std::string trouble;  ///< why it cannot be read
};

inline constexpr std::size_t max_served_files = 5000;
inline constexpr int max_served_depth = 8;

class ServedFolder {
 public:
  explicit ServedFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Runs, calibrations, traces, *.compile.json and stores of baselines in the folder and those in it, by name and by
  /// how they begin; the newest first. Hidden folders are left out but for stores; links that lead out of the folder,
  /// too.
  std::vector<ServedFile> files();
  [[nodiscard]] const std::filesystem::path& place() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::mutex mutex_;
  /// By path, also what is not shown: what a file is does not change as long as its stamp does not.
  std::map<std::string, std::pair<std::string, std::optional<ServedFile>>> known_;
};

/// Whether a request with this Host header was meant for this machine: names of other sites may be made to lead here
/// (DNS rebinding).
bool is_own_host(const std::string& header);

}  // namespace gpubench::serve
