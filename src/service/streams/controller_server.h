// The controller's end of all streams: takes what agents say to one thread, and says what that thread answers.
//
// Threads     one, the core's: while it waits for inputs it reads and writes for all streams, and nothing does while it
//             works. Handing over to it would cost each message more than the rest of its way.
// Batches     what has come while the core was at work is its next batch, and what a batch says to an agent is one
//             message. Under load the core lets inputs gather for a millisecond before it looks.
// Connections are accepted by a gate of ours (connection_gate.h), but for UNIX sockets, which only their owner can
// open.
// Limits      a stream whose messages wait for the core, or that sends more than its share, is not read on for a while
//             (reading_share.h); one that does not listen, or says nothing, is ended (agent_stream.h).
// Trust       with TLS only certificates of our authority are accepted, and a hello must name the host of its
//             certificate; the core never sees one that does not. The files are read again, while we run; streams of
//             revoked certificates end. Who may have plaintext: grpc_listener.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "controller/traffic_controller.h"
#include "service/streams/reading_share.h"
#include "service/streams/tls_files.h"

namespace fairlead::service {

struct ControllerServerOptions {
  std::vector<std::string> listen = {};  // endpoint.h; at least one
  TlsFiles tls = {};                     // none set: plaintext. UNIX sockets have plaintext always
  bool is_insecure_allowed = false;
  size_t num_streams_max = 100'000;
  ReadingLimits reading = {};
  size_t unsent_bytes_max = size_t{16} << 20;
  std::chrono::milliseconds patience{10'000};
  // How soon replaced TLS files are used, >= 1 s. A stream that is open goes on with those that it began with.
  std::chrono::milliseconds tls_refresh{10'000};
};

struct ControllerServerCounters {
  uint64_t num_streams = 0;  // open now
  uint64_t opened = 0;       // since the start; so are all below
  uint64_t refused = 0;      // the wrong name, or one stream too many
  uint64_t unreadable = 0;   // ended because of their messages
  uint64_t slow = 0;         // ended for not listening, or for not speaking
  uint64_t throttled = 0;    // times that a stream was not read on for a while, having sent more than its share
  uint64_t messages_in = 0;  // of which several may have come in one batch
  uint64_t messages_out = 0;
};

// Thread: one for all, but Wake(), addresses(), counters() and status().
class ControllerServer {
 public:
  // Listens when it returns. Errors: kInvalidArgument: nowhere to listen, an address that can't be read or must not
  // have plaintext, TLS files; kFailedPrecondition: an address can't be had: says why.
  static Result<std::unique_ptr<ControllerServer>> Start(const ControllerServerOptions& options);
  // Ends all streams.
  ~ControllerServer();
  ControllerServer(const ControllerServer&) = delete;
  ControllerServer& operator=(const ControllerServer&) = delete;

  // Where it listens, ports as they are: "127.0.0.1:43117".
  std::vector<std::string> addresses() const;

  // All that waits, in the order of each stream; waits for something, but no longer than `timeout`. The end of a stream
  // that sent something comes once, after its last message, whichever side ended it.
  std::vector<controller::TrafficInput> TakeInputs(std::chrono::milliseconds timeout);
  // What TakeInputs() does for streams while it waits, without taking anything.
  void Serve(std::chrono::milliseconds timeout);
  // Makes the one of these that waits, or else the next one, return at once. Any thread.
  void Wake();

  // Nothing happens where the stream is gone. What is queued leaves with the next Flush(): the messages of a stream
  // together. Send() does both.
  void Queue(controller::StreamId stream, const controller::ToAgent& message);
  void Flush();
  void Send(controller::StreamId stream, const controller::ToAgent& message);
  // After what was sent before.
  void End(controller::StreamId stream);

  ControllerServerCounters counters() const;
  // Whether agents can get in now (connection_gate.h). Any thread.
  Status status() const;

 private:
  class Streams;
  explicit ControllerServer(std::unique_ptr<Streams> streams);

  std::unique_ptr<Streams> streams_;
};

}  // namespace fairlead::service
