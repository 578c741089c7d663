// SPDX-License-Identifier: Apache-2.0
// A library with NCCL's functions, for one rank on the host: what it is asked for stands in a log that tests read.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string& log() {
  static std::string text;
  return text;
}
void note(const char* name, std::size_t count, int type, int more) {
  char line[100];
  std::snprintf(line, sizeof line, "%s %zu %d %d\n", name, count, type, more);
  log() += line;
}
std::size_t bytes_of(std::size_t count, int type) { return count * (type == 8 ? 8 : 4); }
const void* sent = nullptr;

}  // namespace

extern "C" {

struct Id {
  char bytes[128];
};
const char* fake_nccl_log() { return log().c_str(); }

int ncclGetVersion(int* version) {
#ifdef GPUBENCH_OLD_NCCL
  *version = 2604;
#else
  *version = 22809;
#endif
  return 0;
}
#ifndef GPUBENCH_OLD_NCCL
const char* ncclGetErrorString(int result) { return result == 2 ? "unhandled system error" : "remote process exited"; }
const char* ncclGetLastError(void*) { return "socket closed"; }
int ncclGetUniqueId(Id* id) {
  std::memset(id->bytes, 0, sizeof id->bytes);
  id->bytes[127] = 'x';
  return 0;
}
int ncclCommInitRank(void** communicator, int ranks, Id id, int rank) {
  static int there = 0;
  *communicator = &there;
  note("init", static_cast<std::size_t>(ranks), rank, id.bytes[127]);
  return rank < ranks ? 0 : 2;
}
int ncclCommDestroy(void*) {
  note("destroy", 0, 0, 0);
  return 0;
}
int ncclCommGetAsyncError(void*, int* result) {
  *result = log().find("broadcast") == std::string::npos ? 0 : 6;
  return 0;
}
int ncclGroupStart() {
  note("group", 0, 0, 0);
  return 0;
}
int ncclGroupEnd() {
  note("end", 0, 0, 0);
  return 0;
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation, void*, void*) {
  note("all-reduce", count, type, operation);
  std::memmove(to, from, bytes_of(count, type));
  return 0;
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int operation, void*, void*) {
  note("reduce-scatter", count, type, operation);
  std::memcpy(to, from, bytes_of(count, type));
  return 0;
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, void*, void*) {
  note("all-gather", count, type, 0);
  std::memcpy(to, from, bytes_of(count, type));
  return 0;
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, void*, void*) {
  note("broadcast", count, type, root);
  std::memcpy(to, from, bytes_of(count, type));
  return 0;
}
#ifdef GPUBENCH_NEW_NCCL
int ncclMemAlloc(void** memory, std::size_t bytes) {
  note("allocate", bytes, 0, 0);
  *memory = bytes < 1000 ? std::malloc(bytes) : nullptr;
  return *memory == nullptr ? 2 : 0;
}
int ncclMemFree(void* memory) {
  note("free", 0, 0, 0);
  std::free(memory);
  return 0;
}
int ncclAlltoAll(const void* from, void* to, std::size_t count, int type, void*, void*) {
  note("all-to-all", count, type, 0);
  std::memcpy(to, from, bytes_of(count, type));
  return 0;
}
#endif
int ncclSend(const void* from, std::size_t count, int type, int peer, void*, void*) {
  note("send", count, type, peer);
  sent = from;
  return 0;
}
int ncclRecv(void* to, std::size_t count, int type, int peer, void*, void*) {
  note("receive", count, type, peer);
  std::memcpy(to, sent, bytes_of(count, type));
  return 0;
}
#endif
}
