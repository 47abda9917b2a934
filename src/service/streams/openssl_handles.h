// OpenSSL's objects with owners that free them.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace fairlead::service {

template <auto kFree>
struct FreeOpenssl {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using OpensslKey = std::unique_ptr<EVP_PKEY, FreeOpenssl<EVP_PKEY_free>>;
using OpensslCertificate = std::unique_ptr<X509, FreeOpenssl<X509_free>>;
using OpensslBio = std::unique_ptr<BIO, FreeOpenssl<BIO_free_all>>;
using OpensslExtension = std::unique_ptr<X509_EXTENSION, FreeOpenssl<X509_EXTENSION_free>>;
using OpensslRevocations = std::unique_ptr<X509_CRL, FreeOpenssl<X509_CRL_free>>;
using OpensslNumber = std::unique_ptr<BIGNUM, FreeOpenssl<BN_free>>;

}  // namespace fairlead::service
