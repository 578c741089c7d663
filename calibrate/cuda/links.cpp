// SPDX-License-Identifier: Apache-2.0
// Between the GPU and the host's memory, and between GPUs. All rates count payload: bytes that arrive, not what the
// link carries beside them.
#include <fmt/format.h>

#include "calibrate/cuda/calibration_context.h"
#include "core/base/time.h"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::calibrate {
namespace {

constexpr std::size_t copied_bytes = std::size_t{256} << 20;
constexpr std::size_t managed_bytes = std::size_t{128} << 20;
constexpr std::size_t peer_bytes = std::size_t{512} << 20;
constexpr int link_repeats = 7;
/// In all, and where several processes measure it.
constexpr int pageable_repeats = 5;
constexpr int pageable_repeats_of_several = 2;
constexpr int peer_steps = 4096;

void measure(CudaCalibrationContext& bench, Ceiling ceiling, const std::function<Reading()>& how,
             int times = link_repeats) {
  bench.attempt({ceiling.resource}, [&] {
    (void)how();  // sets up what the driver sets up once
    bench.measure_now(std::move(ceiling), how, times);
  });
}

/// A rate by the host's clock, from the call to the end of the work; `prepare` is not timed.
void measure_link(
    CudaCalibrationContext& bench, const std::string& resource, const std::string& method, std::size_t bytes,
    const std::function<void()>& work, int times = link_repeats, const std::function<void()>& prepare = [] {}) {
  Ceiling ceiling = new_ceiling(resource, "B/s", CeilingGroup::link, method + "; payload");
  ceiling.work_per_run = static_cast<double>(bytes);
  const auto timed = [&] {
    prepare();
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    const double start = steady_seconds();
    work();
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    return Reading{static_cast<double>(bytes) / (steady_seconds() - start)};
  };
  measure(bench, std::move(ceiling), timed, times);
}

void pinned(CudaCalibrationContext& bench) {
  const PinnedMemory to(copied_bytes);
  const PinnedMemory from(copied_bytes);
  DeviceVector<std::byte> in(copied_bytes);
  DeviceVector<std::byte> out(copied_bytes);
  bench::OwnedStream other;
  const auto write = [&] {
    GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(in.data(), from.on_host(), copied_bytes, cudaMemcpyHostToDevice, bench.stream));
  };
  const auto read = [&](Stream stream) {
    GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(to.on_host(), out.data(), copied_bytes, cudaMemcpyDeviceToHost, stream));
  };
  const char* const copy = "a copy of 256 MiB, host clock";
  measure_link(bench, "host-to-device-pinned", copy, copied_bytes, write);
  measure_link(bench, "device-to-host-pinned", copy, copied_bytes, [&] { read(bench.stream); });
  measure_link(bench, "host-both-ways-pinned", "a copy of 256 MiB each way at once, host clock; both together",
               2 * copied_bytes, [&] {
                 write();
                 read(other.get());
               });
}

int repeats_in_process(const CudaCalibrationContext& bench) {
  return bench.options.part == Part::of_process ? pageable_repeats_of_several : pageable_repeats;
}

void pageable(CudaCalibrationContext& bench) {
  std::vector<std::byte> host(copied_bytes, std::byte{1});
  DeviceVector<std::byte> device(copied_bytes);
  const char* const copy = "a copy of 256 MiB of ordinary host memory, host clock";
  const auto write = [&] {
    GPUBENCH_CUDA_CHECK(cudaMemcpy(device.data(), host.data(), copied_bytes, cudaMemcpyHostToDevice));
  };
  const auto read = [&] {
    GPUBENCH_CUDA_CHECK(cudaMemcpy(host.data(), device.data(), copied_bytes, cudaMemcpyDeviceToHost));
  };
  measure_link(bench, "host-to-device-pageable", copy, copied_bytes, write, repeats_in_process(bench));
  measure_link(bench, "device-to-host-pageable", copy, copied_bytes, read, repeats_in_process(bench));
}

