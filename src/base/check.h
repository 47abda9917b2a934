// FL_CHECK: a broken invariant is our fault and ends the process with file, line and message, or the one piece of work
// that catches it (check_capture.h). Never for bad input.
#pragma once

#include <string_view>

namespace fairlead {

// Prints "file:line: check failed: expression: message" to stderr and aborts, or throws it to CatchFailedChecks().
[[noreturn]] void FailCheck(const char* file, int line, const char* expression, std::string_view message);

}  // namespace fairlead

// Always on. The second form adds a message (anything convertible to std::string_view).
#define FL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::fairlead::FailCheck(__FILE__, __LINE__, #condition, ""))
#define FL_CHECK_MSG(condition, message) \
  ((condition) ? static_cast<void>(0) : ::fairlead::FailCheck(__FILE__, __LINE__, #condition, message))

// For hot loops: on in Debug builds only.
#ifdef NDEBUG
#define FL_DCHECK(condition) static_cast<void>(0)
#else
#define FL_DCHECK(condition) FL_CHECK(condition)
#endif
