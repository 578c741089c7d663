// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/nvtx_clients.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

namespace gpubench::profile {
namespace {

/// False once its library was unloaded.
bool is_loaded(void* client) {
  Dl_info info{};
  return dladdr(client, &info) != 0;
}

void clear(void* client) {
  const auto get_table = reinterpret_cast<NvtxGetExportTableFunc_t>(client);
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable == nullptr) return;
  for (int module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; ++module) {
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(module), &table, &size) == 0) continue;
    for (unsigned i = 0; i < size; ++i)
      if (table[i] != nullptr) *table[i] = nullptr;
  }
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

void NvtxClients::disconnect() {
  const std::lock_guard lock(mutex_);
  reader_ = nullptr;
  for (void* const client : clients_)
    if (is_loaded(client)) clear(client);
}

}  // namespace gpubench::profile
