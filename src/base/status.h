// Status and Result<T>: how a function says that the input, the environment or a peer failed it.
//
// Broken invariants are FL_CHECK (check.h); legitimate negative answers are data. Messages say what failed, on what
// (file:line or id), what was expected, what was found and the next step.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace fairlead {

// The numbers are gRPC's; never renumber.
enum class StatusCode {
  kOk = 0,
  kCancelled = 1,           // the user or a caller asked to stop
  kInvalidArgument = 3,     // bad input: usage, file content
  kNotFound = 5,            // a named thing does not exist
  kAlreadyExists = 6,       // a name is taken
  kResourceExhausted = 8,   // a limit was reached: disk, memory, size of an input
  kFailedPrecondition = 9,  // the system is not in a state for this
  kOutOfRange = 11,         // past a valid range
  kUnimplemented = 12,      // known, but not supported
  kInternal = 13,           // our fault, but reported instead of aborting
  kUnavailable = 14,        // a peer or device is away; trying again may help
  kDataLoss = 15,           // what was stored is damaged
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
inline Status InvalidArgument(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
inline Status NotFound(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
inline Status Unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }
inline Status Internal(std::string message) { return {StatusCode::kInternal, std::move(message)}; }

// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                    // NOLINT(runtime/explicit)
  Result(Status status) : status_(std::move(status)) { FL_CHECK(!status_.ok()); }  // NOLINT(runtime/explicit)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    FL_CHECK_MSG(ok(), status_.message());
    return *value_;
  }
  const T& value() const& {
    FL_CHECK_MSG(ok(), status_.message());
    return *value_;
  }
  T&& value() && {
    FL_CHECK_MSG(ok(), status_.message());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace fairlead

// Returns from the calling function when `expression` (a Status) is not ok.
#define FL_RETURN_IF_ERROR(expression)                                    \
  do {                                                                    \
    if (::fairlead::Status fl_status_ = (expression); !fl_status_.ok()) { \
      return fl_status_;                                                  \
    }                                                                     \
  } while (false)

// FL_ASSIGN_OR_RETURN(auto x, F()): declares x from a Result, or returns its Status.
#define FL_ASSIGN_OR_RETURN(declaration, expression) \
  FL_ASSIGN_OR_RETURN_IMPL_(FL_CONCAT_(fl_result_, __LINE__), declaration, expression)
#define FL_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return result.status();                        \
  declaration = std::move(result).value()
#define FL_CONCAT_(a, b) FL_CONCAT_INNER_(a, b)
#define FL_CONCAT_INNER_(a, b) a##b
