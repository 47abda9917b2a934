// The files that mutual TLS needs: the trusted authority, our certificate, and its key.
#pragma once

#include <string>

#include "base/status.h"

namespace fairlead::service {

struct TlsFiles {
  std::string ca;           // certificates (PEM) of the authority that both sides trust
  std::string certificate;  // ours
  std::string key;          // ours; readable for no other user
  // Certificates of others that are not accepted (revocation_list.h); empty: none.
  std::string revoked = {};

  bool is_set() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
};

// The same, read.
struct TlsTexts {
  std::string ca;
  std::string certificate;
  std::string key;
};

// Errors: kInvalidArgument  one of the three is not named; a file that can't be read or is empty; a key that others may
// read. Says which file, never what is in it.
Result<TlsTexts> LoadTlsFiles(const TlsFiles& files);

}  // namespace fairlead::service
