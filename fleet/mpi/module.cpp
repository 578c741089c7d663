// SPDX-License-Identifier: Apache-2.0
#include "fleet/mpi/module.h"

#include <mpi.h>

#include <chrono>
#include <thread>

namespace {

bool worked(int code) { return code == MPI_SUCCESS; }

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
