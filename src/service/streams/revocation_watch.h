// The list of revoked certificates that a side of a stream goes by, while it changes.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "service/streams/peer_certificate.h"
#include "service/streams/revocation_list.h"
#include "service/streams/tls_files.h"

namespace fairlead::service {

class RevocationWatch {
 public:
  // Without a list in `tls` nothing is revoked.
  explicit RevocationWatch(const TlsFiles& tls) {
    if (!tls.revoked.empty()) file_.emplace(tls.revoked, tls.ca);
  }

  bool has_list() const { return file_.has_value(); }

  // Before the first use. Errors: those of RevocationFile::Refresh().
  Status Load() { return file_.has_value() ? file_->Refresh().status() : OkStatus(); }

  // Reads the list where it has changed. Returns whether it is another one. One that can't be used stays as it was, which
  // status() says.
  bool Refresh() {
    if (!file_.has_value()) return false;
    const Result<bool> changed = file_->Refresh();
    const std::lock_guard lock(fault_mutex_);
    fault_ = changed.ok() ? "" : changed.status().message();
    return changed.ok() && *changed;
  }

  bool IsRevoked(const PeerCertificate& peer) const { return file_.has_value() && file_->Contains(peer.serial); }

  // kUnavailable: the list can't be used. Any thread.
  Status status() const {
    const std::lock_guard lock(fault_mutex_);
    if (fault_.empty()) return OkStatus();
    return Unavailable(fault_ + "; the previous list of revoked certificates stays in use");
  }

 private:
  std::optional<RevocationFile> file_;
  mutable std::mutex fault_mutex_;
  std::string fault_;
};

}  // namespace fairlead::service
