// SPDX-License-Identifier: Apache-2.0
// The CUDA side of the built-in operations: each call enqueues one kernel on the stream and returns. All pointers are
// device memory aligned to 16 bytes; any count works. Throws CudaError when a launch is refused.
#pragma once

#include "gpubench/check.h"
#include "gpubench/stream.h"
#include "gpubench/vectors.h"

namespace gpubench::operations::cuda {

void copy(const float* x, float* y, std::int64_t n, Stream stream);                   ///< y = x
void saxpy(const float* x, float* y, std::int64_t n, Stream stream);                  ///< y = scale * x + y
void triad(const float* b, const float* c, float* a, std::int64_t n, Stream stream);  ///< a = b + scale * c
void cosine(const float* x, float* y, std::int64_t n, Stream stream);
void gelu(const float* x, float* y, std::int64_t n, Stream stream);
void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count, Stream stream);

/// What sum and dot keep between their blocks; one for each stream. Made for the current device.
class ReductionScratch {
 public:
  ReductionScratch();
  [[nodiscard]] float* partials() { return partials_.data(); }
  [[nodiscard]] unsigned* arrivals() { return reinterpret_cast<unsigned*>(arrivals_.data()); }
  [[nodiscard]] int max_blocks() const { return max_blocks_; }

 private:
  int max_blocks_;
  DeviceVector<float> partials_;
  DeviceVector<std::int32_t> arrivals_;
};

void sum(const float* x, float* result, std::int64_t n, ReductionScratch& scratch, Stream stream);
void dot(const float* x, const float* y, float* result, std::int64_t n, ReductionScratch& scratch, Stream stream);

void softmax(const float* x, float* y, std::int64_t rows, Stream stream);  ///< rows of row_length
void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows,
                Stream stream);                                           ///< rows of row_length
void transpose(const float* x, float* y, std::int64_t n, Stream stream);  ///< n x n

/// y = M v for a row-major n x n matrix, in double: the independent half of a matrix product's check. T: float,
/// __nv_bfloat16.
template <class T>
void multiply_in_double(const T* matrix, const double* v, double* y, std::int64_t n, Stream stream);

}  // namespace gpubench::operations::cuda

namespace gpubench::operations {

/// The elements of a vector that a check looks at: all of them up to 2^22, beyond that 64 chunks of 2^16 that start
/// with the first element, end with the last and lie evenly between. At 10 GB/s that is under 2 ms for each vector.
class DeviceSample {
 public:
  static constexpr std::int64_t whole_up_to = std::int64_t{1} << 22;
  static constexpr std::int64_t chunk = std::int64_t{1} << 16;
  static constexpr std::int64_t chunks = whole_up_to / chunk;

  /// Chunks begin at multiples of `granule` elements (a row, say); `granule` divides 2^16, and `count` when that is
  /// large.
  explicit DeviceSample(std::int64_t count, std::int64_t granule = 1) : count_(count), granule_(granule) {}

  [[nodiscard]] bool whole() const { return count_ <= whole_up_to; }
  [[nodiscard]] std::int64_t size() const { return whole() ? count_ : whole_up_to; }

  /// Room for as many elements.
  [[nodiscard]] HostVector<float> room() const { return HostVector<float>(static_cast<std::size_t>(size())); }

  /// The chosen elements, one chunk after the other. Waits for the device.
  [[nodiscard]] HostVector<float> of(const DeviceVector<float>& vector) const {
    HostVector<float> values = room();
    if (whole()) {
      detail::copy_from_device(values.data(), vector.data(), values.size() * sizeof(float));
      return values;
    }
    for (std::int64_t i = 0; i < chunks; ++i)
      detail::copy_from_device(values.data() + i * chunk, vector.data() + start(i), chunk * sizeof(float));
    return values;
  }

  /// all_close, and a word in the message that its index counts the sample's elements.
  [[nodiscard]] Check close(std::span<const float> actual, std::span<const float> expected, double relative,
                            double absolute) const {
    Check check = all_close(actual, expected, relative, absolute);
    if (!check.passed && !whole()) check.message += " (counted in a sample of 64 chunks of 65536)";
    return check;
  }

 private:
  [[nodiscard]] std::int64_t start(std::int64_t index) const {
    return (count_ - chunk) / granule_ * index / (chunks - 1) * granule_;
  }

  std::int64_t count_;
  std::int64_t granule_;
};

}  // namespace gpubench::operations
