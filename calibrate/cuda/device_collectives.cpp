// SPDX-License-Identifier: Apache-2.0
#include "calibrate/device_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "gpu/devices.h"
#include "gpu/memory/memory.h"
#include "gpubench/vectors.h"
#include "kernels/cublaslt.h"
#include "kernels/probes/cuda/transfers.h"

namespace gpubench::calibrate {
namespace {

using bench::NcclCommunicator;

constexpr int warm_up = 3;
constexpr int rows = 3;
constexpr int min_iterations = 5;
constexpr int captured_iterations = 50;   ///< at most
constexpr double share_of_memory = 0.45;  ///< of what is free, for each of two buffers

/// What a rank sends: its number plus one, so that each result is known.
void fill(float* data, std::size_t count, float value) {
  const std::size_t first = std::min(count, std::size_t{1} << 18);
  detail::copy_to_device(data, std::vector<float>(first, value).data(), first * sizeof(float));
  for (std::size_t filled = first; filled < count;) {
    const std::size_t more = std::min(filled, count - filled);
    bench::copy_within_device(data + filled, data, more * sizeof(float));
    filled += more;
  }
}

}  // namespace

struct DeviceCollectives::State {
  State(const Device& device, const bench::Nccl& nccl, const std::string& id, int its_rank, int its_ranks,
        std::int64_t wanted_bytes)
      : gpu(bench::open_gpu(device)),
        rank(its_rank),
        ranks(its_ranks),
        bytes(whole(std::min(wanted_bytes, static_cast<std::int64_t>(gpu->free_bytes() * share_of_memory)))),
        send(nccl.allocate(static_cast<std::size_t>(bytes))),
        receive(nccl.allocate(static_cast<std::size_t>(bytes))),
        communicator(nccl, id, rank, ranks) {
    bytes = static_cast<std::int64_t>(-slowest(-static_cast<double>(bytes)));  // of the rank that has least
    fill(sending(), static_cast<std::size_t>(bytes) / sizeof(float), static_cast<float>(rank + 1));
  }

  /// Of so many bytes what is whole elements for each rank, at least one.
  [[nodiscard]] std::int64_t whole(std::int64_t some_bytes) const {
    const std::int64_t granule = std::int64_t{ranks} * static_cast<std::int64_t>(sizeof(float));
    return std::max(some_bytes / granule, std::int64_t{1}) * granule;
  }

  [[nodiscard]] float* sending() const { return reinterpret_cast<float*>(send.get()); }
  [[nodiscard]] float* receiving() const { return reinterpret_cast<float*>(receive.get()); }

  /// Each iteration takes the next part of the buffers, as those of nccl-tests do, so that caches help none.
  void enqueue(Collective collective, std::int64_t message_bytes, Stream stream, int iteration = 0) {
    const std::size_t count = static_cast<std::size_t>(message_bytes) / sizeof(float);
    const std::size_t first = count * static_cast<std::size_t>(iteration % (bytes / message_bytes));
    communicator.enqueue(collective, sending() + first, receiving() + first, static_cast<std::size_t>(message_bytes),
                         stream);
  }
  /// Numbers that all ranks have, of those of each.
  std::vector<double> agreed(NcclCommunicator::Agreement how, const std::vector<double>& values) {
    if (numbers.size() < values.size()) numbers = DeviceVector<double>(values.size());
    numbers.assign(values);
    communicator.agree(how, numbers.data(), values.size(), gpu->stream());
    gpu->synchronize();
    auto all = numbers.to_host();
    all.resize(values.size());
    return all;
  }
  double slowest(double seconds) { return agreed(NcclCommunicator::Agreement::max, {seconds}).front(); }
  /// The row's work as replays of a graph, and how many a replay has.
  std::pair<std::unique_ptr<bench::Graph>, int> captured(Collective collective, std::int64_t message_bytes,
                                                         int iterations) {
    const int each = std::min(iterations, captured_iterations);
    auto graph = gpu->capture(
        [&](Stream stream, std::int64_t executions) {
          for (int i = 0; i < executions; ++i) enqueue(collective, message_bytes, stream, i);
        },
        each);
    if (!graph)
      throw GpuError(fmt::format("{} of {} bytes cannot be captured in a CUDA graph; leave --graph out",
                                 name_of(collective), message_bytes));
    graph->launch();  // makes it ready
    return {std::move(graph), each};
  }
  /// The mean time of one of a row, of this rank, begun by all at about one moment.
  double row(const std::function<void(int iteration)>& enqueue_one, int iterations) {
    (void)slowest(0.0);
    const double start = steady_seconds();
    for (int i = 0; i < iterations; ++i) enqueue_one(i);
    gpu->wait();
    return (steady_seconds() - start) / iterations;
  }

