#include "service/streams/cluster_certificates.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/descriptor.h"
#include "base/file_reader.h"
#include "base/file_writer.h"
#include "base/ip_address.h"
#include "service/streams/openssl_handles.h"
#include "service/streams/revocation_list.h"

namespace fairlead::service {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kDaysMax = 36'500;
constexpr size_t kNameBytesMax = 64;  // of a certificate's common name

Status OpensslFailed(const char* what) { return Internal(fmt::format("OpenSSL could not {}", what)); }

Status CheckDays(uint32_t days) {
  if (days >= 1 && days <= kDaysMax) return OkStatus();
  return InvalidArgument(fmt::format("days of validity: expected 1 to {}, found {}", kDaysMax, days));
}

Status CheckHostName(const std::string& host) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  const bool is_name = !host.empty() && host.size() <= kNameBytesMax && std::all_of(host.begin(), host.end(), is_good);
  if (is_name && host.front() != '.' && host.front() != '-' && host != "ca") return OkStatus();
  return InvalidArgument(fmt::format(
      "host '{}': expected 1 to {} letters, digits, '.', '-' or '_', beginning with a letter or digit, and not 'ca'",
      host, kNameBytesMax));
}

// Names of the host for others: first the name that it may represent.
Result<std::string> AlternativeNames(const HostCertificateOptions& options) {
  std::string names = "DNS:" + options.host;
  for (const std::string& address : options.addresses) {
    if (ParseIpAddress(address).ok()) {
      names += ",IP:" + address;
    } else {
      FL_RETURN_IF_ERROR(CheckHostName(address));
      names += ",DNS:" + address;
    }
  }
  return names;
}

Status AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OpensslExtension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return OpensslFailed("add an extension to a certificate");
  }
  return OkStatus();
}

// A certificate without extensions and signature: a serial number of 128 random bits, valid from a day ago, so that
// hosts with slow clocks accept it.
Result<OpensslCertificate> Draft(EVP_PKEY* key, const std::string& name, uint32_t days) {
  OpensslCertificate certificate(X509_new());
  const OpensslNumber number(BN_new());
  constexpr long kDay = 86'400;
  const auto* text = reinterpret_cast<const unsigned char*>(name.data());
  const bool is_made =
      certificate != nullptr && number != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get())) != nullptr &&
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDay * static_cast<long>(days)) != nullptr &&
      X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8, text,
                                 static_cast<int>(name.size()), -1, 0) == 1 &&
      X509_set_pubkey(certificate.get(), key) == 1;
  if (!is_made) return OpensslFailed("make a certificate");
  return certificate;
}

Status Sign(X509* certificate, X509* issuer, EVP_PKEY* issuer_key) {
  if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1) return OpensslFailed("name the issuer");
  FL_RETURN_IF_ERROR(AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid:always"));
  if (X509_sign(certificate, issuer_key, EVP_sha256()) == 0) return OpensslFailed("sign a certificate");
  return OkStatus();
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

// A new file that only its owner may read. Errors: kAlreadyExists, kUnavailable.
Status WriteNew(const std::string& path, const std::string& text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open() && errno == EEXIST) {
    return {StatusCode::kAlreadyExists, fmt::format("{} already exists and is not overwritten", path)};
  }
  const bool is_written = file.is_open() &&
                          write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                          fsync(file.get()) == 0;
  if (is_written) return OkStatus();
  return Unavailable(fmt::format("{} can't be written: {}", path, std::strerror(errno)));
}

Result<CertificateFiles> WriteBoth(const std::string& base, X509* certificate, EVP_PKEY* key) {
  const OpensslBio certificate_text(BIO_new(BIO_s_mem()));
  const OpensslBio key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpensslFailed("write a certificate");
  }
  const CertificateFiles files = {.certificate = base + ".pem", .key = base + "-key.pem"};
  std::error_code error;
  if (fs::exists(files.certificate, error)) {
    return Status(StatusCode::kAlreadyExists,
                  fmt::format("{} already exists and is not overwritten", files.certificate));
  }
  FL_RETURN_IF_ERROR(WriteNew(files.key, TextOf(key_text.get())));
  FL_RETURN_IF_ERROR(WriteNew(files.certificate, TextOf(certificate_text.get())));
  return files;
}

