// Where the controller listens for agents: gRPC's server behind a gate of ours.
//
// Addresses   plaintext is for those of this machine, or where it is allowed on purpose. TLS files are read again while
//             it runs. A UNIX socket can be opened by its owner only.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "service/streams/connection_gate.h"
#include "service/streams/controller_server.h"
#include "service/streams/endpoint.h"

namespace fairlead::service {

class GrpcListener {
 public:
  // Errors: those of ControllerServer::Start().
  Status Listen(const ControllerServerOptions& options);

  // Calls come here. Nothing: Listen() has failed before there was one.
  grpc::ServerCompletionQueue* queue() const { return queue_.get(); }
  grpc::AsyncGenericService* service() { return &service_; }

  std::vector<std::string> addresses() const;
  // Whether agents can get in now. Any thread.
  Status status() const { return gate_ == nullptr ? OkStatus() : gate_->status(); }

  // Lets nobody in any more.
  void Close() { gate_.reset(); }
  // Waits until all calls are over, which the queue's owner sees to meanwhile.
  void ShutDown();

 private:
  Status OpenGate();

  std::vector<Endpoint> endpoints_;
  std::vector<std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>> acceptors_;  // of server_
  std::unique_ptr<ConnectionGate> gate_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace fairlead::service
