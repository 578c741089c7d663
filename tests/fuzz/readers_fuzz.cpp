// SPDX-License-Identifier: Apache-2.0
// Feeds a reader any bytes. It may refuse them with a sentence; what it accepts must be written and read again alike,
// and every report of it must be made. Built once for each READER; with clang and GPUBENCH_FUZZ by libFuzzer, else with
// a main that tries each file of a corpus and some thousand changes of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "classifier/classifier.h"
#include "core/storage/baselines.h"
#include "core/storage/storage.h"
#include "reports/reports.h"

namespace {

using namespace gpubench;

void require(bool holds) {
  if (!holds) std::abort();
}

[[maybe_unused]] void run(std::string_view text) {
  Run read = storage::run_from_json(text, "input");
  require(storage::run_from_json(storage::to_json(read), "again") == read);
  (void)storage::slim_run_from_json(std::string(text), "input");
  (void)reports::console(read, {});
  (void)reports::csv(read);
  (void)reports::html(read);
}

[[maybe_unused]] void calibration(std::string_view text) {
  const Calibration read = storage::calibration_from_json(text, "input");
  require(storage::calibration_from_json(storage::to_json(read), "again") == read);
  (void)reports::console(read, {});
}

[[maybe_unused]] void baseline(std::string_view text) {
  const storage::BaselineEntry read = storage::baseline_from_json(text, "input");
  require(storage::baseline_from_json(storage::to_json(read), "again") == read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    READER(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const gpubench::storage::ReadError&) {
    // refused, with a sentence
  }
  return 0;
}

#ifndef GPUBENCH_LIBFUZZER
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

namespace {

/// One of the changes that break files: a byte, a cut, a doubled piece, or a number that is out of all range.
std::string changed(std::string text, std::mt19937& random) {
  const auto at = [&] { return std::uniform_int_distribution<std::size_t>(0, text.size() - 1)(random); };
  static constexpr const char* odd[] = {"-1",   "1e308", "-1e308", "99999999999999999999",
                                        "null", "[]",    "{}",     "\"\\u0000\""};
  switch (random() % 4) {
    case 0: text[at()] = static_cast<char>(random() % 256); break;
    case 1: text.resize(at()); break;
    case 2: text.insert(at(), text.substr(at(), random() % 64)); break;
    default: {
      const std::size_t number = text.find_first_of("0123456789", at());
      if (number == std::string::npos) break;
      const std::size_t end = text.find_first_not_of("0123456789.e+-", number);
      text.replace(number, (end == std::string::npos ? text.size() : end) - number, odd[random() % std::size(odd)]);
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;  // CORPUS CHANGES
  std::mt19937 random(1);
  std::size_t tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (int i = 0; i < std::atoi(argv[2]) && !text.empty(); ++i, ++tried) {
      const std::string input = i == 0 ? text : changed(text, random);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    }
  }
  std::cout << tried << " inputs\n";
  return tried > 0 ? 0 : 1;
}
#endif
