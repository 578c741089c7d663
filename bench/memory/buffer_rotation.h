// SPDX-License-Identifier: Apache-2.0
// Whether an operation's buffers can take turns with copies of themselves, and how many copies that takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gpubench/detail/buffers.h"
#include "gpubench/work.h"

namespace gpubench::bench {

/// How an operation's buffers take turns.
struct BufferRotation {
  std::int64_t copies = 0;  ///< of each buffer, the original among them; 0: they do not take turns
  std::string why_not;      ///< then the reason
  std::size_t buffers = 0;  ///< that the operation uses
  /// When a copy's turn comes again, so much else went by that no cache holds it. If not, each copy may be used once
  /// after a flush.
  bool endless = false;
  bool short_of_memory = false;  ///< there are fewer copies than there should be
  /// Executions after a flush until the cache writes back as much as the operation writes. An operation so small that
  /// a thousand of them leave the cache half empty never gets there; then what it writes takes no time to speak of.
  std::int64_t settling = 0;

  /// Most executions that can follow a flush and those that settle.
  [[nodiscard]] std::int64_t max_executions() const;
};

/// Decides. `uses`: what one execution did with each buffer; `declared`: as the operation declared it; `cache_bytes`:
/// of the last-level cache; `free_bytes`: what copies may take up, at most.
BufferRotation plan_rotation(std::span<const detail::BufferUse> uses, const Work& declared, double cache_bytes,
                             double free_bytes);

}  // namespace gpubench::bench
