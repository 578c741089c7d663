// SPDX-License-Identifier: Apache-2.0
// Independent pieces of mathematics on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpubench {

/// Calls `body(i)` for each i below `count`, in no order, on as many threads as there are cores, as long as each has
/// `worth_a_thread` calls and the system gives one. Rethrows what one of them threw, after all have ended.
template <class Body>
void for_each_in_parallel(std::size_t count, std::size_t worth_a_thread, const Body& body) {
  std::size_t threads = count / worth_a_thread;
  if (threads > 1) threads = std::min<std::size_t>(threads, std::thread::hardware_concurrency());  // reads a file
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(failing);
      failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // no further thread: those that there are do it
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gpubench
