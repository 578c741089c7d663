// SPDX-License-Identifier: Apache-2.0
// The pass after timing that compares a measurement's device time with activity records.
#pragma once

#include <filesystem>

#include "bench/counters/post_timing_pass.h"
#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

// Which machine code each kernel of a program is: hashes of the SASS in the cubins that nvcc puts into it. A program
// keeps its device code in the section .nv_fatbin. An uncompressed cubin in it is an ELF file of machine EM_CUDA, whose
// section ".text.NAME" is the code of the kernel with that mangled name, without its constants and the functions it
// calls. nvcc compresses cubins when it builds for several architectures, unless GPUBENCH_KERNEL_HASHES is on.

/// A function's name as in the source, with its parameters. A name that is not mangled stays as it is.
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

/// Sums up the records of `warm_up + executions` executions that ran one after another, without the first `warm_up`.
/// Executions are told apart by their order, so all must run the same kernels and copies. Else `reason` says why there
/// is nothing.
ActivityCheck summarize(const ActivityRecords& activity, std::int64_t warm_up, std::int64_t executions);

/// Compares with the device time of the measurement. The two agree when they differ by at most the max of 0.2 us a
/// kernel, 3 % of the recorded duration, and the distance that both 95 % intervals allow. Where they cannot be
/// compared, `reason` says why.
void compare(ActivityCheck& check, const Measurement& measurement);

/// Fills `activity`, point after point, on one device. Opens the source at the first point.
class ActivityPass final : public PostTimingPass {
 public:
  using Opener = std::function<std::unique_ptr<ActivitySource>(const Device&)>;

  using CodeReader = std::function<KernelCode(const Device&)>;

  explicit ActivityPass(Device device, Opener open = open_activity_source, CodeReader read_code = code_of_process);

  void fill(Measurement& measurement, const Replay& replay) override;
  void give_up(Measurement& measurement, const std::string& reason) override;

 private:
  static KernelCode code_of_process(const Device& device);
  ActivitySource& source();
  void identify(std::vector<KernelLaunch>& kernels);
  ActivityCheck check(const Measurement& measurement, const Replay& replay);

  Device device_;
  Opener open_;
  CodeReader read_code_;
  std::unique_ptr<ActivitySource> source_;
  std::optional<KernelCode> code_;  ///< once it was asked for
  std::optional<std::string> unavailable_;
};

}  // namespace gpubench::bench
