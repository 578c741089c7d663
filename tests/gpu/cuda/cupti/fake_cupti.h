// SPDX-License-Identifier: Apache-2.0
// Tests that load the library that plays CUPTI, and steer it by environment variables.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace gpubench::bench {

/// Environment variables for the length of a test.
class Environment {
 public:
  ~Environment() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }

 private:
  std::vector<std::string> names_;
};

class FakeCuptiTest : public testing::Test {
 protected:
  void SetUp() override {
    environment_.set("GPUBENCH_CUPTI", GPUBENCH_FAKE_CUPTI);
    handle_ = dlopen(GPUBENCH_FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    function<void()>("fake_cupti_forget")();
  }
  /// A function of the fake's own, by its name.
  template <class Signature>
  [[nodiscard]] Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(handle_, name));
  }
  /// A letter for each call, in the order they came.
  [[nodiscard]] std::string calls() const { return function<const char*()>("fake_cupti_calls")(); }

  Environment environment_;

 private:
  void* handle_ = nullptr;
};

}  // namespace gpubench::bench
