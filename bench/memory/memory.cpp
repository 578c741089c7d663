// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "core/base/units.h"
#include "gpubench/vectors.h"

namespace gpubench::detail {
namespace {

// A GPU's L2 fetches up to two lines of 128 bytes at once; a CPU's prefetchers stay within a page.
constexpr std::size_t device_stride = 256;
constexpr std::size_t host_stride = 4096;

// Mappings are whole pages; two MiB is a huge page on x86-64 and a multiple of the base page elsewhere.
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t base_page = 4096;

std::size_t mapped_bytes(std::size_t bytes) {
  const std::size_t page = bytes >= huge_page ? huge_page : base_page;
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

/// Numbers of one kind, `bytes` each.
std::vector<std::byte> random_block(ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                                    std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::byte> block(count * bytes);
  const auto put = [&](auto value) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto drawn = value();
      std::memcpy(block.data() + i * bytes, &drawn, std::min(bytes, sizeof(drawn)));
    }
  };
  std::normal_distribution<float> normal;
  std::normal_distribution<double> normal_double;
  const bool is_normal = filling == Filling::normal;
  const auto draw_float = [&] { return is_normal ? normal(generator) : bench::unit_float(generator()); };
  using enum ElementKind;
  if (kind == float64)
    put([&] { return is_normal ? normal_double(generator) : bench::unit_double(generator()); });
  else if (kind == float32)
    put(draw_float);
  else if (kind == boolean)
    put([&] { return static_cast<unsigned char>(generator() & 1U); });
  else if (kind == integer || kind == other)
    put([&] { return generator(); });
  else
    put([&] { return bench::narrow(draw_float(), bench::format_of(kind)); });
  return block;
}

/// Drawing every element of a gigabyte would take longer than measuring it: a block of odd length is drawn and
/// repeated, so that no power-of-two stride of an operation meets the same values again and again.
constexpr std::size_t block_elements = 65521;

/// A number that is alone in its file; absent where there is none ("max").
std::optional<std::size_t> number_in(const char* path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

void* allocate(Memory memory, std::size_t bytes) {
  return memory == Memory::device ? allocate_device(bytes) : allocate_host(bytes);
}

void release(Memory memory, void* pointer, std::size_t bytes) noexcept {
  if (memory == Memory::device)
    free_device(pointer, bytes);
  else
    free_host(pointer, bytes);
}

}  // namespace

std::shared_ptr<Buffer> make_buffer(Memory memory, std::size_t count, std::size_t element_bytes) {
  if (count > std::numeric_limits<std::size_t>::max() / element_bytes)
    throw OutOfMemory(fmt::format("no memory holds {} elements of {} bytes", count, element_bytes));
  return std::make_shared<Buffer>(memory, count * element_bytes);
}

Buffer::Buffer(Memory memory, std::size_t bytes)
    : memory_(memory), bytes_(bytes), original_(allocate(memory, bytes)), current_(original_) {}

Buffer::~Buffer() {
  drop_copies();
  release(memory_, original_, bytes_);
}

std::size_t Buffer::copy_stride() const {
  const std::size_t unit = memory_ == Memory::device ? device_stride : host_stride;
  return (bytes_ + unit - 1) / unit * unit;
}

void Buffer::make_copies(std::int64_t count) {
  drop_copies();
  if (bytes_ == 0) return;
  stride_ = copy_stride();
  copies_bytes_ = static_cast<std::size_t>(count - 1) * stride_;
  copies_ = static_cast<std::byte*>(allocate(memory_, copies_bytes_));
  const auto repeat = memory_ == Memory::device ? repeat_on_device : repeat_on_host;
  repeat(copies_, original_, bytes_, stride_, count - 1);
}

void Buffer::drop_copies() noexcept {
  current_ = original_;
  if (copies_ != nullptr) release(memory_, copies_, copies_bytes_);
  copies_ = nullptr;
}

void Buffers::add(const std::shared_ptr<Buffer>& buffer) {
  buffer->asked_ = false;  // filling it was no execution
  buffers_.emplace_back(buffer);
}

std::vector<std::shared_ptr<Buffer>> Buffers::all() const {
  std::vector<std::shared_ptr<Buffer>> result;
  for (const auto& each : buffers_)
    if (auto buffer = each.lock()) result.push_back(std::move(buffer));
  return result;
}

std::vector<std::shared_ptr<Buffer>> Buffers::all(Memory memory) const {
  auto result = all();
  std::erase_if(result, [memory](const auto& buffer) { return buffer->memory() != memory; });
  return result;
}

void Buffers::mark_kept() {
  for (const auto& buffer : all()) buffer->kept_ = buffer->asked_;
}

std::vector<BufferUse> Buffers::uses_of(Memory memory, const std::function<void()>& execution) {
  for (const auto& buffer : all()) buffer->asked_ = false;
  execution();
  std::vector<BufferUse> uses;
  for (const auto& buffer : all(memory))
    uses.push_back({buffer->memory(), buffer->bytes(), buffer->copy_stride(), buffer->asked_, buffer->kept_});
  return uses;
}

void Buffers::make_copies(Memory memory, std::int64_t count) {
  drop_copies();
  if (count < 2) return;
  in_turn_ = all(memory);
  try {
    for (const auto& buffer : in_turn_) buffer->make_copies(count);
  } catch (...) {
    drop_copies();
    throw;
  }
  copies_ = count;
}

void Buffers::drop_copies() noexcept {
  for (const auto& buffer : in_turn_) buffer->drop_copies();
  in_turn_.clear();
  copies_ = 1;
  current_ = 0;
}

void Buffers::turn() {
  current_ = current_ + 1 == copies_ ? 0 : current_ + 1;
  for (const auto& buffer : in_turn_) buffer->turn_to(current_);
}

void* allocate_host(std::size_t bytes) {
  const std::size_t mapped = mapped_bytes(bytes);
  void* const pointer =
      mapped < bytes ? MAP_FAILED : mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED)
    throw OutOfMemory(
        fmt::format("the host does not have {} of memory left", format_bytes(static_cast<double>(bytes))));
  if (mapped >= huge_page) madvise(pointer, mapped, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
  return pointer;
}

void free_host(void* pointer, std::size_t bytes) noexcept {
  if (pointer != nullptr) munmap(pointer, mapped_bytes(bytes));
}

void draw_host(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
               std::uint64_t seed) {
  const std::vector<std::byte> block = filling == Filling::zeros
                                           ? std::vector<std::byte>(std::min(count, block_elements) * bytes)
                                           : random_block(kind, filling, bytes, std::min(count, block_elements), seed);
  auto* const target = static_cast<std::byte*>(pointer);
  const auto blocks = static_cast<std::int64_t>((count + block_elements - 1) / block_elements);
#pragma omp parallel for schedule(static)
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::size_t first = static_cast<std::size_t>(b) * block_elements;
    const std::size_t length = std::min(block_elements, count - first);
    std::memcpy(target + first * bytes, block.data(), length * bytes);
  }
}

