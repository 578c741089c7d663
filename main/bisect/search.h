// SPDX-License-Identifier: Apache-2.0
// Which commit made a benchmark slower: pairs of processes of GOOD and of one other commit, until it is known.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "main/bisect/builds.h"
#include "main/commands/shared/repository.h"
#include "reports/bisections.h"

namespace gpubench {

class BisectSearch {
 public:
  /// `hashes`: GOOD, then the commits up to BAD. Goes on with what an earlier search left in the folder.
  BisectSearch(const BisectOptions& options, const Repository& repository, std::vector<std::string> hashes,
               const SearchFolder& folder);
  ~BisectSearch();

  /// Throws std::runtime_error where GOOD or BAD cannot be measured. Empty after an interruption.
  reports::Bisected run();
  /// Once no worktree is needed any more. Returns sentences.
  [[nodiscard]] std::vector<std::string> end() const;

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace gpubench
