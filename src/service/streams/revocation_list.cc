#include "service/streams/revocation_list.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/file_reader.h"
#include "service/streams/openssl_handles.h"

namespace fairlead::service {
namespace {

OpensslBio Open(const std::string& text) {
  return OpensslBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string HexOf(const ASN1_INTEGER* serial) {
  const OpensslNumber number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* digits = number == nullptr ? nullptr : BN_bn2hex(number.get());
  std::string hex = digits == nullptr ? "" : digits;
  OPENSSL_free(digits);
  return hex;
}

}  // namespace

Result<std::string> SerialOf(const std::string& certificate) {
  const OpensslCertificate parsed(PEM_read_bio_X509(Open(certificate).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  std::string serial = parsed == nullptr ? "" : HexOf(X509_get0_serialNumber(parsed.get()));
  if (serial.empty()) return InvalidArgument("expected a certificate in PEM");
  return serial;
}

Result<RevocationList> RevocationList::Parse(const std::string& text, const std::string& authority) {
  const OpensslRevocations list(PEM_read_bio_X509_CRL(Open(text).get(), nullptr, nullptr, nullptr));
  const OpensslCertificate signer(PEM_read_bio_X509(Open(authority).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (list == nullptr) {
    return InvalidArgument("expected a list of revoked certificates in PEM, as fairlead cert revoke writes it");
  }
  if (signer == nullptr || X509_CRL_verify(list.get(), X509_get0_pubkey(signer.get())) != 1) {
    ERR_clear_error();
    return InvalidArgument("the list of revoked certificates is not signed by the cluster's authority");
  }
  RevocationList revocations;
  const STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list.get());
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    revocations.serials_.insert(HexOf(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i))));
  }
  return revocations;
}

Result<bool> RevocationFile::Refresh() {
  struct stat about = {};
  if (stat(path_.c_str(), &about) != 0) {
    return Unavailable(fmt::format("{}: can't be read: {}", path_, std::strerror(errno)));
  }
  const std::vector<int64_t> version = {static_cast<int64_t>(about.st_ino), about.st_size, about.st_mtim.tv_sec,
                                        about.st_mtim.tv_nsec};
  if (version == version_) return false;
  version_.clear();
  const Result<std::string> text = ReadWholeFile(path_);
  if (!text.ok()) return Unavailable(text.status().message());
  FL_ASSIGN_OR_RETURN(const std::string authority, ReadWholeFile(authority_));
  auto list = RevocationList::Parse(*text, authority);
  if (!list.ok()) return InvalidArgument(fmt::format("{}: {}", path_, list.status().message()));
  version_ = version;
  const bool is_other = list->serials() != list_.serials();
  list_ = *std::move(list);
  return is_other;
}

}  // namespace fairlead::service
