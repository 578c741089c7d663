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

#include "gpubench/buffers.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace gpubench {

class State;

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
void free_device(void* pointer, std::size_t bytes) noexcept;
void copy_from_device(void* host, const void* device, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);
/// Standard normal data (int32: uniform over all values), the same for the same seed.
void fill_random_device(void* pointer, Element element, std::size_t count, std::uint64_t seed);
void fill_bytes_device(void* pointer, int value, std::size_t bytes);

void* allocate_host(std::size_t bytes);  ///< 64-byte aligned, huge pages where the system has them; throws OutOfMemory
void free_host(void* pointer, std::size_t bytes) noexcept;
/// As fill_random_device, by all cores, each touching the pages it will later use first.
void fill_random_host(void* pointer, Element element, std::size_t count, std::uint64_t seed);
}  // namespace detail

namespace detail {
/// What vectors on the GPU and on the host have in common. Movable, not copyable.
template <class T, Memory memory>
class Vector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Vector() = default;
  explicit Vector(std::size_t count) : buffer_(std::make_shared<Buffer>(memory, count * sizeof(T))), count_(count) {}
  Vector(Vector&& other) noexcept : buffer_(std::move(other.buffer_)), count_(std::exchange(other.count_, 0)) {}
  Vector& operator=(Vector&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(count_, other.count_);
    return *this;
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  ~Vector() = default;

  /// Ask for it in each execution, not before `measure`: with --cache=cold every execution has another copy.
  [[nodiscard]] T* data() { return buffer_ ? static_cast<T*>(buffer_->data()) : nullptr; }
  [[nodiscard]] const T* data() const { return buffer_ ? static_cast<const T*>(buffer_->data()) : nullptr; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }

 protected:
  /// For what does not keep it; not of an empty vector.
  [[nodiscard]] T* place() const { return static_cast<T*>(buffer_->place()); }

 private:
  friend class gpubench::State;
  std::shared_ptr<Buffer> buffer_;
  std::size_t count_ = 0;  ///< not left to the buffer, or compilers would not vectorise loops over size()
};
}  // namespace detail

/// `count` elements of T in the current GPU's memory. Movable, not copyable. Not initialised unless made by State.
template <class T>
class DeviceVector : public detail::Vector<T, detail::Memory::device> {
 public:
  using detail::Vector<T, detail::Memory::device>::Vector;

  /// A copy on the host; waits for the device.
  [[nodiscard]] std::vector<T> to_host() const {
    std::vector<T> host(this->size());
    if (!host.empty()) detail::copy_from_device(host.data(), this->place(), this->bytes());
    return host;
  }
  /// Overwrites the first values.size() elements; throws std::invalid_argument when they are more than size().
  void assign(std::span<const T> values) {
    if (values.size() > this->size()) throw std::invalid_argument("DeviceVector::assign: more values than elements");
    if (!values.empty()) detail::copy_to_device(this->place(), values.data(), values.size_bytes());
  }
};

/// `count` elements of T in host memory. Movable, not copyable.
template <class T>
class HostVector : public detail::Vector<T, detail::Memory::host> {
 public:
  using detail::Vector<T, detail::Memory::host>::Vector;

  [[nodiscard]] std::span<T> span() { return {this->data(), this->size()}; }
  [[nodiscard]] std::span<const T> span() const { return {this->data(), this->size()}; }
  T& operator[](std::size_t index) { return this->place()[index]; }
  const T& operator[](std::size_t index) const { return this->place()[index]; }
};

}  // namespace gpubench
