// SPDX-License-Identifier: Apache-2.0
#include "fleet/steps.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <tuple>

#include "core/base/files.h"
#include "fleet/take_part.h"
#include "tests/matchers.h"

namespace gpubench::fleet {
namespace {

std::optional<Place> place_with(const std::map<std::string, const char*>& variables) {
  return place_of([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(FleetSteps, LaunchersTellThePlace) {
  EXPECT_FALSE(place_with({}));
  const auto slurm =
      place_with({{"SLURM_PROCID", "9"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "4711"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->rank, 9);
  EXPECT_EQ(slurm->ranks, 16);
  EXPECT_EQ(slurm->local_rank, 1);
  EXPECT_EQ(slurm->campaign, "4711");
  // mpirun within a job of Slurm: the inner one counts.
  EXPECT_EQ(
      place_with(
          {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}})
          ->rank,
      3);
  EXPECT_EQ(place_with({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}})->campaign, "");
  EXPECT_FALSE(place_with({{"SLURM_PROCID", "9"}}));
  EXPECT_THROW(place_with({{"PMI_RANK", "two"}, {"PMI_SIZE", "4"}}), std::runtime_error);
  EXPECT_THROW(place_with({{"PMI_RANK", "-1"}, {"PMI_SIZE", "4"}}), std::runtime_error);
  EXPECT_THROW(place_with({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}), std::runtime_error);
}

TEST(FleetSteps, AllMeetAndBringTheGreatestValue) {
  const PrivateFolder folder;
  constexpr int ranks = 4, steps = 5;
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        const auto meeting = file_steps(folder.path(), {rank, ranks, 0, "a/b"}, 30.0, nullptr);
        for (int step = 0; step < steps; ++step)
          right += meeting->meet("step", 10 * step + rank) == 10 * step + ranks - 1 ? 1 : 0;
      });
  }
  EXPECT_EQ(right, ranks * steps);
}

TEST(FleetSteps, WhoDoesNotComeIsLostAndRefusedLater) {
  const PrivateFolder folder;
  const auto late = file_steps(folder.path(), {1, 3, 0, "c"}, 0.05, nullptr);
  const auto first = file_steps(folder.path(), {0, 3, 0, "c"}, 0.05, nullptr);
  EXPECT_EQ(first->meet("one", 0), 0);
  EXPECT_THAT(first->lost(),
              ElementsAre(HasSubstr("Rank 1 did not come to step 1 (one)"), HasSubstr("Rank 2 did not come")));
  EXPECT_EQ(first->meet("two", 7), 7);  // alone now
  EXPECT_EQ(first->lost().size(), 2U);
  EXPECT_THROW(late->meet("one", 0), OutOfStep);
  EXPECT_THROW(file_steps(folder.path(), {2, 3, 0, "c"}, 0.05, nullptr), OutOfStep);
}

TEST(FleetSteps, NobodyWaitsForWhoHasLeft) {
  constexpr double for_ever = 1e4;
  const PrivateFolder folder;
  const auto first = file_steps(folder.path(), {0, 3, 0, "c"}, for_ever, nullptr);
  const auto second = file_steps(folder.path(), {1, 3, 0, "c"}, for_ever, nullptr);
  leave_file_steps(folder.path(), {2, 3, 0, "c"});
  {
    const std::jthread other([&] { EXPECT_EQ(second->meet("one", 2), 2); });
    EXPECT_EQ(first->meet("one", 1), 2);
  }
  EXPECT_THAT(first->lost(), ElementsAre(HasSubstr("Rank 2 gave up before step 1 (one)")));
  second->leave();
  EXPECT_EQ(first->meet("two", 3), 3);
  EXPECT_EQ(first->lost().size(), 2U);
  first->leave();
  const auto other = file_steps(folder.path(), {1, 2, 0, "d"}, for_ever, nullptr);
  leave_file_steps(folder.path(), {0, 2, 0, "d"});
  EXPECT_THROW(other->meet("one", 0), OutOfStep);
  EXPECT_THROW(file_steps(folder.path(), {1, 2, 0, "d"}, for_ever, nullptr), OutOfStep);
}

TEST(FleetSteps, AllPairsMeetOnceInDisjointRounds) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    std::set<std::pair<int, int>> met;
    EXPECT_EQ(rounds_of(ranks), ranks % 2 == 0 ? ranks - 1 : ranks);
    for (int round = 0; round < rounds_of(ranks); ++round)
      for (int rank = 0; rank < ranks; ++rank) {
        const auto partner = partner_of(rank, ranks, round);
        if (!partner) continue;
        ASSERT_NE(*partner, rank);
        ASSERT_LT(*partner, ranks);
        EXPECT_EQ(partner_of(*partner, ranks, round), rank) << ranks << " ranks, round " << round;
        EXPECT_TRUE(met.emplace(rank, *partner).second);
      }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks * (ranks - 1)));
  }
  EXPECT_EQ(rounds_of(1), 0);
}

