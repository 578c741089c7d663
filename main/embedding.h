// SPDX-License-Identifier: Apache-2.0
// Commands inside a program that is not gpubench's own, such as a Python: what that wants otherwise.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/run.h"

namespace gpubench::bench {
class OpenDevice;
}

namespace gpubench {

struct Embedding {
  /// Command line of the gpubench that measures ceilings in a process of its own; empty: this program again.
  std::vector<std::string> worker;
  std::function<void(const std::string& message)> say;  ///< gets messages in place of standard error, where it is set
  /// Gets a finished run, in place of the terminal. Where it is set a signal is thrown, as Interrupted, and never ends
  /// the process.
  std::function<void(Run run)> finished;
  /// What runs of this process have opened, measured and found: later ones need not.
  struct Known {
    std::map<std::string, std::shared_ptr<bench::OpenDevice>> open;  ///< GPUs with warm caches, by device
    std::string devices_of;                                          ///< as --device has it
    std::vector<Device> devices;
    double devices_time = 0.0;  ///< by the steady clock
    std::string libraries;      ///< of NVIDIA, once so many were loaded and unloaded
    std::pair<unsigned long long, unsigned long long> library_changes;
  };
  Known known;
};
/// That of this process.
Embedding& embedding();

/// A signal that came while a command ran.
struct Interrupted {
  int signal = 0;
};

}  // namespace gpubench
