// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/imports.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gpubench::profile {
namespace {

// Entries of the table by which an object calls others, as the processor's ABI numbers them.
#if defined(__aarch64__)
constexpr std::uint32_t jump_slot = R_AARCH64_JUMP_SLOT, global_data = R_AARCH64_GLOB_DAT;
#else
constexpr std::uint32_t jump_slot = R_X86_64_JUMP_SLOT, global_data = R_X86_64_GLOB_DAT;
#endif

/// What an object says of itself to the loader.
struct Object {
  std::uintptr_t base = 0;
  const char* texts = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  std::span<const ElfW(Rela)> calls = {}, data = {};
  std::uintptr_t sealed_from = 0, sealed_to = 0;  ///< read-only once it is loaded (RELRO)
  bool links = false;                             ///< to the library
};

Object object_of(const dl_phdr_info& info, std::string_view library) {
  Object object{.base = info.dlpi_addr};
  const ElfW(Dyn)* dynamic = nullptr;
  for (const ElfW(Phdr) & part : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    if (part.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_GNU_RELRO) {
      object.sealed_from = info.dlpi_addr + part.p_vaddr;
      object.sealed_to = object.sealed_from + part.p_memsz;
    }
  }
  if (dynamic == nullptr) return object;
  // The loader has put addresses in place of offsets, but not for all objects.
  const auto address = [&](const ElfW(Dyn) & entry) {
    return entry.d_un.d_ptr < info.dlpi_addr ? info.dlpi_addr + entry.d_un.d_ptr : entry.d_un.d_ptr;
  };
  const auto table = [&](std::uintptr_t at, std::size_t bytes) {
    return std::span(reinterpret_cast<const ElfW(Rela)*>(at), at == 0 ? 0 : bytes / sizeof(ElfW(Rela)));
  };
  std::uintptr_t calls = 0, data = 0;
  std::size_t call_bytes = 0, data_bytes = 0, relative = 0;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) switch (entry->d_tag) {
      case DT_STRTAB: object.texts = reinterpret_cast<const char*>(address(*entry)); break;
      case DT_SYMTAB: object.symbols = reinterpret_cast<const ElfW(Sym)*>(address(*entry)); break;
      case DT_JMPREL: calls = address(*entry); break;
      case DT_PLTRELSZ: call_bytes = entry->d_un.d_val; break;
      case DT_RELA: data = address(*entry); break;
      case DT_RELASZ: data_bytes = entry->d_un.d_val; break;
      case DT_RELACOUNT: relative = entry->d_un.d_val; break;
      default: break;
    }
  if (object.texts == nullptr || object.symbols == nullptr) return object;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED && std::string_view(object.texts + entry->d_un.d_val).starts_with(library))
      object.links = true;
  object.calls = table(calls, call_bytes);
  object.data = table(data, data_bytes);
  object.data = object.data.subspan(std::min(relative, object.data.size()));  // the first ones name no symbol
  return object;
}

void put(const Object& object, std::uintptr_t slot, void* instead) {
  std::atomic_ref place(*reinterpret_cast<void**>(slot));
  if (place.load(std::memory_order_relaxed) == instead) return;
  const bool is_sealed = slot >= object.sealed_from && slot < object.sealed_to;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const start = reinterpret_cast<void*>(slot / page * page);
  if (is_sealed && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
  place.store(instead);
  if (is_sealed) (void)mprotect(start, page, PROT_READ);
}

struct Wish {
  std::string_view library;
  std::span<const Import> imports;
};

int redirect(dl_phdr_info* info, std::size_t, void* data) {
  const Wish& wish = *static_cast<const Wish*>(data);
  const Object object = object_of(*info, wish.library);
  if (!object.links) return 0;
  for (const auto& table : {object.calls, object.data})
    for (const ElfW(Rela) & entry : table) {
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
      if (type != jump_slot && type != global_data) continue;
      const std::string_view name = object.texts + object.symbols[ELF64_R_SYM(entry.r_info)].st_name;
      const auto wanted = std::ranges::find(wish.imports, name, &Import::name);
      if (wanted != wish.imports.end()) put(object, object.base + entry.r_offset, wanted->instead);
    }
  return 0;
}

}  // namespace

void redirect_imports(std::string_view library, std::span<const Import> imports) {
  Wish wish{library, imports};
  dl_iterate_phdr(redirect, &wish);
}

}  // namespace gpubench::profile
