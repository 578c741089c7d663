// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernel_trace/recording.h"
#include "tests/kernel_trace/synthetic.h"
#include "tests/matchers.h"
#include "timeline/readers.h"
#include "timeline/writers.h"

namespace gpubench::kernel_trace {
namespace {

const DecodeOptions options = {.names = {"load", "compute", "store"},
                               .kernels = {"gemm", "reduce"},
                               .rate = Rate{.ns_per_tick = 0.5, .error = 1e-7},
                               .host = {}};

/// "load 100 50": start, rounded by more than the timer's step leaves unsure, and duration.
std::vector<std::string> spans_of(const Recording& recording) {
  std::vector<std::string> texts;
  for (const Span& span : recording.spans)
    texts.push_back(recording.name_of(span.id) + " " + std::to_string((span.start_ns + 50) / 100 * 100) + " " +
                    std::to_string((span.duration_ns + 5) / 10 * 10) + (span.unended ? " unended" : ""));
  return texts;
}

TEST(Decode, places_ranges_of_warps_on_several_sms) {
  SyntheticBuffer buffer(2, 2, 16);
  for (std::uint32_t block = 0; block < 2; ++block)
    for (std::uint32_t warp = 0; warp < 2; ++warp) {
      const std::int64_t from = block * 1000;
      auto one = buffer.open(from, block, warp, block * 7);
      one.begin(from + 500, 0).begin(from + 600, 1).end(from + 650, 1).end(from + 900, 0).close(from + 3200);
    }
  const Recording recording = decode(buffer.bytes(), options);
  EXPECT_THAT(recording.warnings, IsEmpty());
  EXPECT_THAT(recording.warps, SizeIs(4));
  EXPECT_EQ(recording.warps[3].sm, 7);
  EXPECT_NEAR(static_cast<double>(recording.base_ns - SyntheticBuffer::timer0), 0.0, 33.0);
  EXPECT_THAT(spans_of(recording), ElementsAre("compute 600 50", "load 500 400", "compute 600 50", "load 500 400",
                                               "compute 1600 50", "load 1500 400", "compute 1600 50", "load 1500 400"));
  ASSERT_THAT(recording.launches, SizeIs(1));
  EXPECT_EQ(recording.launches[0].kernel, "gemm");
  EXPECT_NEAR(recording.launches[0].ns_per_tick, 0.5, 1e-6);
  EXPECT_LE(recording.launches[0].residual_ns, 32.0);
  EXPECT_EQ(recording.spans[1].events, 3) << "two of compute, and its own end";
}

TEST(Decode, nests_and_recurs) {
  SyntheticBuffer buffer(1, 1, 16);
  buffer.open(0, 0, 0, 0).begin(100, 0).begin(200, 0).begin(300, 0).end(400, 0).end(500, 0).end(600, 0).close(6400);
  EXPECT_THAT(spans_of(decode(buffer.bytes(), options)), ElementsAre("load 300 100", "load 200 300", "load 100 500"));
}

TEST(Decode, ends_and_begins_with_one_stamp) {
  SyntheticBuffer buffer(1, 1, 16);
  auto warp = buffer.open(0, 0, 0, 0);
  warp.begin(100, 0).event(300, Kind::swap, 1, 0).event(700, Kind::swap, 2, 1).end(800, 2).close(6400);
  EXPECT_THAT(spans_of(decode(buffer.bytes(), options)),
              ElementsAre("load 100 200", "compute 300 400", "store 700 100"));
}

TEST(Decode, reads_scopes_that_are_stored_at_their_ends) {
  SyntheticBuffer buffer(1, 1, 16);
  auto warp = buffer.open(0, 0, 0, 0);
  warp.begin(100, 2).scope(200, 300, 0).event(350, Kind::instant, 1).scope(150, 400, 1).more(7).end(500, 2).close(6400);
  const Recording recording = decode(buffer.bytes(), options);
  EXPECT_THAT(recording.warnings, IsEmpty());
  EXPECT_THAT(spans_of(recording), ElementsAre("load 200 100", "compute 200 250", "store 100 400"));
  EXPECT_EQ(recording.spans[0].events, 0) << "a scope is stored behind its end";
  EXPECT_EQ(recording.spans[1].events, 3) << "a scope in it is two";
  EXPECT_EQ(recording.spans[1].payload, 7);
  EXPECT_EQ(recording.spans[2].events, 6);
  EXPECT_EQ(recording.events, 6);
}

TEST(Decode, knows_how_long_scopes_were) {
  for (std::int64_t ns = 1; ns < 1'000'000'000; ns = ns * 21 / 20 + 1) {
    SyntheticBuffer buffer(1, 1, 16);
    buffer.open(0, 0, 0, 0).scope(5000, 5000 + ns, 0xABC).close(ns + 10'000);
    const Recording recording = decode(buffer.bytes(), options);
    ASSERT_THAT(recording.spans, SizeIs(1));
    EXPECT_EQ(recording.spans[0].id, 0xABC);
    EXPECT_NEAR(static_cast<double>(recording.spans[0].duration_ns), static_cast<double>(ns),
                ns < 2048 ? 1.0 : static_cast<double>(ns) / 4000.0 + 1.0);
    EXPECT_NEAR(static_cast<double>(recording.spans[0].start_ns), 5000.0, 40.0) << ns;
  }
}

TEST(Decode, lets_no_scope_cross_another_for_want_of_bits) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    SyntheticBuffer buffer(1, 1, 64);
    auto warp = buffer.open(0, 0, 0, 0);
    std::int64_t now = 10'000;
    for (int i = 0; i < 5; ++i) {  // a scope begins as another ends, and has one that begins with it
      const std::int64_t start = now + 1, inner = start + 1;
      now = inner + 100'000 + static_cast<std::int64_t>(random() % 900'000);
      warp.scope(inner, inner + 20'000 + static_cast<std::int64_t>(random() % 30'000), 1).scope(inner, now, 1);
      warp.scope(start, now + 1, 0);
      ++now;
    }
    warp.close(now + 1000);
    const Recording recording = decode(buffer.bytes(), options);
    ASSERT_THAT(recording.spans, SizeIs(15));
    for (const Span& a : recording.spans)
      for (const Span& b : recording.spans)
        EXPECT_FALSE(a.start_ns < b.start_ns && b.start_ns < a.end_ns() && a.end_ns() < b.end_ns());
  }
}

