// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "core/base/environment.h"
#include "gpu/libraries.h"
#include "gpu/memory/memory.h"

namespace gpubench::bench {
namespace {

// NCCL's own declarations (nccl.h, 2.7 and newer), as far as used: the header is not part of the toolkit.
using Result = int;
using Communicator = void*;
constexpr Result success = 0;
constexpr int float32 = 7, float64 = 8;  // ncclDataType_t
constexpr int sum = 0, max = 2;          // ncclRedOp_t
constexpr int oldest = 20700;            // the first with send and receive
struct Id {
  char bytes[128];
};

std::string version_text(int code) {
  // 2.8 and older count the minor version by hundreds.
  return code < 10000 ? fmt::format("{}.{}.{}", code / 1000, code % 1000 / 100, code % 100)
                      : fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}
int comparable(int code) { return code < 10000 ? code / 1000 * 10000 + code % 1000 : code; }

std::vector<std::string> files() {
  if (std::string given = environment("GPUBENCH_NCCL"); !given.empty()) return {std::move(given)};
  return library_files({"libnccl.so.2"}, {"lib64", "lib"});
}

}  // namespace

struct Nccl::Library {
  explicit Library(const std::vector<std::string>& from);

  template <class Function>
  void look_for(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
  }
  template <class Function>
  void find(const char* name, Function*& function) {
    look_for(name, function);
    if (function == nullptr && reason.empty())
      reason = fmt::format("this NCCL {} has no {}: it is too old; gpubench needs 2.7 or newer", version, name);
  }
  void check(Result result, const char* what) const {
    if (result == success) return;
    std::string why = error_text(result);
    if (last_error != nullptr)
      if (const char* const more = last_error(nullptr); more != nullptr && *more != '\0')
        why += fmt::format("; {}", more);
    throw GpuError(fmt::format("NCCL {}: {} failed: {}", version, what, why));
  }

