// SPDX-License-Identifier: Apache-2.0
// The store of baselines: what is added is found again, and nothing that goes wrong harms what is there.
#include "core/storage/baselines.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/storage/storage.h"
#include "tests/core/storage/random_run.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"

namespace gpubench::storage {
namespace {

class Baselines : public InFolder {
 protected:
  static BaselineEntry entry(const std::string& label, const std::string& device = "GPU-1") {
    BaselineEntry result;
    result.label = label;
    result.added_utc = "2026-11-21T12:00:00Z";
    if (!label.empty()) result.clock = TimingMode::device;  // which older entries do not have
    result.fingerprint = {{"cuda:0", device}, {"build", "optimised"}};
    result.runs = {slim(random_run(3)), slim(random_run(4))};
    return result;
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> result;
    for (const auto& place : std::filesystem::recursive_directory_iterator(folder_))
      if (place.is_regular_file()) result.insert(place.path().filename().string());
    return result;
  }

  BaselineStore store_{folder_};
};

TEST_F(Baselines, WhatIsAddedIsFoundInOrder) {
  EXPECT_TRUE(store_.newest_of_each().empty());
  for (const char* label : {"one", "two", "three"}) {
    BaselineEntry added = entry(label);
    store_.add(added);
  }
  BaselineEntry other = entry("elsewhere", "GPU-2");
  store_.add(other);
  const auto found = store_.entries(other.fingerprint, 10);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], other);
  const auto all = store_.entries(entry("").fingerprint, 10);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].label, "one");
  EXPECT_EQ(all[2].number, 3);
  EXPECT_EQ(all[2].runs, entry("three").runs);
  EXPECT_EQ(store_.entries(entry("").fingerprint, 2).front().label, "two");
  EXPECT_EQ(store_.newest_of_each().size(), 2U);
}

TEST_F(Baselines, TwoWritersAtOnceLoseNothing) {
  constexpr int writers = 4, each = 10;
  for (int i = 0; i < writers; ++i)
    if (::fork() == 0) {
      for (int j = 0; j < each; ++j) {
        BaselineEntry added = entry(std::to_string(i) + "-" + std::to_string(j));
        BaselineStore(folder_).add(added);
      }
      ::_exit(0);
    }
  for (int i = 0; i < writers; ++i) {
    int status = 0;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> labels;
  for (const auto& found : store_.entries(entry("").fingerprint, 1000)) labels.insert(found.label);
  EXPECT_EQ(labels.size(), static_cast<std::size_t>(writers * each));
}

TEST_F(Baselines, AFullDiskLeavesTheStoreAsItWas) {
  BaselineEntry first = entry("first");
  store_.add(first);
  const auto before = names();
  const pid_t child = ::fork();
  if (child == 0) {  // a limit on the size of files stands for a disk that takes some bytes and then no more
    (void)std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    BaselineEntry second = entry("second");
    for (int i = 0; i < 200; ++i) second.runs.push_back(second.runs.front());
    try {
      BaselineStore(folder_).add(second);
    } catch (const WriteError&) {
      ::_exit(7);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(names(), before);
  const auto found = store_.entries(first.fingerprint, 10);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], first);
}

TEST_F(Baselines, DamagedEntriesAreRefusedByName) {
  BaselineEntry first = entry("first");
  const auto file = store_.add(first);
  const std::string text = read_text(file);
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    std::string damaged = text;
    if (i % 2 == 0) damaged.resize(random() % damaged.size());
    if (i % 2 == 1) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    std::ofstream(file, std::ios::binary) << damaged;
    try {
      (void)store_.entries(first.fingerprint, 10);
    } catch (const ReadError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("000001.json"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 400);
}

TEST_F(Baselines, ForeignAndNewerEntriesAreRefused) {
  BaselineEntry first = entry("first");
  const auto file = store_.add(first);
  const auto refusal = [&](const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
    return message_of<ReadError>([&] { (void)store_.entries(first.fingerprint, 10); });
  };
  const std::string text = read_text(file);
  EXPECT_NE(refusal("").find("is empty; give a file written by gpubench gate update"), std::string::npos);
  EXPECT_NE(refusal(to_json(random_run(1))).find("not a gpubench baseline"), std::string::npos);
  std::string newer = text;
  newer.replace(newer.find("\"version\":"), 11, "\"version\":9");
  EXPECT_NE(refusal(newer).find("newer gpubench"), std::string::npos);
  std::string moved = text;
  moved.replace(moved.find("GPU-1"), 5, "GPU-9");
  EXPECT_NE(refusal(moved).find("another machine"), std::string::npos);
  // What is no entry is none: notes, other people's files, a temporary file left by a power cut.
  std::ofstream(file, std::ios::binary) << text;
  for (const char* name : {"README.md", "12x.json", "-3.json", ".gpubench-00.tmp", "0.json"})
    std::ofstream(file.parent_path() / name) << "not an entry";
  EXPECT_EQ(store_.entries(first.fingerprint, 10).size(), 1U);
}

TEST_F(Baselines, TimesAreVisitedOneByOneUntilOneFails) {
  constexpr int count = 30;
  BaselineEntry added = entry("x");
  for (int i = 0; i < count; ++i) store_.add(added);
  std::vector<int> numbers;
  const auto visit = [&](const BaselineEntry& one) {
    numbers.push_back(one.number);
    EXPECT_EQ(one.runs.size(), 2U);
    if (one.number == 3) throw std::out_of_range("three");
  };
  const auto down_to = [](int last) {
    std::vector<int> result(static_cast<std::size_t>(count - last + 1));
    std::iota(result.rbegin(), result.rend(), last);
    return result;
  };
  store_.visit_times(added.fingerprint, 20, visit);
  EXPECT_EQ(numbers, down_to(11));
  numbers.clear();
  EXPECT_THROW(store_.visit_times(added.fingerprint, 100, visit), std::out_of_range);
  EXPECT_EQ(numbers, down_to(3));
  numbers.clear();
  for (const auto& place : std::filesystem::recursive_directory_iterator(folder_))
    if (place.path().filename() == "000010.json") std::ofstream(place.path(), std::ios::binary) << "{}";
  EXPECT_THROW(store_.visit_times(added.fingerprint, 100, visit), ReadError);
  EXPECT_LE(numbers.size(), 20U);
  EXPECT_EQ(numbers, down_to(count - static_cast<int>(numbers.size()) + 1));
}

TEST_F(Baselines, AFolderThatCannotBeWrittenIsSaid) {
  BaselineStore nowhere("/dev/null/store");
  BaselineEntry added = entry("x");
  EXPECT_THROW(nowhere.add(added), WriteError);
}

}  // namespace
}  // namespace gpubench::storage
