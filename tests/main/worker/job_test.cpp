// SPDX-License-Identifier: Apache-2.0
#include "main/worker/job.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/base/files.h"
#include "core/storage/storage.h"
#include "tests/matchers.h"

namespace gpubench {
namespace {

Job a_job() {
  Job job;
  job.device = "cuda:1";
  job.planned = 9;
  job.points = {1, 7};
  job.added = {{"sort<float, 4>", {{"n", 8}, {"", -1}, {"dtype", 0, "bf16"}}}};
  return job;
}

TEST(Job, ComesBackAsItWas) {
  const Job job = a_job();
  const Job back = job_from_json(job_to_json(job));
  EXPECT_EQ(back.task, Job::Task::measure);
  EXPECT_EQ(back.device, job.device);
  EXPECT_EQ(back.planned, job.planned);
  EXPECT_EQ(back.points, job.points);
  EXPECT_EQ(back.added, job.added);
}

TEST(Job, EveryTaskComesBack) {
  Job job = a_job();
  job.calibration = "{\n}";
  for (const auto task : {Job::Task::measure, Job::Task::calibrate, Job::Task::check_drift}) {
    job.task = task;
    EXPECT_EQ(job_from_json(job_to_json(job)).task, task);
  }
  EXPECT_EQ(job_from_json(job_to_json(job)).calibration, job.calibration);
  std::string text = job_to_json(job);
  text.replace(text.find("check_drift"), 11, "make_coffee");
  EXPECT_THROW((void)job_from_json(text), storage::ReadError);
}

TEST(Job, DamageIsAnErrorThatNamesTheVariable) {
  for (const char* text : {"", "{}", "[1]", "{\"task\": \"measure\", \"planned\": \"x\"}"})
    EXPECT_THAT(message_of<storage::ReadError>([&] { (void)job_from_json(text); }), HasSubstr(job_variable)) << text;
}

TEST(Job, IsTakenOnce) {
  EXPECT_FALSE(take_job().has_value());
  Descriptor file = memory_file();
  (void)write_all(file, job_to_json(a_job()));
  setenv(job_variable, ("5:" + std::to_string(dup(file.number()))).c_str(), 1);
  const auto taken = take_job();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->channel, 5);
  EXPECT_EQ(taken->job.device, "cuda:1");
  EXPECT_FALSE(take_job().has_value()) << "processes that an operation starts must not have it";
  for (const char* value : {"", "5", "x:6", "-1:6", "5:/nowhere/job.json", "5:1000000"}) {
    setenv(job_variable, value, 1);
    EXPECT_THAT(message_of<storage::ReadError>([&] { (void)take_job(); }),
                AllOf(HasSubstr(job_variable), HasSubstr("unset it")))
        << value;
  }
}

TEST(Job, FiltersAreSafeForAnyName) {
  EXPECT_EQ(filter_for({"copy/n:1", "copy/n:2"}), "^copy.n.");
  EXPECT_EQ(filter_for({"sort<float, 4>/1"}), "^sort.float..4..1");
  EXPECT_EQ(filter_for({"a/b[(*\n/1"}), "^a.b...");
  EXPECT_EQ(filter_for({"1", "\xff/1"}), "^");
}

}  // namespace
}  // namespace gpubench