Result<std::string> ReadFileOfAuthority(const std::string& path) {
  Result<std::string> text = ReadWholeFile(path);
  if (text.status().code() != StatusCode::kNotFound) return text;
  return NotFound(fmt::format("{} is not there: make an authority first by fairlead cert init", path));
}

struct Authority {
  OpensslCertificate certificate;
  OpensslKey key;
};
Result<Authority> LoadAuthority(const std::string& folder) {
  const std::string base = fs::path(folder) / "ca";
  FL_ASSIGN_OR_RETURN(const std::string certificate_text, ReadFileOfAuthority(base + ".pem"));
  FL_ASSIGN_OR_RETURN(const std::string key_text, ReadFileOfAuthority(base + "-key.pem"));
  const OpensslBio certificate_bio(BIO_new_mem_buf(certificate_text.data(), static_cast<int>(certificate_text.size())));
  const OpensslBio key_bio(BIO_new_mem_buf(key_text.data(), static_cast<int>(key_text.size())));
  Authority authority = {OpensslCertificate(PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr)),
                         OpensslKey(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr))};
  if (authority.certificate == nullptr || authority.key == nullptr ||
      X509_check_private_key(authority.certificate.get(), authority.key.get()) != 1) {
    return InvalidArgument(fmt::format("{}.pem and {}-key.pem are not a certificate and its key", base, base));
  }
  return authority;
}

Result<OpensslKey> MakeKey() {
  OpensslKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpensslFailed("make a key");
  return key;
}

}  // namespace