  void check(Collective collective, std::int64_t message_bytes) {
    const auto count = static_cast<std::size_t>(message_bytes) / sizeof(float);
    const std::size_t part = count / static_cast<std::size_t>(ranks);
    detail::fill_bytes_device(receiving(), 0, static_cast<std::size_t>(message_bytes));
    enqueue(collective, message_bytes, gpu->stream());
    gpu->synchronize();
    communicator.check();
    const std::size_t received = collective == Collective::reduce_scatter ? part : count;
    const float all = static_cast<float>(ranks) * static_cast<float>(ranks + 1) / 2.0F;
    const auto wanted = [&](std::size_t i) {
      switch (collective) {
        case Collective::all_gather:
        case Collective::all_to_all: return static_cast<float>(i / part + 1);
        case Collective::broadcast: return 1.0F;
        case Collective::send_receive: return static_cast<float>((rank + ranks - 1) % ranks + 1);
        default: return all;
      }
    };
    // The ends of each rank's part.
    constexpr std::size_t looked_at = 64;
    std::vector<float> host(looked_at);
    for (std::size_t begin = 0; begin < received; begin += part)
      for (const std::size_t at : {begin, begin + part - std::min(part, looked_at)}) {
        const std::size_t some = std::min(looked_at, part);
        detail::copy_from_device(host.data(), receiving() + at, some * sizeof(float));
        for (std::size_t i = 0; i < some; ++i)
          if (std::abs(host[i] - wanted(at + i)) > 1e-3F * wanted(at + i))
            throw GpuError(fmt::format("{} of {} bytes: element {} is {}, not {}", name_of(collective), message_bytes,
                                       at + i, host[i], wanted(at + i)));
      }
  }

  /// Each of a row between two events, on this rank.
  std::vector<double> between_events(const std::function<void(int iteration)>& enqueue_one, int iterations) {
    while (events.size() < static_cast<std::size_t>(iterations) + 1) events.push_back(gpu->event());
    events[0]->record(gpu->stream());
    for (int i = 0; i < iterations; ++i) {
      enqueue_one(i);
      events[static_cast<std::size_t>(i) + 1]->record(gpu->stream());
    }
    gpu->synchronize();
    std::vector<double> seconds;
    for (std::size_t i = 0; i < static_cast<std::size_t>(iterations); ++i)
      seconds.push_back(events[i + 1]->seconds_since(*events[i]));
    return seconds;
  }
  /// Each iteration of a row, of the slowest rank.
  std::vector<double> each(Collective collective, std::int64_t message_bytes, int iterations) {
    (void)slowest(0.0);
    return agreed(NcclCommunicator::Agreement::max,
                  between_events([&](int i) { enqueue(collective, message_bytes, gpu->stream(), i); }, iterations));
  }