class ManagedMemory {
 public:
  explicit ManagedMemory(std::size_t bytes) : bytes_(bytes) {
    GPUBENCH_CUDA_CHECK(cudaMallocManaged(&memory_, bytes, cudaMemAttachGlobal));
  }
  ~ManagedMemory() { (void)cudaFree(memory_); }
  ManagedMemory& operator=(ManagedMemory&&) = delete;  ///< not copied, not moved
  [[nodiscard]] float* data() const { return static_cast<float*>(memory_); }
  /// Moves it to a device, or with cudaCpuDeviceId to the host.
  void move(int device, Stream stream) const {
#if CUDART_VERSION >= 13000
    const cudaMemLocation place = {device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                                   device == cudaCpuDeviceId ? 0 : device};
    GPUBENCH_CUDA_CHECK(cudaMemPrefetchAsync(memory_, bytes_, place, 0, stream));
#else
    GPUBENCH_CUDA_CHECK(cudaMemPrefetchAsync(memory_, bytes_, device, stream));
#endif
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_;
};

void managed(CudaCalibrationContext& bench) {
  if (device_attribute(cudaDevAttrConcurrentManagedAccess, bench.index) == 0)
    throw CudaError("this system does not let host and GPU share managed memory at the same time, so nothing moves");
  const ManagedMemory memory(managed_bytes);
  const int times = repeats_in_process(bench);
  const auto touch = [&] {
    for (std::size_t i = 0; i < managed_bytes / sizeof(float); i += 1024) memory.data()[i] = 1.0F;
  };
  const auto to_host = [&] {
    memory.move(cudaCpuDeviceId, bench.stream);
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(bench.stream));
    touch();
  };
  const auto to_device = [&] { memory.move(bench.index, bench.stream); };
  const char* const moved = "cudaMemPrefetchAsync of 128 MiB, host clock";
  const auto to_host_only = [&] { memory.move(cudaCpuDeviceId, bench.stream); };
  const auto fault = [&] {
    GPUBENCH_CUDA_CHECK(probes::launch_memory(probes::MemoryPattern::read, {256, 4, 1}, nullptr, memory.data(), nullptr,
                                              managed_bytes / sizeof(float), bench.float_sink(), bench.stream));
  };
  measure_link(bench, "managed-to-device", moved, managed_bytes, to_device, times, to_host);
  measure_link(bench, "managed-to-host", moved, managed_bytes, to_host_only, times, to_device);
  measure_link(bench, "managed-faults", "a kernel reads 128 MiB of managed memory that lies on the host, host clock",
               managed_bytes, fault, times, to_host);
}

/// Another GPU is the current one while this lives.
class Current {
 public:
  explicit Current(int device) {
    GPUBENCH_CUDA_CHECK(cudaGetDevice(&before_));
    GPUBENCH_CUDA_CHECK(cudaSetDevice(device));
  }
  ~Current() { (void)cudaSetDevice(before_); }
  Current& operator=(Current&&) = delete;  ///< not copied, not moved

 private:
  int before_ = 0;
};

/// One GPU's leave to reach another's memory.
class PeerAccess {
 public:
  PeerAccess(int device, int peer) : device_(device), peer_(peer) {
    int can = 0;
    GPUBENCH_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, peer));
    if (can == 0) throw CudaError(fmt::format("GPU {} cannot reach GPU {}'s memory directly", device, peer));
    const Current current(device);
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(peer, 0);
    was_enabled_ = enabled == cudaErrorPeerAccessAlreadyEnabled;
    if (was_enabled_)
      (void)cudaGetLastError();
    else
      check_cuda(enabled, "cudaDeviceEnablePeerAccess");
  }
  ~PeerAccess() {
    int before = 0;
    if (was_enabled_ || cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(device_) != cudaSuccess) return;
    (void)cudaDeviceDisablePeerAccess(peer_);
    (void)cudaSetDevice(before);
  }
  PeerAccess& operator=(PeerAccess&&) = delete;  ///< not copied, not moved

 private:
  int device_;
  int peer_;
  bool was_enabled_ = false;
};

