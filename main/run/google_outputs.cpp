// SPDX-License-Identifier: Apache-2.0
#include "main/run/google_outputs.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "main/cli/output.h"
#include "main/run/run_options.h"

namespace gpubench {
namespace {

std::unique_ptr<benchmark::BenchmarkReporter> google_reporter(const std::string& format) {
  if (format == "json") return std::make_unique<benchmark::JSONReporter>();
  if (format == "csv") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  }
  return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_Tabular);
}

/// Google Benchmark writes names, labels and numbers as they are.
std::string sound(const std::string& format, const std::string& text) {
  return format == "json" ? valid_json(text) : printable_lines(text);
}

}  // namespace

GoogleOutputs::GoogleOutputs(const bench::GoogleFlags& flags) : flags_(flags) {
  if (flags.format) add(*flags.format, display_, flags.report_aggregates_only || flags.display_aggregates_only);
  if (flags.out) add(flags.out_format, file_, flags.report_aggregates_only);
}

GoogleOutputs::~GoogleOutputs() = default;

void GoogleOutputs::print() const {
  if (flags_.format) show(sound(*flags_.format, display_.str()));
}

void GoogleOutputs::write_file() const { storage::write_file(*flags_.out, sound(flags_.out_format, file_.str())); }

void GoogleOutputs::add(const std::string& format, std::ostringstream& stream, bool aggregates_only) {
  reporters_.push_back(google_reporter(format));
  reporters_.back()->SetOutputStream(&stream);
  reporters_.back()->SetErrorStream(&stream);
  sinks_.push_back({reporters_.back().get(), aggregates_only});
}

void run_plain(const RunOptions& options) {
  const auto names = bench::plain_benchmarks(options.filter);
  if (names.empty()) return;
  if (options.quiet || options.google.format)
    return say(
        fmt::format("{} of Google Benchmark left out; run without --quiet and --benchmark_format, or register "
                    "them with HOST_BENCHMARK",
                    plural(names.size(), "BENCHMARK")));
  std::ostringstream table;
  std::ostringstream context;
  const auto reporter = google_reporter("console");
  reporter->SetOutputStream(&table);
  reporter->SetErrorStream(&context);
  bench::run_plain_benchmarks(names, options.google, *reporter);
  show("\nBENCHMARKs of Google Benchmark, by its own clock. They have no verdict and are not in files.\n" +
       printable_lines(table.str()));
}

}  // namespace gpubench
