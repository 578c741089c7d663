// SPDX-License-Identifier: Apache-2.0
// Memory for operations: on the GPU and on the host, filled with random data, freed when it goes out of scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpubench/buffer_places.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace gpubench {

/// Thrown when memory cannot be had; the point then fails with FailureKind::out_of_memory and the rest of the run goes
/// on.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown on a CUDA, cuBLASLt or driver error; the message names the call and the error.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Element types that random data can be made of.
enum class Element { float64, float32, float16, bfloat16, int32 };

namespace detail {
template <class T>
struct ElementOf;
template <>
struct ElementOf<double> : std::integral_constant<Element, Element::float64> {};
template <>
struct ElementOf<float> : std::integral_constant<Element, Element::float32> {};
template <>
struct ElementOf<std::int32_t> : std::integral_constant<Element, Element::int32> {};
#ifdef __CUDACC__
template <>
struct ElementOf<__half> : std::integral_constant<Element, Element::float16> {};
template <>
struct ElementOf<__nv_bfloat16> : std::integral_constant<Element, Element::bfloat16> {};
#endif

void* allocate_device(std::size_t bytes);  ///< throws OutOfMemory or CudaError
void free_device(void* pointer) noexcept;
void copy_from_device(void* host, const void* device, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);
/// Standard normal data (int32: uniform over all values), the same for the same seed.
void fill_random_device(void* pointer, Element element, std::size_t count, std::uint64_t seed);

void* allocate_host(std::size_t bytes);  ///< 64-byte aligned, huge pages where the system has them; throws OutOfMemory
void free_host(void* pointer, std::size_t bytes) noexcept;
/// As fill_random_device, by all cores, each touching the pages it will later use first.
void fill_random_host(void* pointer, Element element, std::size_t count, std::uint64_t seed);
}  // namespace detail

/// `count` elements of T in the current GPU's memory. Movable, not copyable. Not initialised unless made by State.
template <class T>
class DeviceVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceVector() = default;
  explicit DeviceVector(std::size_t count)
      : data_(static_cast<T*>(detail::allocate_device(count * sizeof(T)))), count_(count) {}
  /// Known to a registry for as long as it owns its memory: what State makes.
  DeviceVector(std::size_t count, std::shared_ptr<detail::BufferRegistry> registry) : DeviceVector(count) {
    entry_ = detail::BufferEntry(std::move(registry), {data_, bytes(), true});
  }
  DeviceVector(DeviceVector&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        entry_(std::move(other.entry_)) {}
  DeviceVector& operator=(DeviceVector&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    entry_ = std::move(other.entry_);  // swaps, too
    return *this;
  }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;
  ~DeviceVector() { detail::free_device(data_); }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }

  /// A copy on the host; waits for the device.
  [[nodiscard]] std::vector<T> to_host() const {
    std::vector<T> host(count_);
    detail::copy_from_device(host.data(), data_, bytes());
    return host;
  }
  /// Overwrites the first values.size() elements; throws std::invalid_argument when they are more than size().
  void assign(std::span<const T> values) {
    if (values.size() > count_) throw std::invalid_argument("DeviceVector::assign: more values than elements");
    detail::copy_to_device(data_, values.data(), values.size_bytes());
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
  detail::BufferEntry entry_;
};

/// `count` elements of T in host memory. Movable, not copyable.
template <class T>
class HostVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HostVector() = default;
  explicit HostVector(std::size_t count)
      : data_(static_cast<T*>(detail::allocate_host(count * sizeof(T)))), count_(count) {}
  /// Known to a registry for as long as it owns its memory: what State makes.
  HostVector(std::size_t count, std::shared_ptr<detail::BufferRegistry> registry) : HostVector(count) {
    entry_ = detail::BufferEntry(std::move(registry), {data_, bytes(), false});
  }
  HostVector(HostVector&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        entry_(std::move(other.entry_)) {}
  HostVector& operator=(HostVector&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    entry_ = std::move(other.entry_);  // swaps, too
    return *this;
  }
  HostVector(const HostVector&) = delete;
  HostVector& operator=(const HostVector&) = delete;
  ~HostVector() { detail::free_host(data_, bytes()); }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
  [[nodiscard]] std::span<T> span() { return {data_, count_}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, count_}; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
  detail::BufferEntry entry_;
};

}  // namespace gpubench
