// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "gpubench/vectors.h"
#include "kernels/probes/cuda/launch.cuh"
#include "kernels/probes/cuda/transfers.h"

namespace gpubench::probes {
namespace {

cudaMemcpyKind kind_of(Direction direction) {
  return direction == Direction::to_gpu     ? cudaMemcpyHostToDevice
         : direction == Direction::from_gpu ? cudaMemcpyDeviceToHost
                                            : cudaMemcpyDeviceToDevice;
}

/// Calls f while another GPU is the current one, where it can be that.
template <class F>
cudaError_t on_gpu(int device, const F& f) {
  int before = 0;
  cudaError_t error = cudaGetDevice(&before);
  if (error == cudaSuccess) error = cudaSetDevice(device);
  if (error != cudaSuccess) return error;
  struct Back {
    int device;
    ~Back() { (void)cudaSetDevice(device); }
  } const back{before};
  f();
  return cudaSuccess;
}

/// One GPU's leave to reach another's memory.
class PeerAccess {
 public:
  PeerAccess(int device, int peer) : device_(device), peer_(peer) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, device, peer), "cudaDeviceCanAccessPeer");
    if (can == 0)
      throw GpuError("GPU " + std::to_string(device) + " cannot reach GPU " + std::to_string(peer) +
                     "'s memory directly");
    cudaError_t enabled = cudaSuccess;
    check(on_gpu(device, [&] { enabled = cudaDeviceEnablePeerAccess(peer, 0); }), "choosing another GPU");
    was_enabled_ = enabled == cudaErrorPeerAccessAlreadyEnabled;
    if (was_enabled_)
      (void)cudaGetLastError();
    else
      check(enabled, "cudaDeviceEnablePeerAccess");
  }
  ~PeerAccess() {
    if (!was_enabled_) (void)on_gpu(device_, [this] { (void)cudaDeviceDisablePeerAccess(peer_); });
  }
  PeerAccess& operator=(PeerAccess&&) = delete;  ///< not copied, not moved

 private:
  int device_;
  int peer_;
  bool was_enabled_ = false;
};

}  // namespace

void wait_for_gpu() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }
void enqueue_copy(void* to, const void* from, std::size_t bytes, Direction direction, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind_of(direction), stream), "cudaMemcpyAsync");
}
void copy_pageable(void* to, const void* from, std::size_t bytes, Direction direction) {
  check(cudaMemcpy(to, from, bytes, kind_of(direction)), "cudaMemcpy");
}
void enqueue_fill(void* memory, int value, std::size_t bytes, Stream stream) {
  check(cudaMemsetAsync(memory, value, bytes, stream), "cudaMemsetAsync");
}
SideStream::SideStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
SideStream::~SideStream() { (void)cudaStreamDestroy(stream_); }

PinnedMemory::PinnedMemory(std::size_t bytes) {
  check(cudaHostAlloc(&memory_, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  std::memset(memory_, 1, bytes);
}
PinnedMemory::~PinnedMemory() { (void)cudaFreeHost(memory_); }
std::byte* PinnedMemory::on_device() const {
  void* address = nullptr;
  check(cudaHostGetDevicePointer(&address, memory_, 0), "cudaHostGetDevicePointer");
  return static_cast<std::byte*>(address);
}

/// Memory here, and what is made and unmade while the other GPU is the current one.
struct PeerLink::State {
  State(int peer, std::size_t bytes) : other(peer), access(here, peer), near(bytes) {
    check(on_gpu(other, [&] { far = DeviceVector<std::byte>(bytes); }), "choosing another GPU");
  }
  ~State() {
    (void)on_gpu(other, [this] {
      far = {};
      far_source = {};
      stream.reset();
    });
  }
  int here = current_device();
  int other;
  PeerAccess access;
  DeviceVector<std::byte> near, far;
  // For both ways.
  std::unique_ptr<PeerAccess> back;
  DeviceVector<std::byte> near_target, far_source;
  std::unique_ptr<SideStream> stream;
};

PeerLink::PeerLink(int peer, std::size_t bytes) : state_(std::make_unique<State>(peer, bytes)) {}
PeerLink::~PeerLink() = default;
void* PeerLink::there() const { return state_->far.data(); }
void PeerLink::write(Stream stream) {
  State& s = *state_;
  check(cudaMemcpyPeerAsync(s.far.data(), s.other, s.near.data(), s.here, s.far.size(), stream), "cudaMemcpyPeerAsync");
}
void PeerLink::read(Stream stream) {
  State& s = *state_;
  check(cudaMemcpyPeerAsync(s.near.data(), s.here, s.far.data(), s.other, s.far.size(), stream), "cudaMemcpyPeerAsync");
}
void PeerLink::both_ways(Stream stream) {
  State& s = *state_;
  if (!s.back) {
    auto back = std::make_unique<PeerAccess>(s.other, s.here);
    s.near_target = DeviceVector<std::byte>(s.far.size());
    const auto make = [&] {
      s.far_source = DeviceVector<std::byte>(s.far.size());
      s.stream = std::make_unique<SideStream>();
    };
    check(on_gpu(s.other, make), "choosing another GPU");
    s.back = std::move(back);
  }
  write(stream);
  check(cudaMemcpyPeerAsync(s.near_target.data(), s.here, s.far_source.data(), s.other, s.far.size(), s.stream->get()),
        "cudaMemcpyPeerAsync");
  check(cudaStreamSynchronize(s.stream->get()), "cudaStreamSynchronize");
}

}  // namespace gpubench::probes
