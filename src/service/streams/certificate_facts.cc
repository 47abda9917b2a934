#include "service/streams/certificate_facts.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "service/streams/openssl_handles.h"

namespace fairlead::service {
namespace {

OpensslBio Open(const std::string& text) {
  return OpensslBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<OpensslCertificate> ParseCertificate(const std::string& text, const char* what) {
  OpensslCertificate certificate(PEM_read_bio_X509(Open(text).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) {
    return InvalidArgument(fmt::format("TLS: the {} is not a certificate in PEM; make one with fairlead cert", what));
  }
  return certificate;
}

Result<int64_t> SecondsOf(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return InvalidArgument("TLS: a certificate has a date that can't be read");
  return int64_t{timegm(&parts)};
}

}  // namespace

Result<CertificateFacts> ReadCertificateFacts(const TlsTexts& texts) {
  FL_ASSIGN_OR_RETURN(const OpensslCertificate authority, ParseCertificate(texts.ca, "authority's certificate"));
  FL_ASSIGN_OR_RETURN(const OpensslCertificate own, ParseCertificate(texts.certificate, "certificate"));
  // A key with a password would ask at the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const OpensslKey key(PEM_read_bio_PrivateKey(Open(texts.key).get(), nullptr, no_password, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    return InvalidArgument("TLS: the private key is not a key in PEM without a password; make one with fairlead cert");
  }
  CertificateFacts facts;
  std::array<char, 256> name{};
  if (X509_NAME_get_text_by_NID(X509_get_subject_name(own.get()), NID_commonName, name.data(), name.size()) > 0) {
    facts.name = name.data();
  }
  FL_ASSIGN_OR_RETURN(const int64_t own_from, SecondsOf(X509_get0_notBefore(own.get())));
  FL_ASSIGN_OR_RETURN(const int64_t own_until, SecondsOf(X509_get0_notAfter(own.get())));
  FL_ASSIGN_OR_RETURN(const int64_t authority_from, SecondsOf(X509_get0_notBefore(authority.get())));
  FL_ASSIGN_OR_RETURN(const int64_t authority_until, SecondsOf(X509_get0_notAfter(authority.get())));
  facts.not_before_s = std::max(own_from, authority_from);
  facts.not_after_s = std::min(own_until, authority_until);
  facts.is_of_key = X509_check_private_key(own.get(), key.get()) == 1;
  facts.is_of_authority = X509_verify(own.get(), X509_get0_pubkey(authority.get())) == 1;
  ERR_clear_error();
  return facts;
}

}  // namespace fairlead::service
