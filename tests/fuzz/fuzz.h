// SPDX-License-Identifier: Apache-2.0
// Feeds a function any bytes. Built once for each READER, in one file; with clang and GPUBENCH_FUZZ by libFuzzer, else
// with a main that tries each file of a corpus and some hundred changes of it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// The function, and the error by which it may refuse its input, with a sentence.
#define FUZZ_TARGET(function, Refusal)                                                \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try {                                                                             \
      function(std::string_view(reinterpret_cast<const char*>(data), size));          \
    } catch (const Refusal&) { /* with a sentence */                                  \
    }                                                                                 \
    return 0;                                                                         \
  }

namespace {

[[maybe_unused]] void require(bool holds) {
  if (!holds) std::abort();
}

/// A file of these bytes, while it lives: SQLite opens files by their names, and others tell formats by their content.
struct File {
  explicit File(std::string_view text, std::string_view name)
      : folder(std::filesystem::temp_directory_path() / ("gpubench-fuzz-" + std::to_string(::getpid()))),
        path(folder / name) {
    std::filesystem::create_directories(folder);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  File& operator=(File&&) = delete;
  std::filesystem::path folder, path;
};

}  // namespace

#ifndef GPUBENCH_LIBFUZZER
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
