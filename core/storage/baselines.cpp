// SPDX-License-Identifier: Apache-2.0
#include "core/storage/baselines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "core/base/elf_image.h"
#include "core/base/files.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/storage/baseline_times.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

constexpr int longest_wait_seconds = 30;

/// Letters, digits and dashes: safe as the name of a folder.
std::string slug(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_letter_or_digit(c))
      result += c;
    else if (!result.empty() && result.back() != '-')
      result += '-';
    if (result.size() >= 48) break;
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

/// The folder of a machine: words for people, and a hash (64-bit FNV-1a) of all of the fingerprint.
std::string folder_name(const Fingerprint& machine) {
  Fnv1a64 hash;
  std::string words;
  for (const auto& [key, value] : machine) {
    for (const std::string& text : {key, value}) hash.add(text + '\xff');
    if (words.empty() && !contains(key, ' ') && key != "build") words = slug(value);
  }
  return fmt::format("{}-{:016x}", words.empty() ? "machine" : words, hash.value());
}

/// The number in "000012.json".
std::optional<int> number_of(const std::filesystem::path& file) {
  const auto number = number_in<int>(file.stem().string());
  return file.extension() == ".json" && number.value_or(0) > 0 ? number : std::nullopt;
}

/// The entries of a folder, by number.
std::map<int, std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::map<int, std::filesystem::path> files;
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return files;
  for (std::filesystem::directory_iterator place(folder, error), end; !error && place != end; place.increment(error))
    if (const auto number = number_of(place->path())) files.emplace(*number, place->path());
  if (error)
    throw ReadError(
        fmt::format("{}: the folder cannot be read: {}; check its permissions", folder.string(), error.message()));
  return files;
}

BaselineEntry read_entry(int number, const std::filesystem::path& file) {
  BaselineEntry entry = baseline_from_json(read_text(file), file.string());
  entry.number = number;
  return entry;
}

void require_machine(const BaselineEntry& entry, const Fingerprint& machine, const std::filesystem::path& file) {
  if (entry.fingerprint != machine)
    throw ReadError(
        fmt::format("{}: belongs to another machine than its folder; move it back or remove it", file.string()));
}

/// Held while it lives.
class Lock {
 public:
  explicit Lock(const std::filesystem::path& file)
      : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
    if (!descriptor_.open()) fail(file, std::generic_category().message(errno));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(longest_wait_seconds);
    while (::flock(descriptor_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail(file, std::generic_category().message(errno));
      if (std::chrono::steady_clock::now() > until)
        fail(file, fmt::format("another writer has held it for {} s", longest_wait_seconds));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

 private:
  [[noreturn]] static void fail(const std::filesystem::path& file, const std::string& why) {
    throw WriteError(
        fmt::format("{}: the store cannot be locked: {}; try again, or choose another --store", file.string(), why));
  }
  Descriptor descriptor_;  // closing it gives the lock back
};

}  // namespace

std::vector<BaselineEntry> BaselineStore::entries(const Fingerprint& machine, std::size_t max) const {
  std::vector<BaselineEntry> result;
  const auto files = files_in(folder_ / folder_name(machine));
  auto place = files.begin();
  if (files.size() > max) std::advance(place, static_cast<std::ptrdiff_t>(files.size() - max));
  for (; place != files.end(); ++place) {
    result.push_back(read_entry(place->first, place->second));
    require_machine(result.back(), machine, place->second);
  }
  return result;
}

void BaselineStore::visit_times(const Fingerprint& machine, std::size_t max,
                                const std::function<void(BaselineEntry& entry)>& visit) const {
  constexpr std::size_t at_once = 8;  // read in parallel, and held in memory
  const auto files = files_in(folder_ / folder_name(machine));
  std::vector<std::pair<int, std::filesystem::path>> newest(files.rbegin(), files.rend());
  newest.resize(std::min(newest.size(), max));
  std::atomic<std::size_t> next = 0;  // to be read
  std::atomic<std::size_t> turn = 0;  // to be visited, while others read; behind the last once something failed
  for_each_in_parallel(at_once, 1, [&](std::size_t) {
    BaselineTimes reader;
    try {
      for (std::size_t i = next++; i < newest.size(); i = next++) {
        const auto& [number, file] = newest[i];
        BaselineEntry& entry = reader.read(file);
        entry.number = number;
        require_machine(entry, machine, file);
        for (std::size_t now = turn; now < i; now = turn) turn.wait(now);
        if (turn > i) return;
        visit(entry);
        ++turn;
        turn.notify_all();
      }
    } catch (...) {
      turn += newest.size();
      turn.notify_all();
      throw;
    }
  });
}

std::vector<BaselineEntry> BaselineStore::newest_of_each() const {
  std::vector<BaselineEntry> result;
  std::error_code error;
  if (!std::filesystem::exists(folder_, error)) return result;
  for (std::filesystem::directory_iterator place(folder_, error), end; !error && place != end; place.increment(error)) {
    if (!place->is_directory(error)) continue;
    if (const auto files = files_in(place->path()); !files.empty()) {
      result.push_back(std::move(BaselineTimes().read(files.rbegin()->second)));
      result.back().number = files.rbegin()->first;
    }
  }
  if (error)
    throw ReadError(
        fmt::format("{}: the store cannot be read: {}; check its permissions", folder_.string(), error.message()));
  std::ranges::sort(result, {}, &BaselineEntry::added_utc);
  return result;
}

std::filesystem::path BaselineStore::add(BaselineEntry& entry) {
  const auto folder = folder_ / folder_name(entry.fingerprint);
  check_writable(folder / "new-entry.json");  // makes the folders
  const Lock lock(folder_ / ".lock");
  const auto files = files_in(folder);
  entry.number = files.empty() ? 1 : files.rbegin()->first + 1;
  auto file = folder / fmt::format("{:06}.json", entry.number);
  write_file(file, to_json(entry));
  return file;
}

}  // namespace gpubench::storage
