// SPDX-License-Identifier: Apache-2.0
#include "timeline/selection.h"

#include <cstdint>
#include <stdexcept>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

using timeline::Selection;

/// Three steps; the kernel of each runs after its end.
Sample steps() {
  Sample sample;
  for (int i = 0; i < 3; ++i) {
    sample.slice(SliceKind::range, sample.ranges, i * 100, i * 100 + 90, "ProfilerStep#" + std::to_string(i));
    sample.slice(SliceKind::range, sample.ranges, i * 100 + 5, i * 100 + 20, "forward");
    sample.kernel(i * 100 + 10, i * 100 + 12, i * 100 + 95, i * 100 + 99, "k" + std::to_string(i));
  }
  sample.sorted();
  return sample;
}

std::string works(const timeline::Timeline& timeline) {
  std::string names;
  for (const timeline::Slice& slice : timeline.slices)
    if (occupies_gpu(slice.kind)) names += timeline.names.text(slice.name) + " ";
  return names;
}

TEST(Selection, OfAnIterationIsWhatWasLaunchedInIt) {
  EXPECT_EQ(works(timeline::selected(steps().timeline, {.iteration = 1})), "k1 ");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { (void)timeline::selected(steps().timeline, {.iteration = 3}); }),
              HasSubstr("0 to 2"));
}

TEST(Selection, OfARangeIsAllOfItsName) {
  const timeline::Timeline part = timeline::selected(steps().timeline, {.range = "forward"});
  EXPECT_EQ(works(part), "k0 k1 k2 ");
  for (const timeline::Slice& slice : part.slices)
    EXPECT_TRUE(occupies_gpu(slice.kind) || slice.duration_ns <= 15) << "the steps are cut at the range's ends";
  EXPECT_THROW((void)timeline::selected(steps().timeline, {.range = "backward"}), std::invalid_argument);
  EXPECT_EQ(works(timeline::selected(steps().timeline, {.iteration = 1, .range = "forward"})), "k1 ");
  EXPECT_THROW((void)timeline::selected(steps().timeline, {.iteration = 3, .range = "forward"}), std::invalid_argument);
}

TEST(Selection, OfNumberedRangesIsByTheNameThatTheyShare) {
  for (const char* const name : {"ProfilerStep", "ProfilerStep#*"})
    EXPECT_EQ(works(timeline::selected(steps().timeline, {.range = name})), "k0 k1 k2 ") << name;
  EXPECT_EQ(works(timeline::selected(steps().timeline, {.iteration = 1, .range = "ProfilerStep"})), "k1 ");
  EXPECT_EQ(works(timeline::selected(steps().timeline, {.range = "ProfilerStep#1"})), "k1 ");
  Sample both = steps();
  both.slice(SliceKind::range, both.ranges, 301, 399, "ProfilerStep");
  both.kernel(310, 312, 320, 330, "k3");
  both.sorted();
  EXPECT_EQ(works(timeline::selected(std::move(both.timeline), {.range = "ProfilerStep"})), "k3 ") << "the very name";
}

TEST(Selection, OfAStretchOfTimeIsCutAtItsEnds) {
  const timeline::Timeline part = timeline::selected(steps().timeline, {.from_seconds = 97e-9, .to_seconds = 200e-9});
  EXPECT_EQ(works(part), "k0 k1 ");
  std::int64_t shortest = 1000;
  for (const timeline::Slice& slice : part.slices) {
    EXPECT_GE(slice.start_ns, 97);
    EXPECT_LE(slice.end_ns(), 200);
    if (occupies_gpu(slice.kind)) shortest = std::min(shortest, slice.duration_ns);
  }
  EXPECT_EQ(shortest, 2);
}

TEST(Selection, OfARankThatIsNotThereSaysSo) {
  const auto why = [](Sample sample) {
    return message_of<std::invalid_argument>(
        [&] { (void)timeline::selected(std::move(sample.timeline), {.rank = 9}); });
  };
  EXPECT_EQ(why(steps()), "the trace does not tell its rank; leave --rank out");
  Sample ranked = steps();
  ranked.timeline.processes[0].rank = 3;
  EXPECT_EQ(why(std::move(ranked)), "there is no rank 9; there are 3");
}

}  // namespace
}  // namespace gpubench
