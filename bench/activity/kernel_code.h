// SPDX-License-Identifier: Apache-2.0
// Which machine code each kernel of a program is: hashes of the SASS in the cubins that nvcc puts into it.
//
// A program keeps its device code in the section .nv_fatbin. How that is laid out is not documented, but a cubin in it
// that is not compressed is an ELF file of machine EM_CUDA, whose section ".text.NAME" is the code of the kernel with
// that mangled name. nvcc compresses cubins when it builds for several architectures; the CMake option
// GPUBENCH_KERNEL_HASHES keeps it from that. Functions that a kernel calls without inlining them have sections of their
// own and are not in it, nor are its constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpubench::bench {

/// A function's name as it stands in the source, with its parameters; one that is not mangled as it is.
std::string demangled(const char* name);

/// What is known of one kernel's code.
struct CodeOfKernel {
  std::string code;           ///< "fnv1a64 of sm_90 SASS: 85944171f73967e8"; empty: it is not known
  std::string absent_reason;  ///< then why
};

/// The code of all kernels for one GPU.
class KernelCode {
 public:
  /// `architecture` as in Device::architecture: "sm_90".
  explicit KernelCode(std::string_view architecture);
  /// This program, and all that it has loaded but NVIDIA's own libraries.
  static KernelCode of_process(std::string_view architecture);

  /// Takes all cubins of a program's or a library's file; one that cannot be read has none.
  void add_file(const std::filesystem::path& file);
  /// Takes all cubins in a .nv_fatbin section, or a cubin by itself.
  void add_device_code(std::string_view bytes);

  /// By the name in the source, as `demangled` gives it.
  [[nodiscard]] CodeOfKernel of(const std::string& kernel) const;

 private:
  /// Of a kernel the code that this GPU runs: of the architectures that it can, the newest.
  struct Known {
    int architecture = 0;
    std::uint64_t hash = 0;
    bool several = false;  ///< kernels of this name with different code
  };
  std::size_t add_cubin(std::string_view bytes);
  void add_kernel(const std::string& kernel, int architecture, std::uint64_t hash);

  std::optional<int> architecture_;  ///< 90 for "sm_90"
  std::map<std::string, Known> kernels_;
  std::size_t device_code_bytes_ = 0;
  std::size_t cubins_ = 0;
};

}  // namespace gpubench::bench
