// SPDX-License-Identifier: Apache-2.0
// What Google Benchmark's own reporters write.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/google/google_runner.h"

namespace gpubench {

struct RunOptions;

/// As the flags of Google Benchmark ask for it.
class GoogleOutputs {
 public:
  explicit GoogleOutputs(const bench::GoogleFlags& flags);
  ~GoogleOutputs();
  GoogleOutputs& operator=(GoogleOutputs&&) = delete;  ///< not copied, not moved
  [[nodiscard]] const std::vector<bench::Sink>& sinks() const { return sinks_; }
  void print() const;
  void write_file() const;

 private:
  void add(const std::string& format, std::ostringstream& stream, bool aggregates_only);

  const bench::GoogleFlags& flags_;
  std::ostringstream display_;
  std::ostringstream file_;
  std::vector<std::unique_ptr<benchmark::BenchmarkReporter>> reporters_;
  std::vector<bench::Sink> sinks_;
};

/// Plain BENCHMARKs, as Google Benchmark times them: it knows nothing of their work, so that they have no verdict.
void run_plain(const RunOptions& options);

}  // namespace gpubench
