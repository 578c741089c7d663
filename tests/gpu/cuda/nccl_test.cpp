// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/nccl.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

/// What the fake was asked for since this began.
class Log {
 public:
  explicit Log(const char* library = GPUBENCH_FAKE_NCCL)
      : text_(reinterpret_cast<const char* (*)()>(dlsym(dlopen(library, RTLD_NOW), "fake_nccl_log"))),
        begin_(std::string(text_()).size()) {}
  [[nodiscard]] std::string since() const { return std::string(text_()).substr(begin_); }

 private:
  const char* (*text_)();
  std::size_t begin_;
};

TEST(Nccl, ALibraryThatIsNotThereOrTooOldIsOneSentence) {
  EXPECT_THAT(Nccl("/nowhere/libnccl.so.2").reason(), HasSubstr("NCCL cannot be loaded: /nowhere/libnccl.so.2"));
  const Nccl old(GPUBENCH_OLD_NCCL_FILE);
  EXPECT_EQ(old.reason(), "NCCL 2.6.4 is too old; gpubench needs 2.7 or newer");
  EXPECT_EQ(old.version(), "");
  EXPECT_THROW((void)old.new_id(), GpuError);
  EXPECT_THROW(NcclCommunicator(old, std::string(128, 'x'), 0, 1), GpuError);
  EXPECT_THAT(Nccl("libc.so.6").reason(), HasSubstr("is not a NCCL that gpubench knows"));
}

TEST(Nccl, CountsAndTypesAreThoseOfTheWholeMessage) {
  const Nccl nccl(GPUBENCH_FAKE_NCCL);
  ASSERT_EQ(nccl.reason(), "");
  EXPECT_EQ(nccl.version(), "2.28.9");
  const std::string id = nccl.new_id();
  ASSERT_EQ(id.size(), 128U);
  Log log;
  {
    const NcclCommunicator of_four(nccl, id, 3, 4);
    std::vector<float> send(16), receive(16);
    std::iota(send.begin(), send.end(), 0.0F);
    for (const Collective one : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                 Collective::all_to_all, Collective::send_receive})
      of_four.enqueue(one, send.data(), receive.data(), 64, nullptr);
    EXPECT_EQ(receive, send);
    of_four.check();
    std::vector<double> times = {1.0, 2.0};
    of_four.agree(NcclCommunicator::Agreement::max, times.data(), 2, nullptr);
  }
  EXPECT_EQ(
      log.since(),
      "init 4 3 120\n"
      "all-reduce 16 7 0\nall-gather 4 7 0\nreduce-scatter 4 7 0\n"
      "group 0 0 0\n"
      "send 4 7 0\nreceive 4 7 0\nsend 4 7 1\nreceive 4 7 1\nsend 4 7 2\nreceive 4 7 2\nsend 4 7 3\nreceive 4 7 3\n"
      "end 0 0 0\n"
      "group 0 0 0\nsend 16 7 0\nreceive 16 7 2\nend 0 0 0\n"
      "all-reduce 2 8 2\ndestroy 0 0 0\n");
}

TEST(Nccl, AllToAllIsTheLibrarysOwnWhereItHasOne) {
  const Nccl nccl(GPUBENCH_NEW_NCCL_FILE);
  const NcclCommunicator of_four(nccl, nccl.new_id(), 3, 4);
  const Log log(GPUBENCH_NEW_NCCL_FILE);
  const std::vector<float> send = {1.0F, 2.0F, 3.0F, 4.0F};
  std::vector<float> receive(4);
  of_four.enqueue(Collective::all_to_all, send.data(), receive.data(), 16, nullptr);
  EXPECT_EQ(log.since(), "all-to-all 1 7 0\n");
}

TEST(Nccl, MemoryIsTheLibrarysOwnWhereItHasSome) {
  const Nccl nccl(GPUBENCH_NEW_NCCL_FILE);
  const Log log(GPUBENCH_NEW_NCCL_FILE);
  {
    const auto memory = nccl.allocate(64);
    EXPECT_NE(memory, nullptr);
    const auto second_owner = memory;
  }
  EXPECT_EQ(log.since(), "allocate 64 0 0\nfree 0 0 0\n");
  EXPECT_THROW((void)nccl.allocate(1000), GpuError);  // the fake has less
  EXPECT_THROW((void)Nccl(GPUBENCH_OLD_NCCL_FILE).allocate(64), GpuError);
}

TEST(Nccl, FailuresSayWhatNcclSays) {
  const Nccl nccl(GPUBENCH_FAKE_NCCL);
  EXPECT_EQ(message_of<GpuError>([&] { const NcclCommunicator wrong(nccl, nccl.new_id(), 2, 2); }),
            "NCCL 2.28.9: ncclCommInitRank failed: unhandled system error; socket closed");
  EXPECT_THROW(NcclCommunicator(nccl, "short", 0, 1), GpuError);
  const NcclCommunicator alone(nccl, nccl.new_id(), 0, 1);
  float number = 1.0F, other = 0.0F;
  alone.enqueue(Collective::broadcast, &number, &other, 4, nullptr);
  EXPECT_THROW(alone.check(), GpuError);  // the fake loses its peers then
}

}  // namespace
}  // namespace gpubench::bench
