// SPDX-License-Identifier: Apache-2.0
#include "bench/activity/kernel_code.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "core/base/elf_image.h"
#include "core/base/text.h"

namespace gpubench::bench {
namespace {

constexpr std::string_view device_code_section = ".nv_fatbin";
constexpr std::string_view kernel_section = ".text.";

/// 90 for "sm_90", also for "sm_90a".
std::optional<int> number_of(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return std::nullopt;
  int number = 0;
  std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), number);
  return number > 0 ? std::optional(number) : std::nullopt;
}

/// Of a cubin. Where its flags hold that: EF_CUDA_SM of LLVM's BinaryFormat/ELF.h, bits 0 to 7 until ABI version 7, 8
/// to 15 from 8 on (CUDA 13).
int architecture_of(const ElfImage& cubin) {
  constexpr std::uint8_t first_of_new_flags = 8;
  return static_cast<int>((cubin.abi_version >= first_of_new_flags ? cubin.flags >> 8 : cubin.flags) & 0xff);
}

/// A GPU runs code for its own major version, up to its own minor version.
bool runs(int gpu, int code) { return gpu / 10 == code / 10 && code <= gpu; }

/// Libraries of NVIDIA have kernels of their own, and many of them.
bool is_of_nvidia(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(std::vector<std::string_view>{"libcu", "libnv", "libnccl", "libnpp"},
                             [&](std::string_view head) { return name.starts_with(head); });
}

/// dl_iterate_phdr's callback.
int take_name(dl_phdr_info* object, std::size_t /*size*/, void* names) {
  // The first one is the program itself, without a name; the kernel's own (linux-vdso) has no file.
  if (object->dlpi_name != nullptr && object->dlpi_name[0] == '/')
    static_cast<std::set<std::string>*>(names)->insert(object->dlpi_name);
  return 0;
}

}  // namespace

KernelCode::KernelCode(std::string_view architecture) : architecture_(number_of(architecture)) {}

KernelCode KernelCode::of_process(std::string_view architecture) {
  KernelCode result(architecture);
  result.add_file("/proc/self/exe");
  std::set<std::string> libraries;
  dl_iterate_phdr(take_name, &libraries);
  for (const std::string& library : libraries)
    if (!is_of_nvidia(library)) result.add_file(library);
  return result;
}

void KernelCode::add_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const auto image = read_elf(mapped.bytes());
  if (!image) return;
  for (const ElfSection& section : image->sections)
    if (section.type == SHT_PROGBITS && section.name == device_code_section) add_device_code(section.bytes);
}

void KernelCode::add_device_code(std::string_view bytes) {
  device_code_bytes_ += bytes.size();
  const std::string_view magic(ELFMAG, SELFMAG);
  for (std::size_t at = bytes.find(magic); at != std::string_view::npos; at = bytes.find(magic, at))
    at += std::max<std::size_t>(add_cubin(bytes.substr(at)), SELFMAG);
}

/// Of bytes that begin with a cubin and go on with something else. Returns how many of them are surely its own.
std::size_t KernelCode::add_cubin(std::string_view bytes) {
  const auto cubin = read_elf(bytes);
  if (!cubin || cubin->machine != EM_CUDA) return 0;
  ++cubins_;
  const int architecture = architecture_of(*cubin);
  std::uint64_t end = 0;
  for (const ElfSection& section : cubin->sections) {
    if (section.type != SHT_PROGBITS || section.bytes.empty()) continue;
    end = std::max(end, section.offset + section.bytes.size());
    if (!section.name.starts_with(kernel_section)) continue;
    Fnv1a64 hash;
    hash.add(section.bytes);
    add_kernel(demangled(std::string(section.name.substr(kernel_section.size()))), architecture, hash.value());
  }
  return end;
}

void KernelCode::add_kernel(const std::string& kernel, int architecture, std::uint64_t hash) {
  if (!architecture_ || !runs(*architecture_, architecture)) return;
  KernelHash& known = kernels_[kernel];
  if (architecture < known.architecture) return;
  const bool another = architecture == known.architecture && hash != known.hash;
  known = {architecture, hash, another || (architecture == known.architecture && known.several)};
}

CodeOfKernel KernelCode::of(const std::string& kernel) const {
  if (!architecture_) return {{}, "the device does not report its architecture"};
  const auto place = kernels_.find(kernel);
  if (place == kernels_.end()) {
    if (device_code_bytes_ == 0) return {{}, "neither the program nor its libraries hold device code"};
    return {
        {},
        fmt::format("not among the {} cubins of the program that are not compressed, for sm_{}. To record it, build "
                    "gpubench with -DGPUBENCH_KERNEL_HASHES=ON and your own kernels with nvcc --no-compress. Code "
                    "translated from PTX or in a library has none",
                    cubins_, *architecture_)};
  }
  const KernelHash& known = place->second;
  if (known.several) return {{}, "the program has several kernels of this name, with different code"};
  return {fmt::format("fnv1a64 of sm_{} SASS: {:016x}", known.architecture, known.hash), {}};
}

}  // namespace gpubench::bench
