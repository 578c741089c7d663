// SPDX-License-Identifier: Apache-2.0
// Plays what of the driver a waiting thread and counting call: libcuda.so.1 of tests, with a GPU that works or is idle,
// and as many GPUs as a test wants.
#include <atomic>
#include <cstddef>
#include <cstring>

namespace {
std::atomic<bool> works = false;
std::atomic<int> gpus = 0;  // 0: not initialised
}  // namespace

extern "C" {
void played_gpu_works(bool on) { works = on; }
void played_gpus(int count) { gpus = count; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return works ? 999 : 0; }
int cuThreadExchangeStreamCaptureMode(void*) { return 0; }
int cuCtxGetDevice(int* device) { return *device = 0; }
int cuStreamIsCapturing(void*, int* status) { return *status = 0; }
int cuDeviceGetCount(int* count) { return (*count = gpus) == 0 ? 3 : 0; }
int cuDeviceGetName(char* name, int bytes, int) {
  return std::strncpy(name, "A GPU", static_cast<std::size_t>(bytes)), 0;
}
int cuDeviceGetUuid_v2(void* uuid, int gpu) { return std::memset(uuid, 16 + gpu, 16), 0; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int gpu) { return *bytes = static_cast<std::size_t>(gpu + 1) << 30U, 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = attribute, 0; }
}
