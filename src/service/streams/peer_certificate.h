// What the other end of a stream has shown of its identity.
#pragma once

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <string>
#include <vector>

#include "service/streams/revocation_list.h"

namespace fairlead::service {

struct PeerCertificate {
  bool is_authenticated = false;   // false: plaintext
  std::vector<std::string> names;  // that it may speak for
  std::string serial;              // empty: it has no certificate, or has not shown it yet
};

inline PeerCertificate PeerCertificateOf(const grpc::AuthContext& peer) {
  PeerCertificate certificate;
  certificate.is_authenticated = peer.IsPeerAuthenticated();
  for (const grpc::string_ref& name : peer.GetPeerIdentity()) {
    certificate.names.emplace_back(name.data(), name.size());
  }
  for (const grpc::string_ref& pem : peer.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
    if (auto serial = SerialOf(std::string(pem.data(), pem.size())); serial.ok()) {
      certificate.serial = *std::move(serial);
    }
  }
  return certificate;
}

}  // namespace fairlead::service
