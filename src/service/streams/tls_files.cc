#include "service/streams/tls_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file_reader.h"

namespace fairlead::service {
namespace {

Result<std::string> ReadWhole(const std::string& path, const char* what) {
  if (path.empty()) {
    return InvalidArgument(
        fmt::format("TLS: no {} named; it needs authority, certificate and key (fairlead cert)", what));
  }
  Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return InvalidArgument(fmt::format("TLS: the {} {}", what, text.status().message()));
  if (text->empty()) return InvalidArgument(fmt::format("TLS: the {} {} is empty", what, path));
  return text;
}

}  // namespace

Result<TlsTexts> LoadTlsFiles(const TlsFiles& files) {
  TlsTexts texts;
  FL_ASSIGN_OR_RETURN(texts.ca, ReadWhole(files.ca, "authority's certificate"));
  FL_ASSIGN_OR_RETURN(texts.certificate, ReadWhole(files.certificate, "certificate"));
  FL_ASSIGN_OR_RETURN(texts.key, ReadWhole(files.key, "private key"));
  struct stat about = {};
  if (stat(files.key.c_str(), &about) == 0 && (about.st_mode & 077) != 0) {
    return InvalidArgument(
        fmt::format("TLS: others than its owner may use the private key {}: run chmod 600 on it", files.key));
  }
  return texts;
}

}  // namespace fairlead::service