  void* handle = nullptr;  ///< never closed: NCCL has threads
  std::string reason, version;
  Result (*get_version)(int*) = nullptr;
  const char* (*error_text)(Result) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;  ///< since 2.13; null before
  Result (*unique_id)(Id*) = nullptr;
  Result (*init)(Communicator*, int, Id, int) = nullptr;
  Result (*destroy)(Communicator) = nullptr;
  Result (*async_error)(Communicator, Result*) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*all_reduce)(const void*, void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Result (*reduce_scatter)(const void*, void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Result (*all_gather)(const void*, void*, std::size_t, int, Communicator, Stream) = nullptr;
  Result (*broadcast)(const void*, void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Result (*all_to_all)(const void*, void*, std::size_t, int, Communicator, Stream) = nullptr;  ///< since 2.28
  Result (*allocate)(void**, std::size_t) = nullptr;  ///< since 2.19, as is `free`; null before
  Result (*free)(void*) = nullptr;
  Result (*send)(const void*, std::size_t, int, int, Communicator, Stream) = nullptr;
  Result (*receive)(void*, std::size_t, int, int, Communicator, Stream) = nullptr;
};

Nccl::Library::Library(const std::vector<std::string>& from) {
  std::string said;
  handle = open_library(from, said);
  if (handle == nullptr) {
    reason = fmt::format(
        "NCCL cannot be loaded: {}; install it (python3 -m pip install nvidia-nccl-cu13), and name its libnccl.so.2 in "
        "GPUBENCH_NCCL or have its folder in LD_LIBRARY_PATH",
        said);
    return;
  }
  find("ncclGetVersion", get_version);
  int code = 0;
  if (get_version == nullptr || get_version(&code) != success) {
    reason = fmt::format("{} is not a NCCL that gpubench knows: it does not tell its version", from.front());
    return;
  }
  version = version_text(code);
  if (comparable(code) < oldest) {
    reason = fmt::format("NCCL {} is too old; gpubench needs 2.7 or newer", version);
    return;
  }
  find("ncclGetErrorString", error_text);
  find("ncclGetUniqueId", unique_id);
  find("ncclCommInitRank", init);
  find("ncclCommDestroy", destroy);
  find("ncclCommGetAsyncError", async_error);
  find("ncclGroupStart", group_start);
  find("ncclGroupEnd", group_end);
  find("ncclAllReduce", all_reduce);
  find("ncclReduceScatter", reduce_scatter);
  find("ncclAllGather", all_gather);
  find("ncclBroadcast", broadcast);
  find("ncclSend", send);
  find("ncclRecv", receive);
  look_for("ncclGetLastError", last_error);
  look_for("ncclAlltoAll", all_to_all);
  look_for("ncclMemAlloc", allocate);
  look_for("ncclMemFree", free);
}

Nccl::Nccl() : library_(std::make_shared<Library>(files())) {}
Nccl::Nccl(const std::string& file) : library_(std::make_shared<Library>(std::vector{file})) {}
const std::string& Nccl::reason() const { return library_->reason; }
const std::string& Nccl::version() const {
  static const std::string none;
  return library_->reason.empty() ? library_->version : none;
}

std::string Nccl::new_id() const {
  if (!library_->reason.empty()) throw GpuError(library_->reason);
  Id id{};
  library_->check(library_->unique_id(&id), "ncclGetUniqueId");
  return {id.bytes, sizeof id.bytes};
}

std::shared_ptr<std::byte> Nccl::allocate(std::size_t bytes) const {
  if (!library_->reason.empty()) throw GpuError(library_->reason);
  if (library_->allocate == nullptr || library_->free == nullptr) {
    const auto release = [bytes](std::byte* data) { detail::free_device(data, bytes); };
    return {static_cast<std::byte*>(detail::allocate_device(bytes)), release};
  }
  void* memory = nullptr;
  library_->check(library_->allocate(&memory, bytes), "ncclMemAlloc");
  return {static_cast<std::byte*>(memory), [library = library_](std::byte* data) { (void)library->free(data); }};
}

NcclCommunicator::NcclCommunicator(const Nccl& library, const std::string& id, int rank, int ranks)
    : library_(library.library_), rank_(rank), ranks_(ranks) {
  if (!library_->reason.empty()) throw GpuError(library_->reason);
  Id shared{};
  if (id.size() != sizeof shared.bytes)
    throw GpuError(fmt::format("NCCL's id has {} bytes, not {}", id.size(), sizeof shared.bytes));
  std::memcpy(shared.bytes, id.data(), id.size());
  library_->check(library_->init(&communicator_, ranks, shared, rank), "ncclCommInitRank");
}
NcclCommunicator::~NcclCommunicator() { (void)library_->destroy(communicator_); }

void NcclCommunicator::enqueue(Collective collective, const void* send, void* receive, std::size_t bytes,
                               Stream stream) const {
  const Nccl::Library& nccl = *library_;
  const std::size_t count = bytes / sizeof(float), part = count / static_cast<std::size_t>(ranks_);
  // All of a group go at once, so that nobody waits for whom waits for them.
  const auto in_group = [&](auto&& enqueue_each) {
    nccl.check(nccl.group_start(), "ncclGroupStart");
    try {
      enqueue_each();
    } catch (const GpuError&) {
      (void)nccl.group_end();
      throw;
    }
    nccl.check(nccl.group_end(), "ncclGroupEnd");
  };
  const auto exchange = [&](std::size_t from, std::size_t to, std::size_t elements, int target, int source) {
    this->send(static_cast<const float*>(send) + from, elements * sizeof(float), target, stream);
    this->receive(static_cast<float*>(receive) + to, elements * sizeof(float), source, stream);
  };
  switch (collective) {
    case Collective::all_reduce:
      return nccl.check(nccl.all_reduce(send, receive, count, float32, sum, communicator_, stream), "ncclAllReduce");
    case Collective::all_gather:
      return nccl.check(nccl.all_gather(send, receive, part, float32, communicator_, stream), "ncclAllGather");
    case Collective::reduce_scatter:
      return nccl.check(nccl.reduce_scatter(send, receive, part, float32, sum, communicator_, stream),
                        "ncclReduceScatter");
    case Collective::broadcast:
      return nccl.check(nccl.broadcast(send, receive, count, float32, 0, communicator_, stream), "ncclBroadcast");
    case Collective::all_to_all:
      if (nccl.all_to_all != nullptr)
        return nccl.check(nccl.all_to_all(send, receive, part, float32, communicator_, stream), "ncclAlltoAll");
      return in_group([&] {
        for (int peer = 0; peer < ranks_; ++peer) {
          const std::size_t place = part * static_cast<std::size_t>(peer);
          exchange(place, place, part, peer, peer);
        }
      });
    case Collective::send_receive:
      return in_group([&] { exchange(0, 0, count, (rank_ + 1) % ranks_, (rank_ + ranks_ - 1) % ranks_); });
  }
}

void NcclCommunicator::send(const void* from, std::size_t bytes, int rank, Stream stream) const {
  library_->check(library_->send(from, bytes / sizeof(float), float32, rank, communicator_, stream), "ncclSend");
}
void NcclCommunicator::receive(void* to, std::size_t bytes, int rank, Stream stream) const {
  library_->check(library_->receive(to, bytes / sizeof(float), float32, rank, communicator_, stream), "ncclRecv");
}

void NcclCommunicator::agree(Agreement how, double* values, std::size_t count, Stream stream) const {
  library_->check(
      library_->all_reduce(values, values, count, float64, how == Agreement::max ? max : sum, communicator_, stream),
      "ncclAllReduce");
}

void NcclCommunicator::check() const {
  Result result = success;
  library_->check(library_->async_error(communicator_, &result), "ncclCommGetAsyncError");
  library_->check(result, "a collective");
}

}  // namespace gpubench::bench
