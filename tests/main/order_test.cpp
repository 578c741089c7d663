// SPDX-License-Identifier: Apache-2.0
#include "main/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "main/child_process.h"
#include "storage/storage.h"

namespace gpubench {
namespace {

using testing::HasSubstr;

Order an_order() {
  Order order;
  order.parent = 4711;
  order.device = "cuda:1";
  order.operation = "sort<float, 4>";
  order.result = "/tmp/a folder/result.json";
  order.points = {{"cuda:1", "sort<float, 4>/n:7/manual_time", 2, 0}, {"cuda:1", "x\"y\\", 0, 1}};
  order.added = {{order.operation, {{"n", 8}, {"", -1}}}};
  return order;
}

TEST(Order, ComesBackAsItWas) {
  const Order order = an_order();
  const Order back = order_from_json(order_to_json(order), "test");
  EXPECT_EQ(back.task, Order::Task::measure);
  EXPECT_EQ(back.parent, order.parent);
  EXPECT_EQ(back.device, order.device);
  EXPECT_EQ(back.operation, order.operation);
  EXPECT_EQ(back.result, order.result);
  EXPECT_EQ(back.points, order.points);
  EXPECT_EQ(back.added, order.added);
}

TEST(Order, EveryTaskComesBack) {
  Order order = an_order();
  order.input = "/tmp/a folder/calibration.json";
  for (const auto task : {Order::Task::measure, Order::Task::calibrate, Order::Task::check_drift}) {
    order.task = task;
    EXPECT_EQ(order_from_json(order_to_json(order), "test").task, task);
  }
  EXPECT_EQ(order_from_json(order_to_json(order), "test").input, order.input);
  std::string text = order_to_json(order);
  text.replace(text.find("check_drift"), 11, "make_coffee");
  EXPECT_THROW((void)order_from_json(text, "test"), storage::ReadError);
}

TEST(Order, DamageIsAnErrorThatNamesTheVariable) {
  for (const char* text : {"", "{}", "[1]", "{\"task\": \"measure\", \"parent\": \"x\"}"}) try {
      (void)order_from_json(text, "order.json");
      ADD_FAILURE() << text;
    } catch (const storage::ReadError& error) {
      EXPECT_THAT(error.what(), HasSubstr("order.json"));
      EXPECT_THAT(error.what(), HasSubstr(order_variable));
    }
}

TEST(Order, IsTakenOnce) {
  EXPECT_FALSE(take_order().has_value());
  const std::string file = testing::TempDir() + "gpubench-order.json";
  std::ofstream(file) << order_to_json(an_order());
  setenv(order_variable, ("5:" + file).c_str(), 1);
  const auto taken = take_order();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->channel, 5);
  EXPECT_EQ(taken->order.device, "cuda:1");
  EXPECT_FALSE(take_order().has_value()) << "processes that an operation starts must not have it";
  for (const char* value : {"", "5", "x:/tmp/a", "-1:/tmp/a", "5:/nowhere/order.json"}) {
    setenv(order_variable, value, 1);
    EXPECT_THROW((void)take_order(), storage::ReadError) << value;
  }
}

TEST(Order, FiltersAreSafeForAnyName) {
  EXPECT_EQ(filter_for("copy"), "^copy/");
  EXPECT_EQ(filter_for("sort<float, 4>"), "^sort.float..4./");
  EXPECT_EQ(filter_for("a/b[(*"), "^a.b.../");
}

TEST(ProcessEnd, InWords) {
  EXPECT_EQ(words_of({std::nullopt, SIGSEGV, false}), "was ended by SIGSEGV");
  EXPECT_THAT(words_of({std::nullopt, SIGKILL, false}), HasSubstr("memory"));
  EXPECT_EQ(words_of({3, std::nullopt, false}), "ended itself with exit code 3");
  EXPECT_THAT(words_of({std::nullopt, std::nullopt, true}), HasSubstr("left behind"));
}

}  // namespace
}  // namespace gpubench
