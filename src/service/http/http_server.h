// The sockets of the gateway: takes connections and whole requests, hands requests to a few workers, and writes their
// answers. Nobody can hold it up by being slow, silent, or many.
//
// Problem     a server that gives each connection a thread is shut by as many connections that say a byte a second; one
//             that reads bodies before it looks at tokens, chunks without end or compressed bytes can be filled up.
// Method      one thread reads and writes for all connections, without waiting for any. Of each it keeps a head of at
//             most 16 KiB and, once that has been let in, a body of the length that was announced. A request has
//             `patience` from its connection to its last byte, and an answer as long until it is taken. Where there are
//             `num_connections_max`, the one that has been at it the longest gives way to the next. Answers that wait
//             to be taken have 64 MiB together; the oldest give way. Requests for health have a worker of their own.
// Cost        memory: num_connections_max * (16 KiB + a body) + 64 MiB, at most.
//             A request may ask for a stream instead of an answer: it stays, and is told what is published, until it
//             goes, takes less than it is told, or there is no room.
// Guarantees  one request for each connection. Nothing of a body is read, and no worker is asked, before `admit` has
//             let the head in.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "service/http/http_head.h"
#include "service/streams/endpoint.h"

namespace fairlead::service {

struct HttpServerOptions {
  size_t num_connections_max = 256;
  size_t body_bytes_max = size_t{64} << 10;
  std::chrono::milliseconds patience{5'000};
  size_t num_workers = 8;  // beside that for health
  size_t num_listeners_max = 64;
  size_t listener_bytes_max = size_t{256} << 10;  // that a listener has not taken yet
};

class HttpServer {
 public:
  struct Callbacks {
    // Whether the request may go on; by the thread of the server, which must not wait.
    std::function<HttpRefusal(const HttpHead& head)> admit;
    // Whether it is a question for health.
    std::function<bool(const HttpHead& head)> is_about_health;
    // The whole answer, as bytes; by several threads. Args: request: as bytes, with a length and Connection: close.
    std::function<std::string(const std::string& request, const std::string& client)> answer;
    // The beginning of a stream, as bytes, where the request is for one and may have it; nothing: it is answered as
    // others are. By the thread of the server. May be empty.
    std::function<std::optional<std::string>(const HttpHead& head)> begin_stream = {};
    // The answer to what is refused.
    std::function<std::string(const HttpRefusal& refusal)> refuse;
  };

  // Listens when it returns. Errors: kFailedPrecondition: the address can't be had.
  static Result<std::unique_ptr<HttpServer>> Open(const Endpoint& endpoint, const HttpServerOptions& options,
                                                  Callbacks callbacks);
  // Waits for workers, and for nobody else.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

  // To all that listen. Never waits. Thread: any.
  void Publish(std::string bytes);
  size_t num_listeners() const;

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace fairlead::service
