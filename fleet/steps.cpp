// SPDX-License-Identifier: Apache-2.0
#include "fleet/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <system_error>
#include <thread>

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/storage/storage.h"

namespace gpubench::fleet {
namespace {

namespace fs = std::filesystem;

/// The variables of a launcher.
struct Launcher {
  const char *rank, *ranks, *local_rank, *job;
};
constexpr std::array<Launcher, 4> launchers = {
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE"},
     {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"},
     {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID"},
     {"JOB_GLOBAL_INDEX", "GPUBENCH_RANKS", "GPUBENCH_LOCAL_RANK", "JOBSET_NAME"}}};

std::optional<int> number_from(const Environment& environment, const char* name) {
  const char* const text = environment(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto number = number_in<int>(text);
  if (!number || *number < 0)
    throw std::runtime_error(
        fmt::format("{}={} is no whole number, so this process does not know its place: give --rank, "
                    "--ranks and --local-rank.",
                    name, printable(text)));
  return number;
}

/// Grows from a moment to 20 ms. Thousands of ranks would keep the folder's server busy so: they grow to half a second.
class Wait {
 public:
  explicit Wait(int ranks) : max_seconds_(std::clamp(1e-3 * ranks, 0.02, 0.5)) {}
  void once() {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    seconds_ = std::min(1.5 * seconds_, max_seconds_);
  }

 private:
  double max_seconds_;
  double seconds_ = 0.002;
};

/// What a campaign may be called as part of a folder's name.
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, 100))
    name += (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') ? c : '_';
  return name;
}

/// In place of a step: the rank comes to no further one.
constexpr int has_left = -1;

/// What stands in `go`: the step, the greatest value, and who is lost.
struct Go {
  int step = 0;
  int value = 0;
  std::set<int> lost;
};

class FileSteps : public Steps {
 public:
  FileSteps(const fs::path& folder, const Place& place, double max_seconds, Arrivals arrivals)
      : folder_(folder / ("steps-" + plain_name(place.campaign.empty() ? "campaign" : place.campaign))),
        place_(place),
        max_seconds_(max_seconds),
        arrivals_(std::move(arrivals)) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error)
      throw OutOfStep(fmt::format("{} cannot be made: {}. Give a folder that all ranks can write to.", folder_.string(),
                                  error.message()));
    if (read_go().step != 0)
      throw OutOfStep(
          fmt::format("The campaign in {} has begun without rank {}, or it is an older one: start all ranks "
                      "together, in a new folder or with another --campaign.",
                      folder_.string(), place.rank));
  }

  int meet(std::string_view name, int value) override {
    ++step_;
    come(value);
    return place_.rank == 0 ? wait_for_others(name, value) : wait_for_go(name);
  }
  std::string share(std::string_view of_rank_0) override {
    const fs::path file = folder_ / fmt::format("shared-{}", step_ + 1);
    if (place_.rank == 0) storage::write_file(file, of_rank_0);
    meet("what rank 0 shares", 0);
    try {
      return storage::read_text(file);
    } catch (const storage::ReadError& error) {
      throw OutOfStep(error.what());
    }
  }
  void leave() noexcept override {
    try {
      step_ = has_left;
      come(0);
      if (place_.rank == 0) write_go({has_left, 0, {}});
    } catch (const std::exception&) {  // then the others wait for their limit
    }
  }
  [[nodiscard]] std::vector<std::string> lost() const override { return words_; }
  [[nodiscard]] std::string_view kind() const override { return "files"; }

 private:
  [[nodiscard]] fs::path file_of(int step, int value) const {
    return folder_ / fmt::format("{}.{}.{}", place_.rank, step, value);
  }

  void come(int value) {
    if (arrived_.empty()) {
      storage::write_file(file_of(step_, value), "");
    } else {
      std::error_code error;
      fs::rename(arrived_, file_of(step_, value), error);
      if (error) throw OutOfStep(fmt::format("{} cannot be renamed: {}.", arrived_.string(), error.message()));
    }
    arrived_ = file_of(step_, value);
  }

  void write_go(const Go& go) const {
    const auto lost = joined(go.lost, " ", [](int rank) { return fmt::to_string(rank); });
    const std::string text = fmt::format("{} {} {} ", go.step, go.value, lost);
    try {
      storage::write_file(folder_ / "go", text);
    } catch (const storage::WriteError&) {
      // Where the folder is full: in the place of what stands there, or the others would wait for their limit.
      std::fstream file(folder_ / "go", std::ios::in | std::ios::out);
      if (!(file << fmt::format("{:<{}}", text, read_go_text().size()) << std::flush)) throw;
    }
  }

  [[nodiscard]] std::string read_go_text() const {
    try {
      return storage::read_text(folder_ / "go");
    } catch (const storage::ReadError&) {  // not yet
      return {};
    }
  }

  Go read_go() const {
    Go go;
    const std::string text = read_go_text();
    std::vector<int> numbers;
    std::string_view rest = text;
    while (!rest.empty())
      if (const auto number = number_in<int>(taken_until(' ', rest))) numbers.push_back(*number);
    if (numbers.size() < 2) return go;
    go.step = numbers[0];
    go.value = numbers[1];
    go.lost = {numbers.begin() + 2, numbers.end()};
    return go;
  }

