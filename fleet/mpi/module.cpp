// SPDX-License-Identifier: Apache-2.0
#include "fleet/mpi/module.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <thread>
#include <vector>

#include "core/model/collective.h"

namespace {

using gpubench::Collective;

bool worked(int code) { return code == MPI_SUCCESS; }

/// One message among all ranks, checked by its values: each rank sends its number plus one.
class Message {
 public:
  Message(Collective collective, long long bytes) : collective_(collective), count_(static_cast<int>(bytes / 4)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    send_.assign(static_cast<std::size_t>(count_), static_cast<float>(rank_ + 1));
    receive_.assign(static_cast<std::size_t>(count_), 0.0F);
  }

  int run() {
    const int part = count_ / ranks_;
    switch (collective_) {
      case Collective::all_reduce:
        return MPI_Allreduce(send_.data(), receive_.data(), count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      case Collective::all_gather:
        return MPI_Allgather(send_.data(), part, MPI_FLOAT, receive_.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
      case Collective::reduce_scatter:
        return MPI_Reduce_scatter_block(send_.data(), receive_.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      case Collective::broadcast:
        if (rank_ == 0) receive_ = send_;
        return MPI_Bcast(receive_.data(), count_, MPI_FLOAT, 0, MPI_COMM_WORLD);
      case Collective::all_to_all:
        return MPI_Alltoall(send_.data(), part, MPI_FLOAT, receive_.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
      case Collective::send_receive:  // to the next rank, from the one before, as nccl-tests' sendrecv
        return MPI_Sendrecv(send_.data(), count_, MPI_FLOAT, (rank_ + 1) % ranks_, 0, receive_.data(), count_,
                            MPI_FLOAT, (rank_ + ranks_ - 1) % ranks_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return MPI_ERR_ARG;
  }

  /// Of what this rank has received.
  [[nodiscard]] bool is_right() const {
    const int part = count_ / ranks_;
    const float sum = static_cast<float>(ranks_) * static_cast<float>(ranks_ + 1) / 2.0F;
    const int received = collective_ == Collective::reduce_scatter ? part : count_;
    for (int i = 0; i < received; ++i) {
      float wanted = sum;
      if (collective_ == Collective::all_gather || collective_ == Collective::all_to_all)
        wanted = static_cast<float>(i / part + 1);
      if (collective_ == Collective::broadcast) wanted = 1.0F;
      if (collective_ == Collective::send_receive) wanted = static_cast<float>((rank_ + ranks_ - 1) % ranks_ + 1);
      if (std::abs(receive_[static_cast<std::size_t>(i)] - wanted) > 1e-3F * wanted) return false;
    }
    return true;
  }

 private:
  Collective collective_;
  int count_;
  int rank_ = 0, ranks_ = 1;
  std::vector<float> send_, receive_;
};

}  // namespace

int gpubench_mpi_start(int* rank, int* ranks, int* local_rank) {
  int provided = 0, there = 0;
  if (!worked(MPI_Initialized(&there))) return 1;
  if (there == 0 && !worked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided))) return 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm node = MPI_COMM_NULL;
  if (!worked(MPI_Comm_rank(MPI_COMM_WORLD, rank)) || !worked(MPI_Comm_size(MPI_COMM_WORLD, ranks)) ||
      !worked(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, *rank, MPI_INFO_NULL, &node)))
    return 1;
  const bool told = worked(MPI_Comm_rank(node, local_rank));
  MPI_Comm_free(&node);
  return told ? 0 : 1;
}

int gpubench_mpi_meet(int value, double max_seconds, int* max) {
  // They outlive a call that gives up: MPI may still write to them.
  static int sent = 0, received = 0;
  sent = value;
  MPI_Request request = MPI_REQUEST_NULL;
  if (!worked(MPI_Iallreduce(&sent, &received, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request))) return 2;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(max_seconds);
  while (true) {
    int done = 0;
    if (!worked(MPI_Test(&request, &done, MPI_STATUS_IGNORE))) return 2;
    if (done != 0) break;
    if (std::chrono::steady_clock::now() > end) return 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the others may need this core
  }
  *max = received;
  return 0;
}

int gpubench_mpi_share(char* bytes, int size) {
  return worked(MPI_Bcast(bytes, size, MPI_CHAR, 0, MPI_COMM_WORLD)) ? 0 : 1;
}

int gpubench_mpi_collective(int collective, long long bytes, int iterations, double* seconds) {
  constexpr int warm_up = 3;
  try {
    Message message(static_cast<Collective>(collective), bytes);
    for (int i = -warm_up; i < iterations; ++i) {
      if (!worked(MPI_Barrier(MPI_COMM_WORLD))) return 2;
      const double start = MPI_Wtime();
      if (!worked(message.run())) return 2;
      const double own = MPI_Wtime() - start;
      if (i >= 0) seconds[i] = own;
    }
    if (!worked(MPI_Allreduce(MPI_IN_PLACE, seconds, iterations, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD))) return 2;
    int right = message.is_right() ? 1 : 0;
    if (!worked(MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD))) return 2;
    return right != 0 ? 0 : 1;
  } catch (const std::bad_alloc&) {
    return 3;
  }
}

int gpubench_mpi_alone(double* seconds) {
  constexpr int iterations = 1000, rows = 5;
  double least = 1.0;
  for (int row = 0; row < rows; ++row) {
    const double start = MPI_Wtime();
    for (int i = 0; i < iterations; ++i) {
      float sent = 1.0F, received = 0.0F;
      if (!worked(MPI_Allreduce(&sent, &received, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF))) return 2;
    }
    least = std::min(least, (MPI_Wtime() - start) / iterations);
  }
  return worked(MPI_Allreduce(&least, seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD)) ? 0 : 2;
}

int gpubench_mpi_send(int peer, int sends, long long bytes, int iterations, double max_seconds, double* seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(max_seconds);
  int problem = 0;
  // Without sleeping: the bytes move while MPI is called.
  const auto wait = [&](int started, MPI_Request& request) {
    int done = 0;
    if (!worked(started)) problem = 2;
    while (problem == 0 && done == 0) {
      if (!worked(MPI_Test(&request, &done, MPI_STATUS_IGNORE))) problem = 2;
      if (problem == 0 && done == 0 && std::chrono::steady_clock::now() > end) problem = 1;
      if (done == 0) std::this_thread::yield();
    }
    return problem == 0;
  };
  try {
    // They outlive a call that gives up: MPI may still use them.
    static std::vector<char> message;
    static char token = 0;
    message.resize(static_cast<std::size_t>(bytes));
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(bytes);
    for (int i = 0; i < iterations; ++i) {
      // The receiver is ready when its token comes.
      if (sends != 0) {
        if (!wait(MPI_Irecv(&token, 1, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &request), request)) return problem;
        const double start = MPI_Wtime();
        if (!wait(MPI_Isend(message.data(), count, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &request), request))
          return problem;
        if (!wait(MPI_Irecv(&token, 1, MPI_CHAR, peer, 3, MPI_COMM_WORLD, &request), request)) return problem;
        seconds[i] = MPI_Wtime() - start;
      } else {
        MPI_Request own = MPI_REQUEST_NULL;
        const int posted = MPI_Irecv(message.data(), count, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &request);
        if (!wait(MPI_Isend(&token, 1, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &own), own)) return problem;
        if (!wait(posted, request)) return problem;
        if (!wait(MPI_Isend(&token, 1, MPI_CHAR, peer, 3, MPI_COMM_WORLD, &own), own)) return problem;
      }
    }
    return 0;
  } catch (const std::bad_alloc&) {
    return 3;
  }
}

void gpubench_mpi_end(int after_failure) {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended != 0) return;
  if (after_failure == 0) {
    MPI_Finalize();
    return;
  }
  // The launcher ends all ranks when one has failed: the others need a moment to write why they did.
  std::this_thread::sleep_for(std::chrono::seconds(5));
}
