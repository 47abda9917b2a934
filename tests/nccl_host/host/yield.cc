// How do the proxies of many ranks share a few cores?
//
// NCCL's proxies look for work without a pause, and yield where they find none: they are meant to have cores of their
// own. Here a yield gives up the core for a moment, or else four waiting ranks would keep four cores busy.
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

extern "C" int sched_yield() noexcept {
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 100'000};
  constexpr unsigned long kSlackNs = 5'000;  // the kernel's own is 50 us
  thread_local const bool has_slack = prctl(PR_SET_TIMERSLACK, kSlackNs) == 0;
  static_cast<void>(has_slack);
  nanosleep(&kMoment, nullptr);
  return 0;
}