Result<CertificateFiles> CreateAuthority(const AuthorityOptions& options) {
  FL_RETURN_IF_ERROR(CheckDays(options.days));
  if (options.name.empty() || options.name.size() > kNameBytesMax) {
    return InvalidArgument(fmt::format("name of the authority: expected 1 to {} bytes", kNameBytesMax));
  }
  std::error_code error;
  if (fs::create_directories(options.folder, error)) {
    fs::permissions(options.folder, fs::perms::owner_all, error);
  }
  if (error) return Unavailable(fmt::format("folder {}: {}", options.folder, error.message()));
  FL_ASSIGN_OR_RETURN(const OpensslKey key, MakeKey());
  FL_ASSIGN_OR_RETURN(const OpensslCertificate certificate, Draft(key.get(), options.name, options.days));
  X509* own = certificate.get();
  FL_RETURN_IF_ERROR(AddExtension(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  FL_RETURN_IF_ERROR(AddExtension(own, own, NID_key_usage, "critical,keyCertSign,cRLSign"));
  FL_RETURN_IF_ERROR(AddExtension(own, own, NID_subject_key_identifier, "hash"));
  FL_RETURN_IF_ERROR(Sign(own, own, key.get()));
  return WriteBoth(fs::path(options.folder) / "ca", own, key.get());
}

Result<CertificateFiles> CreateHostCertificate(const HostCertificateOptions& options) {
  FL_RETURN_IF_ERROR(CheckDays(options.days));
  FL_RETURN_IF_ERROR(CheckHostName(options.host));
  FL_ASSIGN_OR_RETURN(const std::string names, AlternativeNames(options));
  FL_ASSIGN_OR_RETURN(const Authority authority, LoadAuthority(options.folder));
  FL_ASSIGN_OR_RETURN(const OpensslKey key, MakeKey());
  FL_ASSIGN_OR_RETURN(const OpensslCertificate certificate, Draft(key.get(), options.host, options.days));
  X509* own = certificate.get();
  X509* issuer = authority.certificate.get();
  FL_RETURN_IF_ERROR(AddExtension(own, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  FL_RETURN_IF_ERROR(AddExtension(own, issuer, NID_key_usage, "critical,digitalSignature"));
  FL_RETURN_IF_ERROR(AddExtension(own, issuer, NID_ext_key_usage, "serverAuth,clientAuth"));
  FL_RETURN_IF_ERROR(AddExtension(own, issuer, NID_subject_key_identifier, "hash"));
  FL_RETURN_IF_ERROR(AddExtension(own, issuer, NID_subject_alt_name, names));
  FL_RETURN_IF_ERROR(Sign(own, issuer, authority.key.get()));
  return WriteBoth(fs::path(options.folder) / options.host, own, key.get());
}

namespace {

// An entry for that certificate, revoked now.
Status AddRevoked(X509_CRL* list, const ASN1_INTEGER* serial) {
  const std::unique_ptr<X509_REVOKED, FreeOpenssl<X509_REVOKED_free>> entry(X509_REVOKED_new());
  const std::unique_ptr<ASN1_TIME, FreeOpenssl<ASN1_TIME_free>> now(X509_gmtime_adj(nullptr, 0));
  ASN1_INTEGER* copy = ASN1_INTEGER_dup(serial);
  const bool is_made = entry != nullptr && now != nullptr && copy != nullptr &&
                       X509_REVOKED_set_serialNumber(entry.get(), copy) == 1 &&
                       X509_REVOKED_set_revocationDate(entry.get(), now.get()) == 1;
  ASN1_INTEGER_free(copy);
  if (!is_made || X509_CRL_add0_revoked(list, X509_REVOKED_dup(entry.get())) != 1) {
    return OpensslFailed("revoke a certificate");
  }
  return OkStatus();
}

Result<OpensslRevocations> NewList(X509* issuer) {
  OpensslRevocations list(X509_CRL_new());
  if (list == nullptr || X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) != 1 ||
      X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer)) != 1) {
    return OpensslFailed("make a list of revoked certificates");
  }
  return list;
}

// Dates it from now on, and signs it.
Result<std::string> Finish(X509_CRL* list, EVP_PKEY* key) {
  constexpr long kDay = 86'400;
  const std::unique_ptr<ASN1_TIME, FreeOpenssl<ASN1_TIME_free>> now(X509_gmtime_adj(nullptr, 0));
  const std::unique_ptr<ASN1_TIME, FreeOpenssl<ASN1_TIME_free>> end(X509_gmtime_adj(nullptr, kDay * long{kDaysMax}));
  const OpensslBio text(BIO_new(BIO_s_mem()));
  const bool is_made = X509_CRL_set1_lastUpdate(list, now.get()) == 1 &&
                       X509_CRL_set1_nextUpdate(list, end.get()) == 1 && X509_CRL_sort(list) == 1 &&
                       X509_CRL_sign(list, key, EVP_sha256()) != 0 && PEM_write_bio_X509_CRL(text.get(), list) == 1;
  if (!is_made) return OpensslFailed("sign a list of revoked certificates");
  return TextOf(text.get());
}

}  // namespace

Result<std::string> RevokeCertificate(const std::string& folder, const std::string& host) {
  FL_RETURN_IF_ERROR(CheckHostName(host));
  FL_ASSIGN_OR_RETURN(const Authority authority, LoadAuthority(folder));
  const std::string base = fs::path(folder) / host;
  const Result<std::string> certificate = ReadWholeFile(base + ".pem");
  if (!certificate.ok()) return NotFound(fmt::format("{}.pem: there is no certificate of that host", base));
  FL_ASSIGN_OR_RETURN(const std::string serial, SerialOf(*certificate));
  const OpensslBio bio(BIO_new_mem_buf(certificate->data(), static_cast<int>(certificate->size())));
  const OpensslCertificate own(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  const std::string path = fs::path(folder) / "ca.crl";
  OpensslRevocations list;
  if (std::error_code error; fs::exists(path, error)) {
    FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
    FL_ASSIGN_OR_RETURN(const std::string trusted, ReadWholeFile(fs::path(folder) / "ca.pem"));
    FL_RETURN_IF_ERROR(RevocationList::Parse(text, trusted).status());
    const OpensslBio old(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    list.reset(PEM_read_bio_X509_CRL(old.get(), nullptr, nullptr, nullptr));
  } else {
    FL_ASSIGN_OR_RETURN(list, NewList(authority.certificate.get()));
  }
  FL_RETURN_IF_ERROR(AddRevoked(list.get(), X509_get0_serialNumber(own.get())));
  FL_ASSIGN_OR_RETURN(const std::string text, Finish(list.get(), authority.key.get()));
  FL_RETURN_IF_ERROR(WriteFileAtomically(path, text));
  for (const std::string& file : {base + ".pem", base + "-key.pem"}) {
    std::error_code error;
    fs::rename(file, file + "." + serial, error);
  }
  return path;
}

}  // namespace fairlead::service