/// Steps that tell which phase they have come to.
class NotedSteps : public Steps {
 public:
  explicit NotedSteps(std::unique_ptr<Steps> steps) : steps_(std::move(steps)) {}
  int meet(std::string_view name, int value) override {
    phase = name.substr(0, name.find(','));
    return steps_->meet(name, value);
  }
  std::string share(std::string_view text) override { return steps_->share(text); }
  [[nodiscard]] std::vector<std::string> lost() const override { return steps_->lost(); }
  [[nodiscard]] std::string_view kind() const override { return steps_->kind(); }
  std::string phase;

 private:
  std::unique_ptr<Steps> steps_;
};

TEST(FleetSteps, RanksShareOutCoresNotTheirThreads) {
  // Four cores of two threads each, numbered as servers have it: 0 and 4 are one core.
  std::vector<Processor> processors;
  for (int number = 0; number < 8; ++number) processors.push_back({number % 4, number});
  EXPECT_EQ(share_of(processors, 0, 2), (std::vector{0, 4, 1, 5}));
  EXPECT_EQ(share_of(processors, 1, 2), (std::vector{2, 6, 3, 7}));
  EXPECT_EQ(share_of(processors, 1, 3), (std::vector{1, 5}));
  EXPECT_EQ(share_of(processors, 0, 1).size(), 8U);
  EXPECT_EQ(share_of(processors, 4, 5).size(), 8U);  // more ranks than cores: each may have all
  EXPECT_EQ(share_of({}, 0, 2).size(), 0U);
}

TEST(FleetSteps, PhasesAreInStepAndNeighboursRotate) {
  // Two nodes of two GPUs. Of each measurement is noted who measures at the same time.
  const PrivateFolder folder;
  std::atomic<int> at_work = 0;
  std::mutex noting;
  std::map<std::string, int> most;  // of each phase
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 4; ++rank)
      threads.emplace_back([&, rank] {
        Part part{folder.path(), {rank, 4, rank % 2, "c"}, 2, "node" + std::to_string(rank / 2), "0.2.0"};
        NotedSteps steps(file_steps(folder.path(), part.place, 30.0, nullptr));
        Device device;
        device.id = "cpu";
        const RankResult result = take_part(part, device, steps, [&] {
          const int now = ++at_work;
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          {
            const std::lock_guard lock(noting);
            int& of_phase = most[steps.phase];
            of_phase = std::max({of_phase, now, at_work.load()});
          }
          --at_work;
          Calibration calibration;
          calibration.ceilings.resize(1);
          calibration.ceilings[0].resource = "fp32";
          calibration.ceilings[0].unit = "FLOP/s";
          calibration.ceilings[0].value = 1.0 + rank;
          calibration.ceilings[0].ci95 = {1.0, 5.0};
          return calibration;
        });
        EXPECT_EQ(result.failure, "");
        EXPECT_EQ(result.readings.size(), 6U);
        EXPECT_EQ(read_rank(folder.path() / rank_file_name(rank)), result);
      });
  }
  EXPECT_LE(most["alone"], 2);  // one of each node
  EXPECT_LE(most["node"], 2);   // one node
  EXPECT_GE(most["fleet"], 3);
}

