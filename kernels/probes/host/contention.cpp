// SPDX-License-Identifier: Apache-2.0
// Always optimised: a chase through the stack would be slower than the L1 it is to measure.
#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <latch>
#include <memory>
#include <system_error>
#include <thread>

#include "kernels/probes/chase_order.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::probes {
namespace {

constexpr std::size_t line_counters = 8;  // 64 bytes

/// Waits for a value. A partner that has lost its processor is given ours after a while.
void wait_for(const std::atomic<std::int64_t>& flag, std::int64_t value) {
  for (int spins = 0; flag.load(std::memory_order_acquire) != value; ++spins)
    if (spins > 100000) std::this_thread::yield();
}

int put_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// Runs both, each in a thread on a processor of its own, once both are there; what the first returns. The calling
/// thread keeps its place: it may be one of a team.
template <class Ask, class Answer>
double pair_seconds(int first, int second, const Ask& ask, const Answer& answer) {
  std::latch placed(2);
  std::atomic<int> failure{0};
  double seconds = 0.0;
  const auto place = [&](int processor) {
    if (const int error = put_on(processor); error != 0) failure = error;
    placed.arrive_and_wait();
    return failure == 0;
  };
  {
    const std::jthread one([&] {
      if (place(first)) seconds = ask();
    });
    try {
      std::jthread([&] {
        if (place(second)) answer();
      }).join();
    } catch (const std::system_error& error) {  // the first must not wait for what there is not
      failure = error.code().value();
      placed.count_down();
      throw;
    }
  }
  if (failure != 0)
    throw std::system_error(failure, std::generic_category(), "a thread could not be put on a processor");
  return seconds;
}

}  // namespace

void make_host_chain(std::byte* memory, std::uint32_t lines, std::uint64_t seed) {
  const int half_bits = half_bits_for(lines);
#pragma omp parallel for schedule(static)
  for (std::uint32_t i = 0; i < lines; ++i) {
    std::byte* const here = memory + shuffled(i, lines, half_bits, seed) * host_line_bytes;
    std::byte* const next = memory + shuffled(i + 1 == lines ? 0 : i + 1, lines, half_bits, seed) * host_line_bytes;
    std::memcpy(here, static_cast<const void*>(&next), sizeof next);
  }
}

const std::byte* chase_host_chain(const std::byte* from, std::int64_t steps) {
  const void* at = from;
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < steps; ++i) at = *static_cast<const void* const*>(at);
  return static_cast<const std::byte*>(at);
}

AtomicsProbe::AtomicsProbe() : counters_((static_cast<std::size_t>(team_size()) + 1) * stride_) {
  void* start = counters_.data();
  std::size_t room = counters_.size() * sizeof(counters_[0]);
  if (std::align(64, 64, start, room) != nullptr) first_ = counters_.size() - room / sizeof(counters_[0]);
}

double AtomicsProbe::add(Sharing sharing, std::int64_t times) {
  return team_seconds([&](std::size_t thread) {
    std::size_t place = first_;
    if (sharing == Sharing::one_line) place += thread / line_counters * line_counters + thread % line_counters;
    if (sharing == Sharing::spread) place += thread * stride_;
    std::atomic<std::uint64_t>& counter = counters_[place];
    for (std::int64_t i = 0; i < times; ++i) counter.fetch_add(1, std::memory_order_relaxed);
  });
}

std::uint64_t AtomicsProbe::total() const {
  std::uint64_t sum = 0;
  for (const auto& counter : counters_) sum += counter.load();
  return sum;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) processors.push_back(i);
  return processors;
}

double ping_pong_seconds(int first, int second, std::int64_t rounds) {
  struct alignas(256) Flag {
    std::atomic<std::int64_t> value{0};
  };
  Flag flag;
  const auto answer = [&] {
    for (std::int64_t i = 0; i <= rounds; ++i) {
      wait_for(flag.value, 2 * i + 1);
      flag.value.store(2 * i + 2, std::memory_order_release);
    }
  };
  const auto ask = [&] {
    double start = 0.0;
    for (std::int64_t i = 0; i <= rounds; ++i) {
      if (i == 1) start = now_seconds();  // in the first round the partner is still on its way
      flag.value.store(2 * i + 1, std::memory_order_release);
      wait_for(flag.value, 2 * i + 2);
    }
    return now_seconds() - start;
  };
  return pair_seconds(first, second, ask, answer) / (2.0 * static_cast<double>(rounds));
}

}  // namespace gpubench::probes
