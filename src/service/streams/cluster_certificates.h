// The keys of a cluster: its own authority, and a certificate for each host and the controller.
//
//     FOLDER/ca.pem  ca-key.pem              the authority; the key stays where it was made
//     FOLDER/NAME.pem  NAME-key.pem          what a host gets, together with ca.pem
//     FOLDER/ca.crl                          certificates that are not accepted any more; the controller gets it
//
// Elliptic curve P-256, SHA-256. All files have mode 0600; none is ever written over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fairlead::service {

struct CertificateFiles {
  std::string certificate;
  std::string key;
};

struct AuthorityOptions {
  std::string folder;  // made where it is missing, with mode 0700
  std::string name = "Fairlead cluster";
  uint32_t days = 3650;  // of validity, from yesterday on; 1 .. 36500
};
// Errors: kInvalidArgument: options out of range; kAlreadyExists: a file is there; kUnavailable: it can't be written.
Result<CertificateFiles> CreateAuthority(const AuthorityOptions& options);

struct HostCertificateOptions {
  std::string folder;                       // with the authority
  std::string host;                         // as the fabric names it: letters, digits, '.', '-' and '_'; 1 .. 64
  std::vector<std::string> addresses = {};  // IP addresses or names by which others reach it; for controllers
  uint32_t days = 825;
};
// Errors: those above; kNotFound: there is no authority; kInvalidArgument: its files are not a certificate and its key.
Result<CertificateFiles> CreateHostCertificate(const HostCertificateOptions& options);

// Puts the host's certificate on the list of those that are not accepted any more, FOLDER/ca.crl, and takes its files
// out of the way (NAME.pem.SERIAL), so that the host can get another one. Returns the path of the list. Errors:
// kNotFound: there is no authority, or no certificate of that host; the others as above.
Result<std::string> RevokeCertificate(const std::string& folder, const std::string& host);

}  // namespace fairlead::service
