// SPDX-License-Identifier: Apache-2.0
// A library with some of NVML's functions, and wrong or missing others, for the tests of the class that loads NVML.
#include <array>
#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int result) { return result == 3 ? "Not Supported" : "Not Found"; }

// GPUs 0 and 1 are linked by switches, 2 and 3 by two links, 4 has no links; the first one is 0000:18:00.0, too.
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  static std::array<int, 5> gpus = {0, 1, 2, 3, 4};
  if (std::strcmp(id, "0000:18:00.0") == 0) id = "0000:00:00.0";
  const int place = id[6] - '0';
  if (std::strncmp(id, "0000:0", 6) != 0 || place < 0 || place > 4) return 6;
  *device = &gpus[static_cast<std::size_t>(place)];
  return 0;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  const int gpu = *static_cast<int*>(device);
  if (gpu == 4 || link >= (gpu < 2 ? 18U : 4U)) return 3;
  *active = gpu == 1 && link == 17 ? 0 : 1;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned, unsigned* kind) {
  *kind = *static_cast<int*>(device) < 2 ? 2 : 0;
  return 0;
}
struct Pci {
  char short_id[16];
  unsigned numbers[5];
  char id[32];
};
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  std::strcpy(pci->id, "00000000:00:00.0");
  pci->id[10] = static_cast<char>('0' + *static_cast<int*>(device));
  return 0;
}
// GPUs 2 and 3: two links to each other, two to something else.
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, Pci* pci) {
  static std::array<int, 5> gpus = {0, 1, 2, 3, 9};
  return nvmlDeviceGetPciInfo_v3(&gpus[link < 2 ? (*static_cast<int*>(device) == 2 ? 3 : 2) : 4], pci);
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  *level = 50;
  return 0;
}
int nvmlDeviceGetP2PStatus(void* one, void* other, int, int* status) {
  *status = *static_cast<int*>(one) == 4 || *static_cast<int*>(other) == 4 ? 1 : 0;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) {
  *value = 1;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) {
  *value = 16;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
  *value = 5;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) {
  *value = 16;
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* id, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return std::strcmp(id, "GPU-1234") == 0 ? 0 : 6;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.1", length);
  return 0;
}
// SM 1410 MHz now, 1980 MHz at most; memory 3201 MHz at most.
int nvmlDeviceGetClockInfo(void*, int type, unsigned* megahertz) {
  *megahertz = type == 1 ? 1410 : 7;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* megahertz) {
  *megahertz = type == 1 ? 1980 : type == 2 ? 3201 : 7;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 648500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* milliwatts) {
  *milliwatts = 750000;
  return 0;
}
int nvmlDeviceGetComputeMode(void*, int* mode) {
  *mode = 3;
  return 0;
}
// 100 processes, numbered from 1000: more than a caller expects.
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* infos) {
  struct Process {
    unsigned id;
    unsigned long long memory_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
  };
  const unsigned room = *count;
  *count = 100;
  if (room < 100) return 7;
  for (unsigned i = 0; i < 100; ++i) static_cast<Process*>(infos)[i] = {1000 + i, 1, 0, 0};
  return 0;
}
// Of them, process 1003 works through MPS.
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void*, unsigned* count, void* infos) {
  *count = 1;
  std::memcpy(infos, std::array<unsigned, 1>{1003}.data(), sizeof(unsigned));
  return 0;
}
// Process 1000 computes half of the time and process 1001 40 %, until second 2000 after 1970; then one entry that is
// not filled in.
int nvmlDeviceGetProcessUtilization(void*, void* samples, unsigned* count, unsigned long long since) {
  struct Sample {
    unsigned process;
    unsigned long long time;
    unsigned sm, memory, encoder, decoder;
  };
  constexpr unsigned long long last = 2000000000;
  if (since >= last) return 6;
  if (*count < 5) return 7;
  *count = 5;
  const Sample filled[5] = {{1000, last, 55, 1, 0, 0},
                            {1000, last, 45, 1, 0, 0},
                            {1001, last, 30, 1, 0, 0},
                            {1001, last, 50, 1, 0, 0},
                            {0, 0, 7, 7, 7, 7}};
  std::memcpy(samples, filled, sizeof filled);
  return 0;
}
int nvmlDeviceGetEccMode(void*, unsigned* current, unsigned* pending) {
  *current = 1;
  *pending = 0;
  return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned*, unsigned*) { return 3; }
// The older name alone, as drivers before 535 have it.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4 | 0x40;
  return 0;
}
}
