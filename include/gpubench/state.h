// SPDX-License-Identifier: Apache-2.0
// What an operation is handed: its arguments, memory, and the call that times it.
#pragma once

#include <benchmark/benchmark.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpubench/buffers.h"
#include "gpubench/check.h"
#include "gpubench/vectors.h"
#include "gpubench/work.h"

// CUDA's own declaration, repeated so that host code needs no CUDA header.
using cudaStream_t = struct CUstream_st*;

namespace gpubench {

class Harness;

/// Keeps the compiler from dropping a computation whose result nothing reads.
template <class T>
void keep(T& value) {
  benchmark::DoNotOptimize(value);
}

class State {
 public:
  State(benchmark::State& google, Harness& harness) : google_(google), harness_(harness) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// The argument at `index`, as registered with Arg, Args, Range, ...
  [[nodiscard]] std::int64_t range(std::size_t index = 0) const { return google_.range(index); }

  /// `count` elements on the GPU, filled with standard normal data (integers: uniform). Counts towards the footprint.
  /// Where counters take several executions, each begins with the same contents; memory from elsewhere, cudaMalloc
  /// say, is not known and stays as executions leave it.
  template <class T>
  [[nodiscard]] DeviceVector<T> device_vector(std::int64_t count) {
    DeviceVector<T> result(static_cast<std::size_t>(count));
    detail::fill_random_device(result.data(), detail::ElementOf<T>::value, result.size(), ++seed_);
    buffers_.add(result.buffer_);
    allocated_bytes_ += static_cast<double>(result.bytes());
    return result;
  }
  /// The same in host memory.
  template <class T>
  [[nodiscard]] HostVector<T> host_vector(std::int64_t count) {
    HostVector<T> result(static_cast<std::size_t>(count));
    detail::fill_random_host(result.data(), detail::ElementOf<T>::value, result.size(), ++seed_);
    buffers_.add(result.buffer_);
    allocated_bytes_ += static_cast<double>(result.bytes());
    return result;
  }

  /// Bytes one execution must read, at least. Calls add up.
  void reads(std::integral auto bytes) { work_.bytes_read += static_cast<double>(bytes); }
  /// Bytes one execution must write, at least. Calls add up.
  void writes(std::integral auto bytes) { work_.bytes_written += static_cast<double>(bytes); }
  /// Operations one execution does on a pipe; a fused multiply-add is two. Calls add up.
  void flops(Pipe pipe, std::integral auto count) { work_.flops[pipe] += static_cast<double>(count); }
  /// Distinct bytes touched, where that is not what device_vector and host_vector handed out.
  void footprint(std::integral auto bytes) { work_.footprint_bytes = static_cast<double>(bytes); }

  /// The blocks of the longest kernel, and how many of them fit on one multiprocessor at once
  /// (cudaOccupancyMaxActiveBlocksPerMultiprocessor): with these a verdict can tell a small grid and an uneven last
  /// wave. gpubench finds them itself where an operation can be captured and its kernels are alike.
  void grid(std::integral auto blocks, std::integral auto blocks_per_multiprocessor) {
    grid_ = Grid{static_cast<std::int64_t>(blocks), static_cast<std::int64_t>(blocks_per_multiprocessor)};
  }

  /// Checks the result: called once, after a first execution and before timing. Give it before `measure`. A check that
  /// does not pass fails the point (exit code 2), and it is not timed.
  void verify(std::function<Check()> check) { check_ = std::move(check); }

  /// Offers a variant that does `remaining_fraction` (from 0 to less than 1) of the arithmetic, or of the traffic, and
  /// all else as the operation does. It is timed after the operation, and whether its time falls is a vote on the
  /// verdict: "with half of its arithmetic it takes as long". Give it before `measure`; it may overwrite results, for
  /// they were checked.
  template <std::invocable<cudaStream_t> Operation>
  void perturb(Ablation perturbation, double remaining_fraction, Operation operation) {
    offer({perturbation, remaining_fraction,
           [this, operation](cudaStream_t stream, std::int64_t executions) mutable {
             for (std::int64_t i = 0; i < executions; ++i) {
               buffers_.next();
               operation(stream);
             }
           },
           nullptr});
  }
  /// The same for an operation of the host CPU.
  template <std::invocable Operation>
  void perturb(Ablation perturbation, double remaining_fraction, Operation operation) {
    offer({perturbation, remaining_fraction, nullptr, [this, operation](std::int64_t executions) mutable {
             for (std::int64_t i = 0; i < executions; ++i) {
               buffers_.next();
               operation();
               benchmark::ClobberMemory();
             }
           }});
  }

  /// Leaves this point out, with the reason; not a failure.
  void skip(std::string reason);

  /// Times an operation that enqueues its work on the stream it is handed, and nothing anywhere else. Call it once.
  template <std::invocable<cudaStream_t> Operation>
  void measure(Operation&& operation) {
    measure_device([this, &operation](cudaStream_t stream, std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) {
        buffers_.next();
        operation(stream);
      }
    });
  }
  /// Times an operation of the host CPU. Call it once.
  template <std::invocable Operation>
  void measure(Operation&& operation) {
    measure_host([this, &operation](std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) {
        buffers_.next();
        operation();
        benchmark::ClobberMemory();
      }
    });
  }

  /// Google Benchmark's own state: for counters and labels of your own.
  [[nodiscard]] benchmark::State& google() { return google_; }

  /// The work declared so far, with the footprint worked out.
  [[nodiscard]] Work work() const;
  /// The same as declared: the footprint only where `footprint` was called.
  [[nodiscard]] const Work& declared_work() const { return work_; }
  [[nodiscard]] const std::function<Check()>& check() const { return check_; }
  [[nodiscard]] const std::optional<Grid>& grid() const { return grid_; }
  /// A variant that `perturb` was given; one of the two is there.
  struct OfferedVariant {
    Ablation perturbation;
    double remaining_fraction;
    std::function<void(cudaStream_t, std::int64_t executions)> device_batch;
    std::function<void(std::int64_t executions)> host_batch;
  };
  [[nodiscard]] const std::vector<OfferedVariant>& variants() const { return variants_; }
  /// The memory that device_vector and host_vector handed out.
  [[nodiscard]] detail::Buffers& buffers() { return buffers_; }
  [[nodiscard]] const detail::Buffers& buffers() const { return buffers_; }

 private:
  void offer(OfferedVariant variant);
  void measure_device(const std::function<void(cudaStream_t, std::int64_t executions)>& batch);
  void measure_host(const std::function<void(std::int64_t executions)>& batch);

  benchmark::State& google_;
  Harness& harness_;
  Work work_;
  std::optional<Grid> grid_;
  detail::Buffers buffers_;
  std::function<Check()> check_;
  std::vector<OfferedVariant> variants_;
  double allocated_bytes_ = 0.0;
  std::uint64_t seed_ = 0;
};

}  // namespace gpubench
