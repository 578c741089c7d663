// SPDX-License-Identifier: Apache-2.0
// NCCL, which is loaded at run time: collectives between the GPUs of several ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/model/collective.h"
#include "gpubench/error.h"
#include "gpubench/stream.h"

namespace gpubench::bench {

/// The loaded library. Cheap to copy. Never throws for lack of it.
class Nccl {
 public:
  /// The file that GPUBENCH_NCCL names, else libnccl.so.2 as the loader finds it, then in CUDA's folders.
  Nccl();
  /// Exactly this file.
  explicit Nccl(const std::string& file);

  /// Why it cannot be used, with what to do; empty when it can.
  [[nodiscard]] const std::string& reason() const;
  /// "2.28.9"; empty when it cannot be used.
  [[nodiscard]] const std::string& version() const;
  /// What all ranks of a communicator share, which one of them makes. Throws GpuError.
  [[nodiscard]] std::string new_id() const;
  /// Memory of the current GPU for messages, freed with its last owner: from ncclMemAlloc where NCCL has it (2.19 and
  /// newer), as nccl-tests takes it, else from CUDA. Throws GpuError.
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) const;

  struct Library;

 private:
  friend class NcclCommunicator;
  std::shared_ptr<const Library> library_;
};

/// This rank among others, on the current GPU. Members throw GpuError.
class NcclCommunicator {
 public:
  /// Waits for all others.
  NcclCommunicator(const Nccl& library, const std::string& id, int rank, int ranks);
  ~NcclCommunicator();
  NcclCommunicator& operator=(NcclCommunicator&&) = delete;  ///< not copied, not moved

  /// Enqueues a collective of floats. `bytes` is the message as fleet::message_bytes has it; both buffers are of the
  /// GPU and hold as much, the broadcast's root is rank 0.
  void enqueue(Collective collective, const void* send, void* receive, std::size_t bytes, Stream stream) const;
  /// Enqueues bytes to one other rank, which enqueues their receipt.
  void send(const void* from, std::size_t bytes, int rank, Stream stream) const;
  void receive(void* to, std::size_t bytes, int rank, Stream stream) const;
  enum class Agreement { sum, max };
  /// Enqueues an exchange of numbers in the GPU's memory: what comes of those of all ranks takes their place.
  void agree(Agreement how, double* values, std::size_t count, Stream stream) const;
  /// Throws where a rank or a link failed meanwhile.
  void check() const;

 private:
  std::shared_ptr<const Nccl::Library> library_;
  void* communicator_ = nullptr;
  int rank_;
  int ranks_;
};

}  // namespace gpubench::bench