  std::unique_ptr<bench::Gpu> gpu;
  int rank, ranks;
  std::int64_t bytes;  ///< of a message at most
  std::shared_ptr<std::byte> send, receive;
  NcclCommunicator communicator;
  DeviceVector<double> numbers;
  std::vector<std::unique_ptr<bench::Event>> events;
};

DeviceCollectives::DeviceCollectives(const Device& device, const bench::Nccl& nccl, const std::string& id, int rank,
                                     int ranks, std::int64_t max_bytes)
    : state_(std::make_unique<State>(device, nccl, id, rank, ranks, max_bytes)) {}
DeviceCollectives::~DeviceCollectives() = default;

std::int64_t DeviceCollectives::max_bytes() const { return state_->bytes; }

CollectiveSamples DeviceCollectives::time(Collective collective, std::int64_t bytes, int max_iterations,
                                          double max_seconds, bool in_graph) {
  State& s = *state_;
  s.check(collective, bytes);
  const auto one = [&](int i) { s.enqueue(collective, bytes, s.gpu->stream(), i); };
  const double about = s.slowest(s.row(one, warm_up));
  const int iterations =
      std::clamp(static_cast<int>(std::min(max_seconds / std::max(about, 1e-9), 1e9)), min_iterations, max_iterations);
  std::vector<double> of_rows;
  if (in_graph) {
    const auto [graph, each] = s.captured(collective, bytes, iterations);
    const auto replay = [&](int) { graph->launch(); };
    for (int i = 0; i < rows; ++i) of_rows.push_back(s.row(replay, iterations / each) / each);
  } else {
    for (int i = 0; i < rows; ++i) of_rows.push_back(s.row(one, iterations));
  }
  std::vector<double> means = s.agreed(NcclCommunicator::Agreement::sum, of_rows);
  for (double& mean : means) mean /= s.ranks;
  CollectiveSamples samples{statistics::median(means), s.each(collective, bytes, iterations)};
  s.communicator.check();
  return samples;
}

std::vector<double> DeviceCollectives::time_link(int peer, bool sends, std::int64_t bytes, int iterations) {
  State& s = *state_;
  const auto one = [&](int) {
    const auto size = static_cast<std::size_t>(bytes);
    if (sends)
      s.communicator.send(s.sending(), size, peer, s.gpu->stream());
    else
      s.communicator.receive(s.receiving(), size, peer, s.gpu->stream());
  };
  std::vector<double> seconds = s.between_events(one, warm_up + iterations);  // the first ones make the connection
  s.communicator.check();
  seconds.erase(seconds.begin(), seconds.begin() + warm_up);
  return sends ? seconds : std::vector<double>();
}

double DeviceCollectives::launch_seconds() {
  constexpr int launches = 200;
  State& s = *state_;
  const auto one = [&](int) { s.gpu->launch_nothing(s.gpu->stream()); };
  std::vector<double> seconds;
  for (int i = -1; i < rows; ++i)
    if (const double row = s.row(one, launches); i >= 0) seconds.push_back(row);
  return s.slowest(statistics::median(seconds));
}

OverlapSeconds DeviceCollectives::overlap(Collective collective, std::int64_t bytes, double seconds) {
  constexpr std::int64_t n = 8192;
  constexpr auto format = NumberFormat::bf16;
  State& s = *state_;
  const kernels::CublasLt library;
  if (!library.reason().empty()) throw GpuError(library.reason());
  const auto count = static_cast<std::size_t>(n * n);
  DeviceVector<std::byte> a(count * bytes_of(format)), b(a.size()), c(count * kernels::result_bytes(format));
  detail::draw_normal_device(a.data(), format, count, 1);
  detail::draw_normal_device(b.data(), format, count, 2);
  const kernels::GemmPlan plan(library, format, n, a.data(), b.data(), c.data(), s.gpu->stream());
  const probes::SideStream side;
  OverlapSeconds times;
  const auto start = s.gpu->event(), products_end = s.gpu->event(), collectives_start = s.gpu->event(),
             collectives_end = s.gpu->event();
  // Collectives on a stream of their own, begun first: what they wait for others does not hold the products up.
  const auto run = [&](int products, int collectives) {
    (void)s.slowest(0.0);
    collectives_start->record(side.get());
    start->record(s.gpu->stream());
    for (int i = 0; i < std::max(products, collectives); ++i) {
      if (i < collectives) s.enqueue(collective, bytes, side.get());
      if (i < products) plan.run(s.gpu->stream());
    }
    collectives_end->record(side.get());
    products_end->record(s.gpu->stream());
    s.gpu->wait_for_all();
    return s.agreed(NcclCommunicator::Agreement::max,
                    {products_end->seconds_since(*start), collectives_end->seconds_since(*collectives_start)});
  };
  (void)run(warm_up, warm_up);
  const auto often = [&](double once) { return std::clamp(static_cast<int>(seconds / std::max(once, 1e-6)), 2, 2000); };
  times.products = often(run(warm_up, 0)[0] / warm_up);
  times.collectives = often(run(0, warm_up)[1] / warm_up);
  times.products_alone = run(times.products, 0)[0];
  times.collectives_alone = run(0, times.collectives)[1];
  const auto together = run(times.products, times.collectives);
  times.products_together = together[0];
  times.collectives_together = together[1];
  return times;
}

}  // namespace gpubench::calibrate
