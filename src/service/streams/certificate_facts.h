// Facts in the files of mutual TLS: names, validity, and whether they belong together.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "service/streams/tls_files.h"

namespace fairlead::service {

struct CertificateFacts {
  std::string name;              // the common name: the host it may represent
  int64_t not_before_s = 0;      // since 1970
  int64_t not_after_s = 0;       // the first of our certificate's and the authority's
  bool is_of_key = false;        // the private key is that of the certificate
  bool is_of_authority = false;  // the authority has signed it
};

// Errors: kInvalidArgument: text that is no certificate or no key; says which.
Result<CertificateFacts> ReadCertificateFacts(const TlsTexts& texts);

}  // namespace fairlead::service
