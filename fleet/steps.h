// SPDX-License-Identifier: Apache-2.0
// How the ranks of a campaign keep step: who they are, and how they wait for each other, with a time limit.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/collective.h"

namespace gpubench::fleet {

/// Where this process is in the campaign.
struct Place {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string campaign = {};  ///< what the launcher calls the job; empty where it does not
};

/// What launchers tell their processes: srun, mpirun of Open MPI, MPICH's mpiexec (PMI), JobSet's indexed jobs. Those
/// given by hand win. Absent where nothing tells a rank. Throws std::runtime_error for a variable that is no number.
using Environment = std::function<const char*(const char* name)>;
std::optional<Place> place_of(const Environment& environment);

/// This rank cannot go on with the others; what() is a sentence.
struct OutOfStep : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where ranks wait for each other.
class Steps {
 public:
  Steps() = default;
  virtual ~Steps() = default;
  Steps& operator=(Steps&&) = delete;  ///< not copied, not moved

  /// Comes to the next step and waits until all have, but for those that are lost. Returns the greatest of the values
  /// that the ranks brought, 0 or more. Throws OutOfStep.
  virtual int meet(std::string_view name, int value) = 0;
  /// Gives all ranks what rank 0 has: a step of its own, of few bytes. Throws OutOfStep.
  virtual std::string share(std::string_view of_rank_0) = 0;
  /// This rank comes to no further step: nobody is to wait for it. MPI cannot tell the others.
  virtual void leave() noexcept {}
  /// Of rank 0: who was given up, in sentences.
  [[nodiscard]] virtual std::vector<std::string> lost() const = 0;
  /// "files" or "MPI".
  [[nodiscard]] virtual std::string_view kind() const = 0;
};

/// Called by rank 0 while it waits: the step, how many have come, of how many.
using Arrivals = std::function<void(std::string_view step, std::size_t come, std::size_t all)>;

/// By files in a folder that all ranks see. Each rank renames a file of its own, rank 0 looks who is there and writes
/// `go`, which the others wait for: one look each, however many they are. A rank that does not come in time is lost,
/// and the others go on without it. Throws OutOfStep where the folder has the steps of another campaign of this name.
std::unique_ptr<Steps> file_steps(const std::filesystem::path& folder, const Place& place, double max_seconds,
                                  Arrivals arrivals);
/// `leave` of a rank that has come to no step.
void leave_file_steps(const std::filesystem::path& folder, const Place& place) noexcept;

/// Whom a rank exchanges messages with in a round, so that all pairs meet once in `rounds_of` rounds and nobody waits
/// for another pair; absent where it rests. The circle method of round-robin tournaments.
std::optional<int> partner_of(int rank, int ranks, int round);
int rounds_of(int ranks);

struct Processor {
  int core = 0;
  int number = 0;
  auto operator<=>(const Processor&) const = default;
};
/// The processors of one of `parts` equal shares of the cores, for ranks that are not to meet on one; all of them where
/// the cores are fewer than the parts.
std::vector<int> share_of(std::vector<Processor> processors, std::size_t part, std::size_t parts);

/// Steps that can run collectives, too.
class MpiLink : public Steps {
 public:
  /// The time of the slowest rank in each iteration. Throws OutOfStep where MPI failed, a result was wrong or memory
  /// ran out; the message is one of `message_bytes`, below 2^31 floats.
  virtual std::vector<double> time_collective(Collective collective, std::int64_t bytes, int iterations) = 0;
  /// What the library costs without any other rank: an all-reduce of one float among each rank alone, of the slowest.
  virtual double time_alone() = 0;
  /// The times of messages to a peer, which calls this at the same time with `sends` the other way; none where this one
  /// receives. Throws OutOfStep.
  virtual std::vector<double> time_link(int peer, bool sends, std::int64_t bytes, int iterations) = 0;
};

/// By MPI, through the module libgpubench_mpi.so. MPI knows nothing of lost ranks: after the limit all are out of step.
/// Where `place` has none, MPI tells rank and ranks. Null, with a reason, where there is no such module.
std::unique_ptr<MpiLink> mpi_steps(Place& place, double max_seconds, std::string& reason);

}  // namespace gpubench::fleet
