// One piece of work whose broken invariant does not end the process, so that the results of the others are kept.
//
// A check that fails inside ends this piece of work with an exception that never leaves check_capture.cc: the one place
// where our code throws, since nothing else leaves, from any depth, a computation whose state can no longer be trusted
// (docs/decisions/0010-one-failed-run.md). What the piece has changed is to be thrown away.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace fairlead {

// Does `work`. A failed check, and an exception of a library, becomes kInternal with its message; outside of such calls
// a failed check still ends the process. A check that fails in a destructor, in a noexcept function, or on a thread
// that `work` has made without ParallelFor() still does. May be nested: the innermost call catches.
// Thread: counts for checks on this thread.
Status CatchFailedChecks(const std::function<void()>& work);

// Whether a check that fails on this thread is caught.
bool CatchesFailedChecks();

// Ends what CatchFailedChecks() does on this thread with a failure that another thread has caught for it.
[[noreturn]] void PassOnFailure(const Status& failure);

}  // namespace fairlead
