// SPDX-License-Identifier: Apache-2.0
// Plays what of the driver a waiting thread and counting call: libcuda.so.1 of tests, with a GPU that works or is idle.
#include <atomic>

namespace {
std::atomic<bool> works = false;
}

extern "C" {
void played_gpu_works(bool on) { works = on; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return works ? 999 : 0; }
int cuThreadExchangeStreamCaptureMode(void*) { return 0; }
int cuCtxGetDevice(int* device) { return *device = 0; }
int cuStreamIsCapturing(void*, int* status) { return *status = 0; }
}