/// Something that is made, and unmade, while another GPU is the current one.
template <class T>
class Abroad {
 public:
  template <class... Arguments>
  explicit Abroad(int device, Arguments... arguments) : device_(device) {
    const Current current(device);
    thing_ = std::make_unique<T>(arguments...);
  }
  ~Abroad() {
    int before = 0;
    if (cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(device_) != cudaSuccess) return;
    thing_.reset();
    (void)cudaSetDevice(before);
  }
  Abroad& operator=(Abroad&&) = delete;  ///< not copied, not moved
  T* operator->() const { return thing_.get(); }

 private:
  int device_;
  std::unique_ptr<T> thing_;
};

void measure_peer(CudaCalibrationContext& bench, int other) {
  const PeerAccess to_other(bench.index, other);
  const Abroad<DeviceVector<std::byte>> there(other, peer_bytes);
  DeviceVector<std::byte> here(peer_bytes);
  const auto write = [&] {
    GPUBENCH_CUDA_CHECK(cudaMemcpyPeerAsync(there->data(), other, here.data(), bench.index, peer_bytes, bench.stream));
  };
  const auto read = [&] {
    GPUBENCH_CUDA_CHECK(cudaMemcpyPeerAsync(here.data(), bench.index, there->data(), other, peer_bytes, bench.stream));
  };
  const std::string name = fmt::format("peer-{}", other);
  measure_link(bench, name + "-write", "a copy of 512 MiB to the other GPU, host clock", peer_bytes, write);
  measure_link(bench, name + "-read", "a copy of 512 MiB from the other GPU, host clock", peer_bytes, read);
  bench.attempt({name + "-both-ways"}, [&] {
    // Copies that one GPU asks for follow one another even in two streams: each sends its own.
    const PeerAccess from_other(other, bench.index);
    const Abroad<bench::OwnedStream> others(other);
    DeviceVector<std::byte> target(peer_bytes);
    const Abroad<DeviceVector<std::byte>> source(other, peer_bytes);
    const auto both = [&] {
      write();
      GPUBENCH_CUDA_CHECK(
          cudaMemcpyPeerAsync(target.data(), bench.index, source->data(), other, peer_bytes, others->get()));
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(others->get()));
    };
    measure_link(bench, name + "-both-ways",
                 "a copy of 512 MiB each way at once, each sent by its GPU, host clock; both together", 2 * peer_bytes,
                 both);
  });
  // The chain is written by this GPU into the other's memory.
  const auto lines = static_cast<std::uint32_t>((std::size_t{64} << 20) / probes::line_bytes);
  Ceiling latency =
      new_ceiling("latency-" + name, "s", CeilingGroup::latency,
                  fmt::format("pointer chase in a random cycle over 64 MiB of the other GPU's memory, loads past L1; "
                              "cycles and time read in the kernel; mean of {} accesses",
                              peer_steps));
  latency.shape = "one thread";
  latency.work_per_run = peer_steps;
  std::uint64_t seed = 0;
  measure(bench, std::move(latency), [&] {
    GPUBENCH_CUDA_CHECK(probes::launch_chain(there->data(), lines, ++seed, bench.stream));
    GPUBENCH_CUDA_CHECK(probes::launch_chase(probes::ChaseCache::past_l1, there->data(), 0, 0, peer_steps,
                                             bench.sink.data(), bench.clock.readings(), bench.stream));
    return reading_over(bench.clock.last(1).front(), peer_steps);
  });
}

}  // namespace

void measure_links_of_process(CudaCalibrationContext& bench) {
  bench.attempt({"host-to-device-pageable", "device-to-host-pageable"}, [&] { pageable(bench); });
  bench.attempt({"managed-to-device", "managed-to-host", "managed-faults"}, [&] { managed(bench); });
}

void measure_links(CudaCalibrationContext& bench) {
  bench.attempt({"host-to-device-pinned", "device-to-host-pinned", "host-both-ways-pinned"}, [&] { pinned(bench); });
  int count = 0;
  bench.attempt({"peers"}, [&] { GPUBENCH_CUDA_CHECK(cudaGetDeviceCount(&count)); });
  for (int other = 0; other < count; ++other) {
    if (other == bench.index) continue;
    bench.attempt({fmt::format("peer-{}", other)}, [&] { measure_peer(bench, other); });
  }
}

}  // namespace gpubench::calibrate
