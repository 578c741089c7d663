// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "tests/matchers.h"

namespace gpubench {
namespace {

ProgramResult shell(const std::string& script, const ProgramOptions& options = {}) {
  return run_program({"sh", "-c", script}, options);
}

TEST(ProcessEnd, InWords) {
  EXPECT_EQ(words_of({std::nullopt, SIGSEGV, false}), "was ended by SIGSEGV");
  EXPECT_THAT(words_of({std::nullopt, SIGKILL, false}), HasSubstr("memory"));
  EXPECT_EQ(words_of({3, std::nullopt, false}), "ended with exit code 3");
  EXPECT_THAT(words_of({std::nullopt, std::nullopt, true}), HasSubstr("left behind"));
}

TEST(RunProgram, TakesInputAndGivesOutputErrorsAndExitCode) {
  ProgramOptions options;
  options.input = "one\ntwo\n";
  const auto result = shell("cat; echo wrong >&2; exit 3", options);
  EXPECT_EQ(result.output, "one\ntwo\n");
  EXPECT_EQ(result.errors, "wrong\n");
  EXPECT_EQ(result.end.exit_code, 3);
  EXPECT_FALSE(result.end.well());
  EXPECT_FALSE(result.timed_out);
}

TEST(RunProgram, WithoutInputStandardInputIsEmpty) {
  EXPECT_EQ(shell("cat | wc -c").output.find_first_of("123456789"), std::string::npos);
}

TEST(RunProgram, OutputCanBeThrownAway) {
  ProgramOptions options;
  options.keep_output = false;
  EXPECT_EQ(shell("echo text", options).output, "");
}

TEST(RunProgram, ReportsTheSignal) { EXPECT_EQ(shell("kill -ABRT $$").end.signal, SIGABRT); }

TEST(RunProgram, EndsTheGroupAtTheLimit) {
  const PrivateFolder folder;
  const auto file = folder.path() / "late";
  ProgramOptions options;
  options.max_seconds = 0.05;
  const auto result = shell("(sleep 2; touch " + file.string() + ") & wait", options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.end.signal, SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(RunProgram, EndsWhenItIsToldTo) {
  ProgramOptions options;
  options.stop = [] { return true; };
  EXPECT_TRUE(shell("sleep 100", options).stopped);
}

TEST(RunProgram, AMissingProgramIsAnError) {
  try {
    run_program({"/no/such/program"});
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_THAT(error.what(), HasSubstr("/no/such/program cannot be started"));
  }
}

}  // namespace
}  // namespace gpubench
