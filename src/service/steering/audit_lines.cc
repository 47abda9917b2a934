#include "service/steering/audit_lines.h"

namespace fairlead::service {

std::optional<std::string> AuditLines::ToRecord() const {
  if (lines_.empty() || !write_) return std::nullopt;
  return report::Json(lines_).dump(-1, ' ', false, report::Json::error_handler_t::replace);
}

bool AuditLines::Restore(const std::string& record) {
  const report::Json parsed = report::Json::parse(record, nullptr, false);
  if (!parsed.is_array()) return false;
  lines_.assign(parsed.begin(), parsed.end());
  return true;
}

Status AuditLines::Write() {
  for (; num_written_ < lines_.size(); ++num_written_) {
    const report::Json& line = lines_[num_written_];
    if (write_) FL_RETURN_IF_ERROR(write_(line));
    shown_.push_back(line);
    if (shown_.size() > num_shown_) shown_.pop_front();
  }
  return OkStatus();
}

void AuditLines::EndBatch() {
  lines_.clear();
  num_written_ = 0;
}

}  // namespace fairlead::service
