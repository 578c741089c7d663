// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/other_users.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/time.h"
#include "profile/injection/imports.h"

namespace gpubench::profile {
namespace {

constexpr std::int64_t quiet_ns = 1'000'000'000;

/// One in a process, as there is one CUPTI, and never destroyed: others may call until the very end.
struct Others {
  std::mutex mutex;
  std::shared_ptr<const bench::CuptiLibrary> library;
  GiveUp give_up;
  bool has_records = false;
  bool has_own_clock = false;
  bool for_good = false;               ///< it is not seen when they want no more
  std::set<CUpti_ActivityKind> kinds;  ///< that they have on
  std::int64_t last_ns = 0;            ///< when they last asked for anything
};
Others& others() {
  static auto* const all = new Others;
  return *all;
}

const bench::CuptiLibrary& called() {
  const std::lock_guard lock(others().mutex);
  others().last_ns = steady_nanoseconds();
  return *others().library;
}

/// The file that holds this code.
template <class Function>
std::string file_of(Function code) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(code), &info) == 0 || info.dli_fname == nullptr) return "another library";
  return std::filesystem::path(info.dli_fname).filename().string();
}

CUptiResult CUPTIAPI register_callbacks(CUpti_BuffersCallbackRequestFunc give, CUpti_BuffersCallbackCompleteFunc take) {
  const bench::CuptiLibrary& library = called();
  {
    const std::lock_guard lock(others().mutex);
    others().has_records = true;
  }
  if (others().give_up.records) others().give_up.records(file_of(take));
  return library.cuptiActivityRegisterCallbacks(give, take);
}

CUptiResult CUPTIAPI enable(CUpti_ActivityKind kind) {
  const CUptiResult result = called().cuptiActivityEnable(kind);
  const std::lock_guard lock(others().mutex);
  if (result == CUPTI_SUCCESS) others().kinds.insert(kind);
  return result;
}

CUptiResult CUPTIAPI disable(CUpti_ActivityKind kind) {
  const CUptiResult result = called().cuptiActivityDisable(kind);
  const std::lock_guard lock(others().mutex);
  others().kinds.erase(kind);
  return result;
}

CUptiResult CUPTIAPI flush(std::uint32_t flag) { return called().cuptiActivityFlushAll(flag); }

CUptiResult CUPTIAPI subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data) {
  const bench::CuptiLibrary& library = called();
  if (others().give_up.callbacks) others().give_up.callbacks(file_of(callback));
  return library.cuptiSubscribe(subscriber, callback, data);
}

/// cuptiSubscribe_v2 of CUPTI 13.3, whose subscribers have records of their own: unless a first one shares nothing, as
/// this one does. What it wants is not known from there on.
CUptiResult CUPTIAPI subscribe_anew(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data,
                                    void* parameters) {
  const bench::CuptiLibrary& library = called();
  static const auto real = [&] {
    void* const cupti = dlopen(library.path().c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<decltype(&subscribe_anew)>(cupti == nullptr ? nullptr : dlsym(cupti, "cuptiSubscribe_v2"));
  }();
  if (real == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  {
    const std::lock_guard lock(others().mutex);
    others().has_records = others().for_good = true;
  }
  if (others().give_up.records) others().give_up.records(file_of(callback));
  if (others().give_up.callbacks) others().give_up.callbacks(file_of(callback));
  return real(subscriber, callback, data, parameters);
}

CUptiResult CUPTIAPI set_clock(CUpti_TimestampCallbackFunc clock) {
  const bench::CuptiLibrary& library = called();
  {
    const std::lock_guard lock(others().mutex);
    others().has_records = others().has_own_clock = true;
  }
  if (others().give_up.records) others().give_up.records(file_of(clock));
  return library.cuptiActivityRegisterTimestampCallback(clock);
}

CUptiResult CUPTIAPI finalize() {
  const bench::CuptiLibrary& library = called();
  if (others().give_up.records) others().give_up.records("another library");
  if (others().give_up.callbacks) others().give_up.callbacks("another library");
  const CUptiResult result = library.cuptiFinalize();
  const std::lock_guard lock(others().mutex);
  others().kinds.clear();
  return result;
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void watch_new_objects() {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* count) {
        *static_cast<unsigned long long*>(count) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  static std::atomic<unsigned long long> watched = 0;
  if (watched.exchange(loaded) == loaded) return;
  static const auto imports = std::to_array<Import>({
      {"cuptiActivityRegisterCallbacks", address_of(register_callbacks)},
      {"cuptiActivityEnable", address_of(enable)},
      {"cuptiActivityDisable", address_of(disable)},
      {"cuptiActivityFlushAll", address_of(flush)},
      {"cuptiSubscribe", address_of(subscribe)},
      {"cuptiSubscribe_v2", address_of(subscribe_anew)},
      {"cuptiActivityRegisterTimestampCallback", address_of(set_clock)},
      {"cuptiFinalize", address_of(finalize)},
  });
  redirect_imports("libcupti.so", imports);
}

void watch_other_users(const std::shared_ptr<const bench::CuptiLibrary>& library, GiveUp give_up) {
  {
    const std::lock_guard lock(others().mutex);
    others().library = library;
    others().give_up = std::move(give_up);
  }
  watch_new_objects();
}

bool others_use_cupti() {
  const std::lock_guard lock(others().mutex);
  return others().last_ns != 0;
}

bool take_records_back() {
  std::unique_lock lock(others().mutex);
  if (!others().has_records) return true;
  if (others().for_good || !others().kinds.empty() || steady_nanoseconds() - others().last_ns < quiet_ns) return false;
  others().has_records = false;
  const bool has_own_clock = std::exchange(others().has_own_clock, false);
  const auto library = others().library;
  lock.unlock();
  (void)library->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);  // what is still theirs
  if (has_own_clock)
    (void)library->cuptiActivityRegisterTimestampCallback([] { return static_cast<std::uint64_t>(utc_nanoseconds()); });
  return true;
}

}  // namespace gpubench::profile
