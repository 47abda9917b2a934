#include "base/check_capture.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace fairlead {

namespace {

thread_local int capture_depth = 0;

// Not derived from std::exception: a handler for those of libraries must not swallow it on its way.
struct CheckFailure {
  std::string message;
};

class CaptureScope {
 public:
  CaptureScope() { ++capture_depth; }
  ~CaptureScope() { --capture_depth; }
  CaptureScope(const CaptureScope&) = delete;
};

}  // namespace

void FailCheck(const char* file, int line, const char* expression, std::string_view message) {
  std::string text = std::string(file) + ":" + std::to_string(line) + ": check failed: " + expression;
  if (!message.empty()) text.append(": ").append(message);
  if (CatchesFailedChecks()) throw CheckFailure{std::move(text)};
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

Status CatchFailedChecks(const std::function<void()>& work) {
  const CaptureScope scope;
  try {
    work();
  } catch (const CheckFailure& failure) {
    return Internal(failure.message);
  } catch (const std::exception& e) {
    return Internal(std::string("unexpected error: ") + e.what());
  }
  return OkStatus();
}

bool CatchesFailedChecks() { return capture_depth > 0; }

void PassOnFailure(const Status& failure) {
  if (!CatchesFailedChecks())
    FailCheck(__FILE__, __LINE__, "a failure is passed on where it is caught", failure.message());
  throw CheckFailure{failure.message()};
}

}  // namespace fairlead
