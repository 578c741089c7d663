// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/null_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace gpubench::bench {

/// Two clocks that only work moves, and what has been enqueued and not yet run.
struct NullBackend::World {
  double host = 0.0;
  double device = 0.0;
  bool blocked = false;
  std::vector<std::function<void()>> waiting;
  std::vector<NullKernel>* captured = nullptr;
  std::vector<ActivityRecord> records;
  double bytes_read = 0.0;
  double bytes_written = 0.0;
  double instructions = 0.0;
  std::uint64_t kernels = 0;

  /// Runs at once, or when the stream is let go.
  void enqueue(std::function<void()> work) {
    if (blocked) return waiting.push_back(std::move(work));
    device = std::max(device, host);
    work();
  }
  void release() {
    blocked = false;
    device = std::max(device, host);
    for (const auto& work : std::exchange(waiting, {})) work();
  }
  void wait() { host = std::max(host, device); }

  void run(const NullKernel& kernel) {
    const double bytes = kernel.bytes_read + kernel.bytes_written;
    const double work = std::max(bytes / bytes_per_second, kernel.flops / flops_per_second);
    const double jitter = 1.0 + 1e-4 * static_cast<double>(++kernels % 7);  // no two samples of a real GPU are alike
    ActivityRecord record;
    record.kernel.emplace().name = kernel.name;
    record.kernel->grid = {kernel.shape.grid.x, 1, 1};
    record.kernel->block = {kernel.shape.block.x, 1, 1};
    record.start_nanoseconds = static_cast<std::uint64_t>(1e9 * device);
    device += kernel_seconds + work * jitter;
    record.end_nanoseconds = static_cast<std::uint64_t>(1e9 * device);
    records.push_back(std::move(record));
    bytes_read += kernel.bytes_read;
    bytes_written += kernel.bytes_written;
    instructions += 1.0 + kernel.flops / 64.0;
  }
  void launch(const NullKernel& kernel) {
    if (captured != nullptr) return captured->push_back(kernel);
    host += launch_seconds;
    enqueue([this, kernel] { run(kernel); });
  }
};

class NullEvent final : public Event {
 public:
  explicit NullEvent(NullBackend::World& world) : world_(world) {}
  void record(Stream) override {
    world_.enqueue([this] { at_ = world_.device; });
  }
  void wait() override { world_.host = std::max(world_.host, at_); }
  [[nodiscard]] double seconds_since(const Event& start) const override {
    return at_ - static_cast<const NullEvent&>(start).at_;
  }

 private:
  NullBackend::World& world_;
  double at_ = 0.0;
};

class NullGraph final : public Graph {
 public:
  NullGraph(NullBackend::World& world, std::vector<NullKernel> kernels) : world_(world), kernels_(std::move(kernels)) {}
  [[nodiscard]] GraphContent content() const override {
    GraphContent content;
    for (const NullKernel& kernel : kernels_) content.kernels.push_back({kernel.shape, 8, 0});
    return content;
  }
  void launch() override {
    world_.host += NullBackend::launch_seconds;
    world_.enqueue([this] {
      for (const NullKernel& kernel : kernels_) world_.run(kernel);
    });
  }

 private:
  NullBackend::World& world_;
  std::vector<NullKernel> kernels_;
};

NullKernel reads(double bytes) {
  NullKernel kernel;
  kernel.bytes_read = bytes;
  return kernel;
}

class NullGpu final : public Gpu {
 public:
  NullGpu(const Device& device, NullBackend::World& world) : Gpu(device), world_(world) {}
  [[nodiscard]] Stream stream() const override { return nullptr; }
  void wait() override { world_.wait(); }
  void synchronize() override { world_.wait(); }
  void check_launches() override {}
  void wait_for_all() override { world_.wait(); }
  void settle() override { world_.wait(); }
  bool lost() override { return false; }
  double now() override { return world_.host += 1e-8; }  // to read the clock takes time, or budgets would never end
  [[nodiscard]] std::unique_ptr<Event> event() override { return std::make_unique<NullEvent>(world_); }
  std::unique_ptr<Graph> capture(const Batch& batch, std::int64_t executions) override {
    std::vector<NullKernel> kernels;
    world_.captured = &kernels;
    batch(stream(), executions);
    world_.captured = nullptr;
    return std::make_unique<NullGraph>(world_, std::move(kernels));
  }
  void block_while(const std::function<void()>& enqueue) override {
    world_.blocked = true;
    enqueue();
    world_.release();
  }
  void check_blocked() override {}
  ClockNotes clock_notes() override {
    return {[] {}, [] {}, []() -> std::optional<double> { return NullBackend::clock_hz; }};
  }
  void launch_nothing(Stream) override { world_.launch({}); }
  void launch_idle(const LaunchShape& shape, long long cycles, Stream) override {
    NullKernel kernel;
    kernel.shape = shape;
    kernel.flops = static_cast<double>(cycles) / NullBackend::clock_hz * NullBackend::flops_per_second;
    world_.launch(kernel);
  }
  double overstay_cycles(const LaunchShape&, long long) override { return 0.0; }
  Batch short_reads() override {
    return [this](Stream, std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) world_.launch(reads(1 << 18));
    };
  }
  void flush_cache() override { world_.launch(reads(1 << 22)); }
  std::vector<std::uint64_t> timer_readings(int count) override {
    std::vector<std::uint64_t> readings;
    for (int i = 0; i < count; ++i) readings.push_back(1000U + 32U * static_cast<unsigned>(i));
    return readings;
  }
  double free_bytes() override { return 1e9; }
  DeviceConditions conditions() override {
    DeviceConditions conditions;
    conditions.readings = 1;
    conditions.sm_clock_hz = Interval{NullBackend::clock_hz, NullBackend::clock_hz};
    return conditions;
  }
  void add_share(std::chrono::system_clock::time_point, DeviceConditions&) override {}

 private:
  NullBackend::World& world_;
};

