// SPDX-License-Identifier: Apache-2.0
// Feeds functions any bytes: with clang and GPUBENCH_FUZZ by libFuzzer, one program for each, else by a main that tries
// each file of a corpus and some hundred changes of it.
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
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace {

struct Target {
  std::string_view name;
  void (*takes)(std::string_view);
};
/// Of one source, which defines it.
std::span<const Target> targets();

/// The function, which may refuse its input by this error, with a sentence.
template <auto function, class Refusal>
void refusing(std::string_view text) {
  try {
    function(text);
  } catch (const Refusal&) {
  }
}

const Target* target_named(std::string_view name) {
  for (const Target& each : targets())
    if (each.name == name) return &each;
  return nullptr;
}

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

#ifdef GPUBENCH_FUZZED
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target_named(GPUBENCH_FUZZED)->takes(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
#else
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
  const Target* const target = argc == 4 ? target_named(argv[1]) : nullptr;  // NAME CORPUS CHANGES
  if (target == nullptr) return 64;
  std::mt19937 random(1);
  std::size_t tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (int i = 0; i < std::atoi(argv[3]) && !text.empty(); ++i, ++tried) {
      target->takes(i == 0 ? text : changed(text, random));
    }
  }
  std::cout << tried << " inputs\n";
  return tried > 0 ? 0 : 1;
}
#endif
