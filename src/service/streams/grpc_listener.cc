#include "service/streams/grpc_listener.h"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "service/streams/tls_files.h"
#include "wire/host_message_codec.h"

namespace fairlead::service {
namespace {

// Plaintext or TLS for an address. Errors: kInvalidArgument: neither may be.
Result<std::shared_ptr<grpc::ServerCredentials>> CredentialsFor(const Endpoint& endpoint,
                                                                const ControllerServerOptions& options) {
  if (options.tls.is_set() && !endpoint.is_unix()) {
    FL_RETURN_IF_ERROR(LoadTlsFiles(options.tls).status());
    const auto period_s = static_cast<unsigned>(std::max<int64_t>(options.tls_refresh.count() / 1000, 1));
    grpc::experimental::TlsServerCredentialsOptions tls(
        std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(options.tls.key, options.tls.certificate,
                                                                             options.tls.ca, period_s));
    tls.watch_root_certs();
    tls.watch_identity_key_cert_pairs();
    tls.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    return grpc::experimental::TlsServerCredentials(tls);
  }
  if (endpoint.is_local() || options.is_insecure_allowed) return grpc::InsecureServerCredentials();
  return InvalidArgument(
      fmt::format("address {}: connections from other machines need TLS; name authority, certificate and key (made by "
                  "fairlead cert), or allow plaintext with --insecure",
                  endpoint.ToString()));
}

}  // namespace

Status GrpcListener::Listen(const ControllerServerOptions& options) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(wire::kMessageBytesMax));
  // Two controllers on one port would each get half of the agents.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Agents that are gone without a message are found out; those that ask whether we are there may do so.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  // Else each read is followed by a ping, to find out how much may be under way: for messages of some kB it is all.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.RegisterAsyncGenericService(&service_);
  queue_ = builder.AddCompletionQueue();
  // Debian's library looks for deadlocks inside gRPC at each lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (options.listen.empty()) return InvalidArgument("no address to listen on");
  // Silent connections end: those that do not finish their handshake, and those without a stream.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(options.patience.count()));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 60'000);
  std::vector<int> unix_ports(options.listen.size(), 1);
  for (size_t i = 0; i < options.listen.size(); ++i) {
    FL_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(options.listen[i]));
    FL_ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(endpoint, options));
    endpoints_.push_back(endpoint);
    if (endpoint.is_unix()) {
      FL_RETURN_IF_ERROR(CheckCanListen(endpoint));
      builder.AddListeningPort(endpoint.ToString(), credentials, &unix_ports[i]);
    } else {
      acceptors_.push_back(builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials));
    }
  }
  // Not even for the moment between bind() and chmod() may others open a socket.
  const mode_t mask = umask(0177);
  server_ = builder.BuildAndStart();
  umask(mask);
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    if (server_ == nullptr || unix_ports[i] == 0) {
      return {StatusCode::kFailedPrecondition, fmt::format("can't listen on {}", endpoints_[i].ToString())};
    }
  }
  return OpenGate();
}

// gRPC's own acceptor ends for good with the first accept() that fails.
Status GrpcListener::OpenGate() {
  std::vector<Endpoint*> endpoints;
  for (Endpoint& endpoint : endpoints_) {
    if (!endpoint.is_unix()) endpoints.push_back(&endpoint);
  }
  if (endpoints.empty()) return OkStatus();
  FL_ASSIGN_OR_RETURN(gate_, ConnectionGate::Open(endpoints, {}, [this](size_t acceptor, int listener, int connection) {
                        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
                        parameters.listener_fd = listener;
                        parameters.fd = connection;
                        acceptors_[acceptor]->HandleNewConnection(&parameters);
                      }));
  return OkStatus();
}

std::vector<std::string> GrpcListener::addresses() const {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints_) texts.push_back(endpoint.ToString());
  return texts;
}

void GrpcListener::ShutDown() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace fairlead::service
