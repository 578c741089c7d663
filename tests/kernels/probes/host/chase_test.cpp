// SPDX-License-Identifier: Apache-2.0
// Pointer chases and what the system takes: right results. No times are asserted.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/probes/host/probes.h"

namespace gpubench::probes {
namespace {

std::vector<std::ptrdiff_t> cycle_of(const HostBuffer& buffer, std::uint32_t lines) {
  std::vector<std::ptrdiff_t> places;
  const std::byte* at = buffer.data();
  for (std::uint32_t i = 0; i < lines; ++i) {
    places.push_back(at - buffer.data());
    at = chase_host_chain(at, 1);
  }
  EXPECT_EQ(at, buffer.data()) << "the chain does not close";
  return places;
}

TEST(HostChase, VisitsEveryLineOnceAndComesBack) {
  for (const std::uint32_t lines : {1U, 2U, 3U, 4U, 5U, 64U, 1000U, 4097U}) {
    HostBuffer buffer(lines * host_line_bytes);
    make_host_chain(buffer.data(), lines, 7);
    const auto places = cycle_of(buffer, lines);
    const std::set<std::ptrdiff_t> distinct(places.begin(), places.end());
    EXPECT_EQ(distinct.size(), lines);
    EXPECT_EQ(*distinct.begin(), 0);
    EXPECT_EQ(*distinct.rbegin(), static_cast<std::ptrdiff_t>((lines - 1) * host_line_bytes));
    for (const auto place : distinct) EXPECT_EQ(place % static_cast<std::ptrdiff_t>(host_line_bytes), 0);
  }
}

TEST(HostChase, OrderIsRandomAndDiffersBySeed) {
  constexpr std::uint32_t lines = 4096;
  HostBuffer buffer(lines * host_line_bytes);
  make_host_chain(buffer.data(), lines, 1);
  const auto first = cycle_of(buffer, lines);
  make_host_chain(buffer.data(), lines, 2);
  EXPECT_NE(first, cycle_of(buffer, lines));
  // A prefetcher follows neighbours: in a random order of 4096 lines some two of them are expected.
  int neighbours = 0;
  for (std::size_t i = 1; i < first.size(); ++i)
    if (std::abs(first[i] - first[i - 1]) == static_cast<std::ptrdiff_t>(host_line_bytes)) ++neighbours;
  EXPECT_LT(neighbours, 20);
}

TEST(HostChase, FollowsAsManyLinksAsSaid) {
  constexpr std::uint32_t lines = 100;
  HostBuffer buffer(lines * host_line_bytes);
  make_host_chain(buffer.data(), lines, 3);
  const auto places = cycle_of(buffer, lines);
  for (const std::int64_t steps : {0, 1, 15, 16, 17, 99, 100, 12345})
    EXPECT_EQ(chase_host_chain(buffer.data(), steps) - buffer.data(), places[static_cast<std::size_t>(steps % lines)]);
}

TEST(HostTeam, HasTheSizeAskedForWhileAsked) {
  const int before = team_size();
  {
    const TeamOf team(1);
    EXPECT_EQ(team_size(), 1);
    int runs = 0;
    team_seconds([&](std::size_t) { ++runs; });
    EXPECT_EQ(runs, 1);
  }
  EXPECT_EQ(team_size(), before);
}

TEST(HostBuffer, TellsItsHugePagesIfTheSystemDoes) {
  HostBuffer buffer(std::size_t{8} << 20);
  for (std::size_t i = 0; i < buffer.size(); i += 4096) buffer.data()[i] = std::byte{1};
  const auto share = huge_page_share(buffer);
  if (!share) GTEST_SKIP() << "not told";
  EXPECT_GE(*share, 0.0);
  EXPECT_LE(*share, 1.0);
}

}  // namespace
}  // namespace gpubench::probes
