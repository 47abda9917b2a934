// Certificates that are not accepted any more: those of hosts that were lost, sold or broken into.
//
// The list is an X.509 CRL in PEM, signed by the cluster's authority (`fairlead cert revoke`). A certificate is known
// by its serial number, of which the authority gives each once.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fairlead::service {

// Serial number of a certificate in PEM, as hexadecimal digits. Errors: kInvalidArgument.
Result<std::string> SerialOf(const std::string& certificate);

class RevocationList {
 public:
  // Args: texts of the list, and of the authority's certificate. Errors: kInvalidArgument: no list, or not signed by
  // the authority: anybody may have written it.
  static Result<RevocationList> Parse(const std::string& text, const std::string& authority);

  bool Contains(const std::string& serial) const { return serials_.contains(serial); }
  const std::set<std::string>& serials() const { return serials_; }

 private:
  std::set<std::string> serials_;
};

// A list in a file, which may change.
class RevocationFile {
 public:
  // Args: authority: path of its certificate.
  RevocationFile(std::string path, std::string authority) : path_(std::move(path)), authority_(std::move(authority)) {}

  // Reads it where it has changed since, or could not be read. Returns whether the list is another one. Errors: those
  // of Parse(), kUnavailable: it can't be read; then the list is what it was.
  Result<bool> Refresh();

  bool Contains(const std::string& serial) const { return list_.Contains(serial); }

 private:
  std::string path_;
  std::string authority_;
  std::vector<int64_t> version_;  // of the file: empty, or inode, size and time of its last change
  RevocationList list_;
};

}  // namespace fairlead::service
