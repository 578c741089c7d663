// SPDX-License-Identifier: Apache-2.0
// Which machine code each kernel of a program is: hashes of the SASS in the cubins that nvcc puts into it. A program
// keeps its device code in the section .nv_fatbin. An uncompressed cubin in it is an ELF file of machine EM_CUDA, whose
// section ".text.NAME" is the code of the kernel with that mangled name, without its constants and the functions it
// calls. nvcc compresses cubins when it builds for several architectures, unless GPUBENCH_KERNEL_HASHES is on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpubench::bench {

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
  /// This program and its loaded libraries, except NVIDIA's.
  static KernelCode of_process(std::string_view architecture);

  /// Takes all cubins of a program or library; a file that cannot be read has none.
  void add_file(const std::filesystem::path& file);
  /// Takes all cubins in a .nv_fatbin section, or a cubin by itself.
  void add_device_code(std::string_view bytes);

  /// By the name in the source, as `demangled` gives it.
  [[nodiscard]] CodeOfKernel of(const std::string& kernel) const;

 private:
  /// The code of a kernel that this GPU runs: of its architectures the newest.
  struct KernelHash {
    int architecture = 0;
    std::uint64_t hash = 0;
    bool several = false;  ///< kernels of this name with different code
  };
  std::size_t add_cubin(std::string_view bytes);
  void add_kernel(const std::string& kernel, int architecture, std::uint64_t hash);

  std::optional<int> architecture_;  ///< 90 for "sm_90"
  std::map<std::string, KernelHash> kernels_;
  std::size_t device_code_bytes_ = 0;
  std::size_t cubins_ = 0;
};

}  // namespace gpubench::bench