TEST(FleetSteps, AllPairsOfANodeMeasureTheirLinksOneAtATime) {
  // Two nodes, of three and of two ranks.
  const PrivateFolder folder;
  std::mutex noting;
  std::map<int, int> working;  // by node
  std::set<std::pair<int, int>> measured;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 5; ++rank)
      threads.emplace_back([&, rank] {
        const int node = rank / 3;
        Part part{folder.path(), {rank, 5, rank % 3, "c"}, 1, "node" + std::to_string(node), "0.2.0"};
        part.measure_link = [&, rank, node](const RankResult& peer) {
          {
            const std::lock_guard lock(noting);
            EXPECT_EQ(++working[node], 1);
            measured.emplace(rank, peer.rank);
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          const std::lock_guard lock(noting);
          --working[node];
          LinkMeasured link;
          link.path = "by " + peer.device.id;
          link.calibration.ceilings.resize(1);
          link.calibration.ceilings[0].resource = "peer-write";
          link.calibration.ceilings[0].unit = "B/s";
          link.calibration.ceilings[0].value = 1.0;
          link.calibration.ceilings[0].ci95 = {1.0, 1.0};
          return link;
        };
        const auto steps = file_steps(folder.path(), part.place, 30.0, nullptr);
        Device device;
        device.id = "cpu";
        const RankResult result = take_part(part, device, *steps, [] { return Calibration(); });
        EXPECT_EQ(result.failure, "");
        const int others = node == 0 ? 2 : 1;
        EXPECT_EQ(result.paths.size(), static_cast<std::size_t>(others));
        EXPECT_EQ(result.paths.begin()->second, "by cpu");
        EXPECT_EQ(result.readings.size(), static_cast<std::size_t>(others));
        EXPECT_EQ(read_rank(folder.path() / rank_file_name(rank)), result);
      });
  }
  EXPECT_EQ(measured, (std::set<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}, {3, 4}, {4, 3}}));
}

TEST(FleetSteps, DevicesOfSeveralNodesExchangeMessagesInPairs) {
  // Two nodes of two ranks, and what each rank was asked for: to whom it sent, from whom it received.
  for (const bool can : {true, false}) {
    const PrivateFolder folder;
    std::mutex noting;
    std::set<std::tuple<int, int, bool>> asked;
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < 4; ++rank)
        threads.emplace_back([&, rank] {
          Part part{folder.path(), {rank, 4, rank % 2, "c"}, 1, "node" + std::to_string(rank / 2), "0.2.0"};
          part.open_messages = [&, rank](Steps& steps) -> TimeLink {
            EXPECT_EQ(steps.share(rank == 0 ? "id" : ""), "id");
            if (!can) throw std::runtime_error("no library");
            return [&, rank](int peer, bool sends, std::int64_t, int iterations) {
              const std::lock_guard lock(noting);
              asked.emplace(rank, peer, sends);
              return std::vector<double>(sends ? static_cast<std::size_t>(iterations) : 0U, 0.5);
            };
          };
          const auto steps = file_steps(folder.path(), part.place, 30.0, nullptr);
          const RankResult result = take_part(part, {}, *steps, [] { return Calibration(); });
          EXPECT_EQ(result.failure, "");
          EXPECT_EQ(result.tests.size(), can ? 2U : 0U);
          for (const auto& test : result.tests) {
            EXPECT_EQ((std::pair(test.phase, test.resource)),
                      (std::pair<std::string, std::string>("fleet", "nccl-send")));
            EXPECT_NE(test.peer.value_or(rank) / 2, rank / 2);
          }
          if (can) {
            EXPECT_DOUBLE_EQ(result.readings.front().value.value, 2.0 * (1 << 26));
            return;
          }
          ASSERT_EQ(result.absent.size(), 1U);
          EXPECT_EQ(result.absent[0].reason, "no library");
        });
    }
    EXPECT_EQ(asked.size(), can ? 16U : 0U);
    for (const auto& [rank, peer, sends] : asked) EXPECT_TRUE(asked.contains({peer, rank, !sends})) << rank << peer;
  }
}

TEST(FleetSteps, RankZeroSharesAText) {
  const PrivateFolder folder;
  const std::string text("id\0with\nall", 11);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        const auto steps = file_steps(folder.path(), {rank, 3, 0, "c"}, 30.0, nullptr);
        steps->meet("first", 0);
        right += steps->share(rank == 0 ? text : "") == text ? 1 : 0;
        right += steps->share(rank == 0 ? "again" : "") == "again" ? 1 : 0;
      });
  }
  EXPECT_EQ(right, 6);
}

TEST(FleetSteps, WhatAMeasurementThrowsEndsTheRankWithItsReason) {
  const PrivateFolder folder;
  Part part{folder.path(), {}, 1, "node", "0.2.0"};
  const auto steps = file_steps(folder.path(), part.place, 30.0, nullptr);
  const RankResult result =
      take_part(part, {}, *steps, []() -> Calibration { throw std::runtime_error("no\nmemory"); });
  EXPECT_EQ(result.failure, "no\\nmemory");
  EXPECT_EQ(read_rank(folder.path() / rank_file_name(0)).failure, "no\\nmemory");
}

}  // namespace
}  // namespace gpubench::fleet
