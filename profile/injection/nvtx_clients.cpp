// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/nvtx_clients.h"

#include <dlfcn.h>

#include <utility>

namespace gpubench::profile {
namespace {

/// False once its library was unloaded.
bool is_loaded(void* client) {
  Dl_info info{};
  return dladdr(client, &info) != 0;
}

}  // namespace

void NvtxClients::add(void* get_export_table) {
  const std::lock_guard lock(mutex_);
  std::erase_if(clients_, [](void* client) { return !is_loaded(client); });
  clients_.push_back(get_export_table);
  if (reader_ != nullptr) (void)reader_(get_export_table);
}

void NvtxClients::connect(const std::string& library) {
  void* const cupti = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);  // never closed, as the library itself
  const std::lock_guard lock(mutex_);
  if (reader_ != nullptr) return;
  reader_ = cupti == nullptr ? nullptr : reinterpret_cast<int (*)(void*)>(dlsym(cupti, "InitializeInjectionNvtx2"));
  std::erase_if(clients_, [](void* client) { return !is_loaded(client); });
  for (void* const client : clients_)
    if (reader_ != nullptr) (void)reader_(client);
}

}  // namespace gpubench::profile
