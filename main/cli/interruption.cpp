// SPDX-License-Identifier: Apache-2.0
#include "main/cli/interruption.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace gpubench {
namespace {

// A handler reaches nothing but what is global.
volatile std::sig_atomic_t noted_signal = 0;
const char* volatile words = nullptr;

extern "C" void note_signal(int number) {
  noted_signal = number;
  const char* const text = words;
  if (text != nullptr) {
    const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
    (void)written;  // nothing can be done about it here
  }
}

}  // namespace

Interruption::Interruption(const char* say) {
  noted_signal = 0;
  words = say;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // no SA_RESTART: waiting ends when a signal comes
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &previous_[i]);
    if (previous_[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &previous_[i], nullptr);
}

int Interruption::noted() { return noted_signal; }

void Interruption::end() {
  const int number = noted_signal;
  std::signal(number, SIG_DFL);
  std::raise(number);
  std::_Exit(128 + number);  // not reached but where the signal is blocked
}

}  // namespace gpubench