  /// The step that each rank has come to, and its value there.
  std::map<int, std::pair<int, int>> arrived() const {
    std::map<int, std::pair<int, int>> there;
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      const std::size_t first = name.find('.'), second = name.rfind('.');
      if (first == std::string::npos || first == second) continue;
      const std::string_view text = name;
      const auto rank = number_in<int>(text.substr(0, first));
      const auto step = number_in<int>(text.substr(first + 1, second - first - 1));
      const auto value = number_in<int>(text.substr(second + 1));
      if (rank && step && value && *rank >= 0 && *rank < place_.ranks) {
        const std::pair now(*step, *value);
        const auto [known, is_new] = there.try_emplace(*rank, now);
        if (!is_new) known->second = std::max(known->second, now);
      }
    }
    return there;
  }

  int wait_for_others(std::string_view name, int value) {
    const double start = steady_seconds();
    Wait wait(place_.ranks);
    std::set<int> come;
    while (true) {
      Go go{step_, value, lost_};
      come.clear();
      for (const auto& [rank, state] : arrived()) {
        if (state.first == has_left && lost_.insert(rank).second)
          words_.push_back(
              fmt::format("Rank {} gave up before step {} ({}): the others went on without it.", rank, step_, name));
        if (lost_.contains(rank) || state.first < step_) continue;
        come.insert(rank);
        go.value = std::max(go.value, state.second);
      }
      const std::size_t all = static_cast<std::size_t>(place_.ranks) - lost_.size();
      if (arrivals_) arrivals_(name, come.size(), all);
      const bool late = steady_seconds() - start > max_seconds_;
      if (come.size() < all && !late) {
        wait.once();
        continue;
      }
      for (int rank = 0; rank < place_.ranks && come.size() < all; ++rank)
        if (!come.contains(rank) && lost_.insert(rank).second)
          words_.push_back(
              fmt::format("Rank {} did not come to step {} ({}) within {:g} s: the others went on without it.", rank,
                          step_, name, max_seconds_));
      go.lost = lost_;
      write_go(go);
      return go.value;
    }
  }

  int wait_for_go(std::string_view name) {
    // Rank 0 gives up the others after its limit; this one gives up rank 0 after two.
    const double end = steady_seconds() + 2.0 * max_seconds_ + 5.0;
    for (Wait wait(place_.ranks); steady_seconds() < end; wait.once()) {
      const Go go = read_go();
      if (go.step == has_left) throw OutOfStep(fmt::format("Rank 0 gave up before step {} ({}).", step_, name));
      if (go.step < step_) continue;
      if (go.step > step_ || go.lost.contains(place_.rank))
        throw OutOfStep(fmt::format("Rank {} came too late to step {} ({}): the others went on without it.",
                                    place_.rank, step_, name));
      return go.value;
    }
    throw OutOfStep(fmt::format("Rank 0 did not come to step {} ({}) within {:g} s: it died or hangs.", step_, name,
                                2.0 * max_seconds_ + 5.0));
  }

  fs::path folder_;
  Place place_;
  double max_seconds_;
  Arrivals arrivals_;
  int step_ = 0;
  fs::path arrived_;  ///< this rank's file
  std::set<int> lost_;
  std::vector<std::string> words_;
};

}  // namespace

std::optional<Place> place_of(const Environment& environment) {
  for (const Launcher& launcher : launchers) {
    const auto rank = number_from(environment, launcher.rank), ranks = number_from(environment, launcher.ranks);
    if (!rank || !ranks) continue;
    if (*ranks < 1 || *rank >= *ranks)
      throw std::runtime_error(
          fmt::format("{}={} is not below {}={}, so this process does not know its place: give --rank, "
                      "--ranks and --local-rank.",
                      launcher.rank, *rank, launcher.ranks, *ranks));
    Place place{*rank, *ranks, number_from(environment, launcher.local_rank).value_or(0)};
    if (const char* const job = environment(launcher.job); job != nullptr && *job != '\0') place.campaign = job;
    return place;
  }
  return std::nullopt;
}

int rounds_of(int ranks) { return ranks < 2 ? 0 : ranks - 1 + ranks % 2; }

std::optional<int> partner_of(int rank, int ranks, int round) {
  const int players = ranks + ranks % 2, circle = players - 1;  // with one who is not there where they are odd
  int partner = circle;
  if (rank == circle) {
    // The one in the middle meets whom the others' rule would have meet themselves.
    for (partner = 0; (2 * partner) % circle != round % circle;) ++partner;
  } else if (const int other = (round - rank % circle + 2 * circle) % circle; other != rank) {
    partner = other;
  }
  return partner < ranks ? std::optional(partner) : std::nullopt;
}

std::vector<int> share_of(std::vector<Processor> processors, std::size_t part, std::size_t parts) {
  std::ranges::sort(processors);
  std::set<int> cores;
  for (const Processor& one : processors) cores.insert(one.core);
  const bool all = parts == 0 || part >= parts || cores.size() < parts;
  const std::size_t first = all ? 0 : cores.size() * part / parts;
  const std::size_t end = all ? cores.size() : cores.size() * (part + 1) / parts;
  std::vector<int> share;
  for (const Processor& one : processors) {
    const auto core = static_cast<std::size_t>(std::distance(cores.begin(), cores.find(one.core)));
    if (core >= first && core < end) share.push_back(one.number);
  }
  return share;
}

void leave_file_steps(const fs::path& folder, const Place& place) noexcept {
  try {
    FileSteps(folder, place, 0.0, nullptr).leave();
  } catch (const std::exception&) {  // the campaign has begun without it, or the folder takes nothing
  }
}

std::unique_ptr<Steps> file_steps(const fs::path& folder, const Place& place, double max_seconds, Arrivals arrivals) {
  return std::make_unique<FileSteps>(folder, place, max_seconds, std::move(arrivals));
}

}  // namespace gpubench::fleet
