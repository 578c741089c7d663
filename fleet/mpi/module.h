// SPDX-License-Identifier: Apache-2.0
// What the module libgpubench_mpi.so does: plain C, so that the program needs no MPI of its own.
#pragma once

extern "C" {
/// Starts MPI and tells this process's place. 0 where that worked.
int gpubench_mpi_start(int* rank, int* ranks, int* local_rank);
/// A barrier with a limit that brings the greatest value. 0; 1 after the limit; 2 where MPI failed.
int gpubench_mpi_meet(int value, double max_seconds, int* max);
/// Ends MPI; after a failure without waiting for the other ranks, by ending this process's part alone.
void gpubench_mpi_end(int after_failure);
}
