// SPDX-License-Identifier: Apache-2.0
// Waits in a process that records nothing until it is asked to.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "profile/injection/options.h"

namespace gpubench::profile {

class TriggerListener {
 public:
  /// Records into the folder until `asks_on`, which takes up to a tenth of a second, is false. `begun` is to be called
  /// once it records. Returns why nothing was recorded.
  using Record = std::function<std::string(const std::filesystem::path& folder, const InjectionOptions& options,
                                           const std::function<void()>& begun, const std::function<bool()>& asks_on)>;

  /// Not `is_open` where the system gives no socket.
  TriggerListener();
  TriggerListener& operator=(TriggerListener&&) = delete;  ///< not copied, not moved

  [[nodiscard]] bool is_open() const { return socket_ >= 0; }
  /// Answers one request after another, of this user's processes alone. Sleeps between them. Does not return.
  [[noreturn]] void serve(const Record& record) const;
  /// In a copy of this process.
  void close();

 private:
  int socket_ = -1;
};

}  // namespace gpubench::profile
