// When does our certificate expire, and can the list of revoked ones be used? Asked again and again, as files are
// replaced while we run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "service/streams/revocation_list.h"
#include "service/streams/tls_files.h"

namespace fairlead::service {

class CertificateWatch {
 public:
  explicit CertificateWatch(TlsFiles files) : files_(std::move(files)), revoked_(files_.revoked, files_.ca) {}

  // To be called as often as one likes; the files are read once a minute. Args: now since 1970. Returns a warning that
  // is due: less than 30, 7 or 1 days are left, or it has expired, each once for a certificate, and the last once a
  // day; the files can't be used; nor can the list of revoked certificates.
  std::optional<std::string> Look(int64_t now_s);
  // First of our certificate's and the authority's; nothing: no files, or not readable.
  std::optional<int64_t> expires_s() const { return expires_s_; }

 private:
  std::optional<std::string> LookAtList();

  TlsFiles files_;
  RevocationFile revoked_;
  std::string revoked_fault_;
  std::optional<int64_t> next_look_s_;
  std::optional<int64_t> expires_s_;
  std::optional<int64_t> warned_days_;  // of this certificate, the least
  int64_t warned_at_s_ = 0;
  std::string fault_;
};

}  // namespace fairlead::service
