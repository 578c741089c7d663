// SPDX-License-Identifier: Apache-2.0
// What `gpubench serve` shows of a folder, and what it refuses: no path leads out of it, and no other site's name leads
// in. Knows no HTTP.
#pragma once

#include <cstdint>
#include <filesystem>
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
  std::string about = {};  ///< what a trace is, by how it begins: "PyTorch, NVIDIA H200, rank 1 of 8"
};

inline constexpr std::size_t max_served_files = 5000;
inline constexpr int max_served_depth = 8;

/// Runs, calibrations, traces, *.compile.json and stores of baselines in a folder and those in it, by name and by how
/// they begin; the newest first. Hidden folders are left out but for stores; links that lead out of the folder, too.
std::vector<ServedFile> served_files(const std::filesystem::path& folder);

/// Whether a request with this Host header was meant for a server that is bound to this address: names of other sites
/// may be made to lead here (DNS rebinding). Of an address that stands for all ("0.0.0.0") any number will do.
bool is_own_host(std::string_view header, const std::string& bound);

/// Whether only this machine can reach it.
bool is_loopback(const std::string& address);

}  // namespace gpubench::serve