/// Memory of the host stands for that of the GPU.
class NullMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override { return std::malloc(bytes); }
  void release(void* pointer) noexcept override { std::free(pointer); }
  [[nodiscard]] Left left() override { return {std::size_t{1} << 30, std::size_t{1} << 30}; }
  void wait() override {}
  void copy(void* to, const void* from, std::size_t bytes) override { std::memmove(to, from, bytes); }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }
  void copy_from_host(void* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void set(void* pointer, int value, std::size_t bytes) override { std::memset(pointer, value, bytes); }
  void draw(void* pointer, detail::ElementKind, detail::Filling, std::size_t bytes, std::size_t count,
            std::uint64_t seed) override {
    std::memset(pointer, static_cast<int>(seed % 251U) + 1, bytes * count);
  }
  std::uint64_t fingerprint(const void* pointer, std::size_t bytes) override {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < bytes; ++i) sum = 31 * sum + static_cast<const unsigned char*>(pointer)[i];
    return sum;
  }
};

class NullMetrics final : public MetricSource {
 public:
  explicit NullMetrics(NullBackend::World& world) : world_(world) {}
  [[nodiscard]] std::string_view name() const override { return "null counters"; }
  [[nodiscard]] std::string chip() const override { return "NL100"; }
  [[nodiscard]] std::optional<std::string> unit(const std::string& metric) override {
    if (metric == "smsp__inst_executed.sum") return "inst";
    return metric == "dram__bytes_read.sum" || metric == "dram__bytes_write.sum" ? std::optional<std::string>("byte")
                                                                                 : std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> passes(const std::vector<std::string>&) override { return 1; }
  void begin(const std::vector<std::string>& metrics) override { metrics_ = metrics; }
  void count(std::size_t point, const CountedExecution& execution) override {
    execution.prepare();
    const double read = world_.bytes_read;
    const double written = world_.bytes_written;
    const double instructions = world_.instructions;
    execution.execute();
    for (const std::string& metric : metrics_)
      counted_[point].values[metric] = metric.starts_with("dram__bytes_read")    ? world_.bytes_read - read
                                       : metric.starts_with("dram__bytes_write") ? world_.bytes_written - written
                                                                                 : world_.instructions - instructions;
  }
  [[nodiscard]] std::map<std::size_t, MetricValues> read() override { return std::exchange(counted_, {}); }

 private:
  NullBackend::World& world_;
  std::vector<std::string> metrics_;
  std::map<std::size_t, MetricValues> counted_;
};

class NullActivity final : public ActivitySource {
 public:
  explicit NullActivity(NullBackend::World& world) : world_(world) {}
  [[nodiscard]] std::string_view name() const override { return "null records"; }
  ActivityRecords record(const std::function<void()>& run) override {
    world_.records.clear();
    run();
    return {std::exchange(world_.records, {}), 0};
  }

 private:
  NullBackend::World& world_;
};

NullBackend::NullBackend() : world_(std::make_unique<World>()) {}
NullBackend::~NullBackend() = default;

void NullBackend::launch(const NullKernel& kernel) const { world_->launch(kernel); }

void NullBackend::pass(double seconds) const { world_->host += seconds; }

void NullBackend::wait() const { world_->wait(); }
double NullBackend::host_seconds() const { return world_->host; }

std::vector<Device> NullBackend::devices() const {
  Device device;
  device.id = "null:0";
  device.kind = DeviceKind::gpu;
  device.name = "Null 100";
  device.architecture = "nl_1";
  device.units = 10;
  device.memory_bytes = std::int64_t{1} << 30;
  device.last_level_cache_bytes = 1 << 20;
  device.max_clock_hz = clock_hz;
  return {device};
}

std::unique_ptr<Gpu> NullBackend::open(const Device& device) const {
  return std::make_unique<NullGpu>(device, *world_);
}

DeviceMemory& NullBackend::memory() const {
  static NullMemory memory;
  return memory;
}

DeviceReadings NullBackend::readings(const Device&) const {
  DeviceReadings readings;
  readings.sm_clock.value = clock_hz;
  return readings;
}

std::unique_ptr<MetricSource> NullBackend::metrics(const Device&) const {
  return std::make_unique<NullMetrics>(*world_);
}

ChipMetrics NullBackend::chip_metrics(const Device&) const { return {"NL100", {}, {}}; }

std::unique_ptr<ActivitySource> NullBackend::activity() const { return std::make_unique<NullActivity>(*world_); }

}  // namespace gpubench::bench
