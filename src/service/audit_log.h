// The audit log: what steering and operators had done and what became of it, one line of JSON each.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/status.h"
#include "controller/steering_dispatcher.h"
#include "report/json_value.h"

namespace fairlead::service {

// Lines are added at the end of the file, each with one write, so that a reader sees whole lines, and an existing log
// is continued.
class AuditLog {
 public:
  // Errors: kFailedPrecondition: the file can't be opened; says why.
  static Result<AuditLog> Open(const std::string& path);

  // Errors: kResourceExhausted: it could not be written; later lines are still tried.
  Status Write(const controller::AuditEntry& entry);
  Status Write(const report::Json& entry);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  AuditLog(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace fairlead::service
