// SPDX-License-Identifier: Apache-2.0
// What the module libgpubench_mpi.so does: plain C, so that the program needs no MPI of its own.
#pragma once

extern "C" {
/// Starts MPI and tells this process's place. 0 where that worked.
int gpubench_mpi_start(int* rank, int* ranks, int* local_rank);
/// A barrier with a limit that brings the greatest value. 0; 1 after the limit; 2 where MPI failed.
int gpubench_mpi_meet(int value, double max_seconds, int* max);
/// Gives all ranks the bytes of rank 0. 0 where that worked.
int gpubench_mpi_share(char* bytes, int size);
/// Runs a collective of core/model/collective.h, by its number, over all ranks: some iterations to warm up, then
/// `iterations` with a barrier before each. `seconds` has room for one time each, that of the slowest rank. `bytes` is
/// the message, which divides by ranks x 4. 0; 1 where a result was wrong; 2 where MPI failed; 3 where there is no
/// memory.
int gpubench_mpi_collective(int collective, long long bytes, int iterations, double* seconds);
/// An all-reduce of one float among this rank alone: what the library itself costs. `seconds` is the least of some,
/// that of the slowest rank. 0; 2 where MPI failed.
int gpubench_mpi_alone(double* seconds);
/// Sends a message to a peer, which receives it at the same time (`sends` 0): `iterations` times, each until the peer
/// says that it has it. Of the sender `seconds` has room for one time each. 0; 1 after the limit; 2 where MPI failed; 3
/// where there is no memory.
int gpubench_mpi_send(int peer, int sends, long long bytes, int iterations, double max_seconds, double* seconds);
/// Ends MPI; after a failure without waiting for the other ranks, by ending this process's part alone.
void gpubench_mpi_end(int after_failure);
}
