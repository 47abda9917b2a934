#include "service/streams/certificate_watch.h"

#include <fmt/format.h>

#include <array>

#include "service/streams/certificate_facts.h"

namespace fairlead::service {
namespace {

constexpr int64_t kLookEveryS = 60;
constexpr int64_t kDayS = 86'400;
constexpr std::array<int64_t, 4> kWarnDays = {0, 1, 7, 30};

Result<CertificateFacts> ReadFacts(const TlsFiles& files) {
  FL_ASSIGN_OR_RETURN(const TlsTexts texts, LoadTlsFiles(files));
  FL_ASSIGN_OR_RETURN(CertificateFacts facts, ReadCertificateFacts(texts));
  if (!facts.is_of_key)
    return InvalidArgument(fmt::format("TLS: {} is not the key of {}", files.key, files.certificate));
  if (!facts.is_of_authority) {
    return InvalidArgument(fmt::format("TLS: {} is not signed by {}", files.certificate, files.ca));
  }
  return facts;
}

}  // namespace

// A warning that has not been given yet.
std::optional<std::string> CertificateWatch::LookAtList() {
  if (files_.revoked.empty()) return std::nullopt;
  const std::string fault = revoked_.Refresh().status().message();
  if (fault == revoked_fault_) return std::nullopt;
  revoked_fault_ = fault;
  if (fault.empty()) return std::nullopt;
  return fault + "; the previous list of revoked certificates stays in use";
}

std::optional<std::string> CertificateWatch::Look(int64_t now_s) {
  if (!files_.is_set() || (next_look_s_.has_value() && now_s < *next_look_s_)) return std::nullopt;
  // The certificate's turn is at the next call then.
  if (auto warning = LookAtList()) return warning;
  next_look_s_ = now_s + kLookEveryS;
  const Result<CertificateFacts> facts = ReadFacts(files_);
  if (!facts.ok()) {
    if (facts.status().message() == fault_) return std::nullopt;
    fault_ = facts.status().message();
    return fault_ + "; the files read before stay in use";
  }
  fault_.clear();
  if (expires_s_ != facts->not_after_s) warned_days_.reset();
  expires_s_ = facts->not_after_s;
  const int64_t left_s = *expires_s_ - now_s;
  for (const int64_t days : kWarnDays) {
    if (left_s >= days * kDayS) continue;
    const bool is_said = warned_days_.has_value() && *warned_days_ <= days;
    if (is_said && (days > 0 || now_s - warned_at_s_ < kDayS)) return std::nullopt;
    warned_days_ = days;
    warned_at_s_ = now_s;
    const std::string when =
        left_s < 0 ? "has expired: no agent is let in any longer" : fmt::format("expires in {} h", left_s / 3600);
    return fmt::format(
        "the certificate {} (or its authority's) {}; make another one with fairlead cert and replace the files, "
        "which are reread",
        files_.certificate, when);
  }
  return std::nullopt;
}

}  // namespace fairlead::service
