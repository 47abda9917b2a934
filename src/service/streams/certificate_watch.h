// When does our certificate expire? Asked again and again, as its file is replaced while we run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "service/streams/tls_files.h"

namespace fairlead::service {

class CertificateWatch {
 public:
  explicit CertificateWatch(TlsFiles files) : files_(std::move(files)) {}

  // To be called as often as one likes; the files are read once a minute. Args: now since 1970. Returns a warning that
  // is due: less than 30, 7 or 1 days are left, or it has expired, each once for a certificate, and the last once a
  // day; the files can't be used.
  std::optional<std::string> Look(int64_t now_s);
  // First of our certificate's and the authority's; nothing: no files, or not readable.
  std::optional<int64_t> expires_s() const { return expires_s_; }

 private:
  TlsFiles files_;
  std::optional<int64_t> next_look_s_;
  std::optional<int64_t> expires_s_;
  std::optional<int64_t> warned_days_;  // of this certificate, the least
  int64_t warned_at_s_ = 0;
  std::string fault_;
};

}  // namespace fairlead::service