void repeat_on_host(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count) {
  // The same share of a copy to the same thread as in filling, so that each page lies near the thread that will use it.
  constexpr std::size_t block = 65536;
  const auto blocks = static_cast<std::int64_t>((bytes + block - 1) / block);
#pragma omp parallel
  for (std::int64_t copy = 0; copy < count; ++copy) {
    auto* const to = static_cast<std::byte*>(target) + static_cast<std::size_t>(copy) * stride;
    const auto* const from = static_cast<const std::byte*>(source);
#pragma omp for schedule(static) nowait
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::size_t first = static_cast<std::size_t>(b) * block;
      std::memcpy(to + first, from + first, std::min(block, bytes - first));
    }
  }
}

std::size_t free_host_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  while (file >> word && word != "MemAvailable:") continue;
  if (!(file >> kibibytes)) return 0;
  const std::size_t available = kibibytes << 10U;
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return available;
  return std::min(available, *limit > *used ? *limit - *used : 0);
}

}  // namespace gpubench::detail

namespace gpubench::bench {

void Scrubbing::freed(double bytes, double now) {
  const std::lock_guard lock(mutex_);
  until_ = std::max(until_, now) + bytes / bytes_per_second;
  own_ += bytes;
}

void Scrubbing::allocated(double bytes) {
  const std::lock_guard lock(mutex_);
  own_ -= bytes;
}

void Scrubbing::saw_free(double bytes, double now) {
  constexpr double noticeable = 16.0 * (1 << 20);  // the driver takes and gives back pages of 2 MiB for itself
  const std::lock_guard lock(mutex_);
  const double others = free_ ? bytes - *free_ - own_ : 0.0;
  free_ = bytes;
  own_ = 0.0;
  if (others >= noticeable) until_ = std::max(until_, now) + others / bytes_per_second;
}

double Scrubbing::seconds_left(double now) const {
  const std::lock_guard lock(mutex_);
  return std::max(until_ - now, 0.0);
}

Scrubbing& scrubbing() {
  static Scrubbing of_process;
  return of_process;
}

static KeptMemory* kept_memory = nullptr;

KeptMemory::KeptMemory(std::size_t max_bytes, Release release) : max_bytes_(max_bytes), release_(std::move(release)) {
  kept_memory = this;
}

KeptMemory::~KeptMemory() {
  kept_memory = nullptr;
  clear();
}

KeptMemory* KeptMemory::current() noexcept { return kept_memory; }

void* KeptMemory::take(std::size_t bytes) {
  const auto block = blocks_.extract(bytes);
  if (block.empty()) return nullptr;
  bytes_ -= bytes;
  return block.mapped();
}

bool KeptMemory::keep(void* pointer, std::size_t bytes) noexcept {
  if (pointer == nullptr || bytes > max_bytes_ - bytes_) return false;
  blocks_.emplace(bytes, pointer);
  bytes_ += bytes;
  return true;
}

bool KeptMemory::clear() {
  const auto blocks = std::exchange(blocks_, {});
  bytes_ = 0;
  auto* const before = std::exchange(kept_memory, nullptr);
  for (const auto& [bytes, pointer] : blocks) release_(pointer, bytes);
  kept_memory = before;
  return !blocks.empty();
}

std::uint64_t host_fingerprint(const void* pointer, std::size_t bytes) {
  static_assert(std::endian::native == std::endian::little, "the last word is put together from its low end");
  const auto* const data = static_cast<const unsigned char*>(pointer);
  const auto count = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + static_cast<std::size_t>(i) * sizeof(word), sizeof(word));
    sum += mix_word(word, static_cast<std::size_t>(i));
  }
  if (const std::size_t rest = bytes % sizeof(std::uint64_t); rest != 0) {
    std::uint64_t last = 0;
    std::memcpy(&last, data + bytes - rest, rest);
    sum += mix_word(last, static_cast<std::size_t>(count));
  }
  return sum;
}

}  // namespace gpubench::bench
