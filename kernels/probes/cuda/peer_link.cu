// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>
#include <vector>

#include "kernels/probes/cuda/launch.cuh"
#include "kernels/probes/cuda/peer_link.h"
#include "kernels/probes/cuda/transfers.h"

namespace gpubench::probes {
namespace {

constexpr int copy_threads = 512;  ///< as nvbandwidth's kernel has, and one block on each multiprocessor
constexpr int in_flight = 12;      ///< likewise

/// All threads together copy `count` 16-byte words, so many times.
__global__ void __launch_bounds__(copy_threads)
    copy_words(int copies, uint4* to, const uint4* from, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int copy = 0; copy < copies; ++copy) {
    std::size_t i = first;
    for (; i + (in_flight - 1) * stride < count; i += in_flight * stride) {
      uint4 words[in_flight];
#pragma unroll
      for (int j = 0; j < in_flight; ++j) words[j] = from[i + j * stride];
#pragma unroll
      for (int j = 0; j < in_flight; ++j) to[i + j * stride] = words[j];
    }
    for (; i < count; i += stride) to[i] = from[i];
  }
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

/// A stream's time between two moments.
class Stretch {
 public:
  Stretch() {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "cudaEventCreate");
  }
  ~Stretch() {
    for (cudaEvent_t event : events_) (void)cudaEventDestroy(event);
  }
  Stretch& operator=(Stretch&&) = delete;  ///< not copied, not moved
  void begin(Stream stream) { check(cudaEventRecord(events_[0], stream), "cudaEventRecord"); }
  void end(Stream stream) { check(cudaEventRecord(events_[1], stream), "cudaEventRecord"); }
  [[nodiscard]] cudaEvent_t beginning() const { return events_[0]; }
  /// Waits for its end.
  [[nodiscard]] double seconds() const {
    float milliseconds = 0.0F;
    check(cudaEventSynchronize(events_[1]), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t events_[2] = {};
};

/// Of the current GPU, whichever that is: allocations for users choose the one that this thread works on.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t count) : count_(count) { check(cudaMalloc(&memory_, count), "cudaMalloc"); }
  ~Bytes() { (void)cudaFree(memory_); }
  Bytes(Bytes&&) = delete;
  Bytes& operator=(Bytes&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(count_, other.count_);
    return *this;
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  void* memory_ = nullptr;
  std::size_t count_ = 0;
};

/// What one GPU moves.
struct Flow {
  int device, source_device, target_device;
  std::byte* target;
  const std::byte* source;
  Stream stream;
};

void enqueue(const Flow& flow, LinkEngine engine, int copies, std::size_t bytes) {
  if (engine == LinkEngine::kernel) {
    const int blocks = attribute(cudaDevAttrMultiProcessorCount);
    copy_words<<<static_cast<unsigned>(blocks), copy_threads, 0, flow.stream>>>(
        copies, reinterpret_cast<uint4*>(flow.target), reinterpret_cast<const uint4*>(flow.source),
        bytes / sizeof(uint4));
    check_launch();
    return;
  }
  for (int copy = 0; copy < copies; ++copy)
    check(cudaMemcpyPeerAsync(flow.target, flow.target_device, flow.source, flow.source_device, bytes, flow.stream),
          "cudaMemcpyPeerAsync");
}

}  // namespace

/// Memory here, and what is made and unmade while the other GPU is the current one.
struct PeerLink::State {
  State(int peer, std::size_t bytes) : other(peer), near(bytes) {
    if (other != here) access.emplace(here, peer);
    check(on_gpu(other, [&] { far = Bytes(bytes); }), "choosing another GPU");
  }
  ~State() {
    (void)on_gpu(other, [this] {
      far = {};
      far_source = {};
      stream.reset();
      stretch.reset();
    });
  }
  /// What both ways need beside.
  void prepare_way_back() {
    if (stream) return;
    if (other != here) back.emplace(other, here);
    near_target = Bytes(far.size());
    const auto make = [&] {
      far_source = Bytes(far.size());
      stretch = std::make_unique<Stretch>();
      stream = std::make_unique<SideStream>();
    };
    check(on_gpu(other, make), "choosing another GPU");
  }
  /// The second one is the other GPU's.
  std::vector<Flow> flows(LinkWay way, Stream own) {
    if (way == LinkWay::read) return {{here, other, here, near.data(), far.data(), own}};
    std::vector<Flow> made = {{here, here, other, far.data(), near.data(), own}};
    if (way == LinkWay::both_ways) {
      prepare_way_back();
      made.push_back({other, other, here, near_target.data(), far_source.data(), stream->get()});
    }
    return made;
  }

  int here = current_device();
  int other;
  std::optional<PeerAccess> access, back;
  Bytes near, far;
  Stretch own;
  // For both ways.
  Bytes near_target, far_source;
  std::unique_ptr<Stretch> stretch;
  std::unique_ptr<SideStream> stream;
};

PeerLink::PeerLink(int peer, std::size_t bytes) : state_(std::make_unique<State>(peer, bytes)) {}
PeerLink::~PeerLink() = default;
void* PeerLink::there() const { return state_->far.data(); }

double PeerLink::bytes_per_second(LinkWay way, LinkEngine engine, int copies, Stream stream) {
  constexpr int warm_up = 2;
  State& s = *state_;
  const auto flows = s.flows(way, stream);
  const auto on_each = [&](auto&& act) {
    for (std::size_t i = 0; i < flows.size(); ++i)
      check(on_gpu(flows[i].device, [&] { act(flows[i], i == 0 ? s.own : *s.stretch); }), "choosing another GPU");
  };
  on_each([&](const Flow& flow, Stretch&) { enqueue(flow, engine, warm_up, s.far.size()); });
  // Both begin at one moment, which comes while the host still enqueues: what each copy costs it is far less.
  on_each([&](const Flow& flow, Stretch& stretch) {
    if (&stretch != &s.own) check(cudaStreamWaitEvent(flow.stream, s.own.beginning(), 0), "cudaStreamWaitEvent");
    stretch.begin(flow.stream);
  });
  const int rounds = engine == LinkEngine::copy ? copies : 1;
  for (int round = 0; round < rounds; ++round)
    on_each([&](const Flow& flow, Stretch&) { enqueue(flow, engine, copies / rounds, s.far.size()); });
  on_each([&](const Flow& flow, Stretch& stretch) { stretch.end(flow.stream); });
  double rate = 0.0;
  on_each(
      [&](const Flow&, Stretch& stretch) { rate += static_cast<double>(s.far.size()) * copies / stretch.seconds(); });
  return rate;
}

}  // namespace gpubench::probes