TEST(Decode, keeps_the_latest_scopes_of_a_ring) {
  for (const bool closed : {true, false}) {
    SyntheticBuffer buffer(1, 1, 8);
    auto warp = buffer.open(0, 0, 0, 0, 0, true);
    for (int i = 0; i < 13; ++i) warp.scope(1000 + i * 100, 1050 + i * 100, 0);
    warp.event(2270, Kind::instant, 1);
    if (closed) warp.close(6400);
    const Recording recording = decode(buffer.bytes(), options);
    EXPECT_THAT(spans_of(recording), ElementsAre("load 1600 50", "load 1700 50", "load 1800 50", "load 1900 50",
                                                 "load 2000 50", "load 2100 50", "load 2200 50"))
        << closed;
    EXPECT_THAT(recording.instants, SizeIs(1));
    EXPECT_EQ(recording.dropped, closed ? 6 : 0);
  }
}

TEST(Decode, says_which_ranges_do_not_balance) {
  SyntheticBuffer buffer(1, 1, 16);
  auto warp = buffer.open(0, 0, 0, 0);
  warp.end(100, 2).begin(200, 0).begin(300, 1).end(400, 0).end(500, 1).begin(600, 2).close(6400);
  const Recording recording = decode(buffer.bytes(), options);
  EXPECT_THAT(spans_of(recording), ElementsAre("load 200 200", "compute 300 200", "store 600 5800 unended"));
  EXPECT_EQ(recording.unmatched, 1);
  EXPECT_EQ(recording.crossing, 1);
  EXPECT_THAT(recording.warnings,
              ElementsAre(HasSubstr("1 range without an end"), HasSubstr("1 end without a beginning"),
                          HasSubstr("1 range with an end while one that began later is open")));
}

