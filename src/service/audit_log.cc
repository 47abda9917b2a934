#include "service/audit_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "service/action_json.h"

namespace fairlead::service {

Result<AuditLog> AuditLog::Open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("{}: the audit log can't be opened: {}", path, std::strerror(errno)));
  }
  return AuditLog(path, file);
}

Status AuditLog::Write(const controller::AuditEntry& entry) { return Write(ToJson(entry)); }

Status AuditLog::Write(const report::Json& entry) {
  const std::string line = entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const bool is_written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
  if (is_written && std::fflush(file_.get()) == 0) return OkStatus();
  return {StatusCode::kResourceExhausted,
          fmt::format("{}: the audit log can't be written: {}", path_, std::strerror(errno))};
}

}  // namespace fairlead::service
