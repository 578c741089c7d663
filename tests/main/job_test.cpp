// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/storage/storage.h"
#include "main/worker/isolation.h"

namespace gpubench {
namespace {

using testing::HasSubstr;

Job a_job() {
  Job job;
  job.parent = 4711;
  job.device = "cuda:1";
  job.operation = "sort<float, 4>";
  job.result = "/tmp/a folder/result.json";
  job.points = {{"cuda:1", "sort<float, 4>/n:7/manual_time", 2, 0}, {"cuda:1", "x\"y\\", 0, 1}};
  job.added = {{job.operation, {{"n", 8}, {"", -1}, {"dtype", 0, "bf16"}}}};
  return job;
}

TEST(Job, ComesBackAsItWas) {
  const Job job = a_job();
  const Job back = job_from_json(job_to_json(job), "test");
  EXPECT_EQ(back.task, Job::Task::measure);
  EXPECT_EQ(back.parent, job.parent);
  EXPECT_EQ(back.device, job.device);
  EXPECT_EQ(back.operation, job.operation);
  EXPECT_EQ(back.result, job.result);
  EXPECT_EQ(back.points, job.points);
  EXPECT_EQ(back.added, job.added);
}

TEST(Job, EveryTaskComesBack) {
  Job job = a_job();
  job.input = "/tmp/a folder/calibration.json";
  for (const auto task : {Job::Task::measure, Job::Task::calibrate, Job::Task::check_drift}) {
    job.task = task;
    EXPECT_EQ(job_from_json(job_to_json(job), "test").task, task);
  }
  EXPECT_EQ(job_from_json(job_to_json(job), "test").input, job.input);
  std::string text = job_to_json(job);
  text.replace(text.find("check_drift"), 11, "make_coffee");
  EXPECT_THROW((void)job_from_json(text, "test"), storage::ReadError);
}

TEST(Job, DamageIsAnErrorThatNamesTheVariable) {
  for (const char* text : {"", "{}", "[1]", "{\"task\": \"measure\", \"parent\": \"x\"}"}) try {
      (void)job_from_json(text, "job.json");
      ADD_FAILURE() << text;
    } catch (const storage::ReadError& error) {
      EXPECT_THAT(error.what(), HasSubstr("job.json"));
      EXPECT_THAT(error.what(), HasSubstr(job_variable));
    }
}

TEST(Job, IsTakenOnce) {
  EXPECT_FALSE(take_job().has_value());
  const std::string file = testing::TempDir() + "gpubench-job.json";
  std::ofstream(file) << job_to_json(a_job());
  setenv(job_variable, ("5:" + file).c_str(), 1);
  const auto taken = take_job();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->channel, 5);
  EXPECT_EQ(taken->job.device, "cuda:1");
  EXPECT_FALSE(take_job().has_value()) << "processes that an operation starts must not have it";
  for (const char* value : {"", "5", "x:/tmp/a", "-1:/tmp/a", "5:/nowhere/job.json"}) {
    setenv(job_variable, value, 1);
    try {
      (void)take_job();
      ADD_FAILURE() << value;
    } catch (const storage::ReadError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(job_variable), HasSubstr("unset it"))) << value;
    }
  }
}

TEST(Job, FiltersAreSafeForAnyName) {
  EXPECT_EQ(filter_for("copy"), "^copy/");
  EXPECT_EQ(filter_for("sort<float, 4>"), "^sort.float..4./");
  EXPECT_EQ(filter_for("a/b[(*"), "^a.b.../");
}

}  // namespace
}  // namespace gpubench