TEST(Decode, keeps_the_first_events_and_counts_the_others) {
  SyntheticBuffer buffer(1, 3, 4);
  auto warp = buffer.open(0, 0, 0, 0), full = buffer.open(0, 0, 1, 0), killed = buffer.open(0, 0, 2, 0);
  for (int i = 0; i < 5; ++i) warp.begin(100 + i * 100, 0).end(150 + i * 100, 0);
  warp.close(6400);
  full.begin(100, 1).end(150, 1).begin(200, 1).end(250, 1).close(6400);
  killed.begin(100, 2).end(150, 2).begin(200, 2).end(250, 2);
  const Recording recording = decode(buffer.bytes(), options);
  EXPECT_THAT(spans_of(recording), ElementsAre("load 100 50", "load 200 6200 unended", "compute 100 50",
                                               "compute 200 50", "store 100 50", "store 200 6200 unended"))
      << "the last slot holds what came last, where that was too much or is not known";
  EXPECT_EQ(recording.dropped, 7);
  EXPECT_EQ(recording.warps[0].dropped, 7);
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("7 events did not fit")));
}

TEST(Decode, says_where_a_count_may_have_begun_anew) {
  for (const std::int64_t seconds : {1, 9}) {  // 2^34 clocks are 8.6 s
    SyntheticBuffer buffer(1, 1, 4);
    auto warp = buffer.open(0, 0, 0, 0);
    for (int i = 0; i < 5; ++i) warp.event(100 + i * 100, Kind::instant, 0);
    warp.close(seconds * 1'000'000'000);
    const auto dropped_more = Contains(HasSubstr("have dropped even more"));
    const Recording recording = decode(buffer.bytes(), options);
    if (seconds == 1)
      EXPECT_THAT(recording.warnings, Not(dropped_more));
    else
      EXPECT_THAT(recording.warnings, dropped_more);
  }
}

TEST(Decode, keeps_the_latest_events_of_a_ring) {
  for (const bool closed : {true, false}) {
    SyntheticBuffer buffer(1, 1, 11);  // of which a ring uses 8
    auto warp = buffer.open(0, 0, 0, 0, 0, true);
    for (int i = 0; i < 13; ++i) warp.begin(1000 + i * 100, 0).end(1050 + i * 100, 0);
    warp.event(2290, Kind::instant, 1);
    if (closed) warp.close(6400);
    const Recording recording = decode(buffer.bytes(), options);
    EXPECT_THAT(spans_of(recording), ElementsAre("load 2000 50", "load 2100 50", "load 2200 50")) << closed;
    EXPECT_THAT(recording.instants, SizeIs(1));
    EXPECT_EQ(recording.dropped, closed ? 19 : 0);
    EXPECT_EQ(recording.unmatched, closed ? 0 : 1);
  }
}

TEST(Decode, follows_clocks_that_wrap) {
  SyntheticBuffer buffer(1, 1, 64);
  auto warp = buffer.open(0, 0, 0, 0);
  constexpr std::int64_t second = 1'000'000'000;
  for (int i = 0; i < 12; ++i) warp.begin(i * 2 * second + 100, 0).end((i * 2 + 1) * second, 0);
  warp.close(24 * second);
  const Recording recording = decode(buffer.bytes(), options);
  ASSERT_THAT(recording.spans, SizeIs(12));
  EXPECT_NEAR(static_cast<double>(recording.spans[11].start_ns), 22e9 + 100, 200.0);
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(Decode, reads_what_a_killed_kernel_left) {
  SyntheticBuffer buffer(1, 2, 16);
  buffer.open(0, 0, 0, 0).begin(100, 0).begin(200, 1).end(300, 1);
  buffer.open(0, 0, 1, 0).begin(100, 2).end(900, 2);
  const Recording recording = decode(buffer.bytes(), options);
  EXPECT_THAT(spans_of(recording), ElementsAre("compute 200 100", "load 100 800 unended", "store 100 800"));
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("2 warps without a close")));
}

