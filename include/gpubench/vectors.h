// SPDX-License-Identifier: Apache-2.0
// Memory for operations, on the GPU and on the host, freed when it goes out of scope. State makes them:
//
//   auto x = state.device_vector<float>(n);
//   state.measure([&](cudaStream_t stream) { kernel<<<blocks, 256, 0, stream>>>(x.data(), x.size()); });
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpubench/detail/buffers.h"
#include "gpubench/error.h"

namespace gpubench {

class State;

namespace detail {
/// What vectors on the GPU and on the host have in common. Movable, not copyable.
template <class T, Memory memory>
class Vector {
  static_assert(std::is_trivially_copyable_v<T>,
                "gpubench's vectors hold trivially copyable types: those that memcpy can copy");

 public:
  Vector() = default;
  explicit Vector(std::size_t count) : buffer_(make_buffer(memory, count, sizeof(T))), count_(count) {}
  Vector(Vector&& other) noexcept : buffer_(std::move(other.buffer_)), count_(std::exchange(other.count_, 0)) {}
  Vector& operator=(Vector&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(count_, other.count_);
    return *this;
  }
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

  [[nodiscard]] std::span<T> span() { return {this->data(), this->size()}; }              ///< all elements
  [[nodiscard]] std::span<const T> span() const { return {this->data(), this->size()}; }  ///< all elements
  [[nodiscard]] T* begin() { return this->data(); }                                       ///< for loops and algorithms
  [[nodiscard]] T* end() { return this->data() + this->size(); }                          ///< one past the last
  [[nodiscard]] const T* begin() const { return this->data(); }                           ///< for loops and algorithms
  [[nodiscard]] const T* end() const { return this->data() + this->size(); }              ///< one past the last
  T& operator[](std::size_t index) { return this->place()[index]; }                       ///< not checked
  const T& operator[](std::size_t index) const { return this->place()[index]; }           ///< not checked
};

}  // namespace gpubench
