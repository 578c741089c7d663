// SPDX-License-Identifier: Apache-2.0
// The program and its libraries as users of NVTX. Each asks once, at its first call, who reads its ranges; what it is
// given then can be changed later.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace gpubench::profile {

class NvtxClients {
 public:
  /// As NVTX hands it to InitializeInjectionNvtx2. Its ranges are read by nobody, at the cost of no call, until
  /// `connect`; at once where that was called.
  void add(void* get_export_table);
  /// CUPTI reads ranges from here on, and keeps those alone that it is asked to. `library`: the file that is loaded.
  void connect(const std::string& library);
  /// Ranges are read by nobody again.
  void disconnect();

 private:
  std::mutex mutex_;
  std::vector<void*> clients_;
  int (*reader_)(void*) = nullptr;
};

}  // namespace gpubench::profile