TEST(Decode, tells_launches_apart_by_time) {
  SyntheticBuffer buffer(1, 1, 8, 3);
  buffer.open(9000, 0, 0, 0, 0, false, 1).begin(9100, 0).end(9200, 0).close(9300);
  buffer.open(1000, 0, 0, 0, 1, false, 1).begin(1100, 0).end(1200, 0).close(1300);
  buffer.open(5000, 0, 0, 0, 2, false, 0).begin(5100, 0).end(5200, 0).close(5300);
  const Recording recording = decode(buffer.bytes(), options);
  ASSERT_THAT(recording.launches, SizeIs(3));
  EXPECT_EQ(recording.launches[0].kernel, "gemm");
  EXPECT_EQ(recording.launches[1].kernel, "reduce");
  EXPECT_EQ(recording.launches[1].repeat, 0);
  EXPECT_EQ(recording.launches[2].repeat, 1);
  EXPECT_LT(recording.launches[1].open_ns, recording.launches[2].open_ns);
}

TEST(Decode, joins_asynchronous_ranges_and_flows_of_a_block) {
  SyntheticBuffer buffer(2, 2, 16);
  for (std::uint32_t block = 0; block < 2; ++block) {
    auto producer = buffer.open(0, block, 0, block);
    producer.event(100, Kind::async_begin, 0, 1).event(200, Kind::async_begin, 0, 2);
    producer.event(210, Kind::flow_out, 1, 9).event(900, Kind::async_begin, 0, 3).close(6400);
    auto consumer = buffer.open(0, block, 1, block);
    consumer.event(400, Kind::async_end, 0, 2).event(500, Kind::async_end, 0, 1);
    consumer.event(510, Kind::flow_in, 1, 9).event(520, Kind::flow_in, 1, 8).close(6400);
  }
  const Recording recording = decode(buffer.bytes(), options);
  EXPECT_THAT(spans_of(recording), ElementsAre("load 100 400", "load 200 200", "load 900 5500 unended", "load 100 400",
                                               "load 200 200", "load 900 5500 unended"));
  ASSERT_THAT(recording.flows, SizeIs(2));
  EXPECT_EQ(recording.warps[recording.flows[0].from_warp].warp, 0);
  EXPECT_EQ(recording.warps[recording.flows[0].to_warp].warp, 1);
  EXPECT_EQ(recording.unmatched, 2);
  const timeline::Timeline timeline = timeline_of(recording);
  EXPECT_THAT(timeline.flows, SizeIs(2));
  EXPECT_THAT(timeline.processes, SizeIs(3)) << "two SMs and the launches";
}

TEST(Decode, reads_values_of_each_type) {
  SyntheticBuffer buffer(1, 1, 16);
  auto warp = buffer.open(0, 0, 0, 0);
  warp.event(100, Kind::value, 0, 0).more(4'000'000'000U);
  warp.event(200, Kind::value, 0, 1).more(static_cast<std::uint32_t>(-5));
  warp.event(300, Kind::value, 0, 2).more(std::bit_cast<std::uint32_t>(1.5F));
  warp.close(6400);
  const Recording recording = decode(buffer.bytes(), options);
  ASSERT_THAT(recording.values, SizeIs(3));
  EXPECT_EQ(recording.values[0].value, 4e9);
  EXPECT_EQ(recording.values[1].value, -5.0);
  EXPECT_EQ(recording.values[2].value, 1.5);
  const timeline::Timeline timeline = timeline_of(recording);
  ASSERT_THAT(timeline.counters, SizeIs(1));
  EXPECT_EQ(timeline.counters[0].name, "load, block 0 warp 0");
}

TEST(Decode, says_which_ids_are_out_of_range) {
  SyntheticBuffer buffer(1, 1, 16);
  auto warp = buffer.open(0, 0, 0, 0);
  warp.begin(100, 70'000).end(300, 70'000).event(400, Kind::instant, 4095).begin(500, 4094).end(600, 4094).close(6400);
  const Recording recording = decode(buffer.bytes(), options);
  EXPECT_THAT(spans_of(recording), ElementsAre("id out of range 100 200", "event 4094 500 100"));
  EXPECT_THAT(recording.warnings, ElementsAre(HasSubstr("2 events with an id of 4095 or more")));
  (void)timeline_of(recording);
}

TEST(Decode, ties_the_clock_to_the_timer_where_a_warp_says_so) {
  SyntheticBuffer buffer(1, 1, 200);
  auto warp = buffer.open(0, 0, 0, 0);
  for (int i = 1; i <= 20; ++i) {
    const std::uint64_t now = SyntheticBuffer::timer(i * 100'000);
    warp.event(i * 100'000, Kind::place, 0);
    warp.more(static_cast<std::uint32_t>(now)).more(static_cast<std::uint32_t>(now >> 32));
  }
  warp.close(2'100'000);
  DecodeOptions without_rate = options;
  without_rate.rate.reset();
  EXPECT_NEAR(decode(buffer.bytes(), without_rate).launches[0].ns_per_tick, 0.5, 1e-5);
}

TEST(Decode, moves_times_to_the_hosts_clock) {
  SyntheticBuffer buffer(1, 1, 16);
  buffer.open(5'000'000'000, 0, 0, 0).begin(5'000'000'100, 0).end(5'000'000'200, 0).close(5'000'006'400);
  DecodeOptions on_host = options;
  constexpr std::int64_t t = SyntheticBuffer::timer0, second = 1'000'000'000;
  on_host.host = {{t, 7 * second, 500}, {t + 10 * second, 17 * second + 20'000, 500}};  // 2 us a second faster
  const Recording recording = decode(buffer.bytes(), on_host);
  EXPECT_NEAR(static_cast<double>(recording.base_ns), 12e9 + 10'000, 40.0);
}

TEST(Decode, refuses_what_is_no_buffer) {
  const auto refusal = [](std::span<const std::byte> bytes) {
    return message_of<std::invalid_argument>([&] { (void)decode(bytes, options); });
  };
  SyntheticBuffer buffer(1, 1, 16);
  EXPECT_THAT(refusal({}), HasSubstr("0 bytes are no buffer"));
  EXPECT_THAT(refusal(buffer.bytes().first(80)), HasSubstr("too few for 1 launch of 1 block"));
  buffer.header_.blocks = 0xFFFFFFFF;
  buffer.header_.warps = 0xFFFFFFFF;
  EXPECT_THAT(refusal(buffer.bytes()), HasSubstr("too few"));
  buffer.header_.version = 9;
  EXPECT_THAT(refusal(buffer.bytes()), HasSubstr("has version 9"));
  buffer.header_.magic = 0;
  EXPECT_THAT(refusal(buffer.bytes()), HasSubstr("does not begin with"));
}

TEST(Decode, survives_any_bytes) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    SyntheticBuffer buffer(3, 2, 29, 2);
    const auto whole = buffer.bytes();
    std::vector<std::byte> bytes(whole.begin(), whole.end());
    for (std::size_t i = sizeof(BufferHeader); i < bytes.size(); ++i)
      if (round % 2 == 0 || random() % 8 == 0) bytes[i] = static_cast<std::byte>(random());
    const Recording recording = decode(bytes, options);
    std::string chrome;
    const timeline::Timeline timeline = timeline_of(recording);
    timeline::write_chrome_json(timeline, [&](std::string_view part) { chrome += part; });
    EXPECT_THAT(timeline::chrome_json(chrome, "written").slices, SizeIs(timeline.slices.size()));
    (void)statistics_table(statistics_of(recording));
  }
}

}  // namespace
}  // namespace gpubench::kernel_trace
