// A collector of OpenTelemetry over HTTP (OTLP/HTTP with JSON): one request that delivers traces, and what its answer
// means.
//
// Answers     2xx: taken, also where its body can't be read; parts that it rejected are counted. 429, 502, 503, 504, no
//             answer, or something that is no HTTP: another time, not before Retry-After (seconds or a date). All else
//             will be the same another time: redirects, too, are not followed.
// Bounds      a request has `deadline` from connecting to the end of the answer; 64 KiB of an answer are read.
// Needs       a process that ignores SIGPIPE, as the daemon does: a collector may close while a request is written.
// Reference   OpenTelemetry Protocol 1.x, OTLP/HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::service {

struct OtlpHttpOptions {
  std::string url = {};  // http://HOST[:PORT][/PATH] or https://…; without a path: /v1/traces
  std::string ca = {};   // file with the certificates that sign that of an https collector; empty: the system's
  std::chrono::milliseconds deadline{10'000};  // > 0
};

enum class OtlpOutcome {
  kTaken,
  kLater,    // may succeed another time
  kRefused,  // will not
};

struct OtlpAnswer {
  OtlpOutcome outcome = OtlpOutcome::kTaken;
  // For people: "answered 503: busy", "no connection"; of kTaken: empty, or what it rejected.
  std::string text = {};
  std::optional<double> retry_after_s = {};  // of kLater; >= 0
};

// Args: status: of the answer; retry_after: its header, empty: it has none; now_s: since 1970.
OtlpAnswer ReadOtlpAnswer(int status, std::string_view body, std::string_view retry_after, double now_s);

// The parts of a URL.
struct OtlpUrl {
  std::string origin;  // "http://collector:4318"
  std::string path;    // "/v1/traces"
};
// Errors: kInvalidArgument: it is none, or has a user, a query's fragment, characters that must be escaped.
Result<OtlpUrl> ParseOtlpUrl(const std::string& url);

class OtlpHttp {
 public:
  // Nothing is sent yet. Errors: kInvalidArgument: the URL; a file of certificates that can't be read.
  static Result<std::unique_ptr<OtlpHttp>> Open(const OtlpHttpOptions& options);
  ~OtlpHttp();
  OtlpHttp(const OtlpHttp&) = delete;
  OtlpHttp& operator=(const OtlpHttp&) = delete;

  // Blocks, at most for the deadline and the time of a name look-up. Thread: one at a time.
  OtlpAnswer Post(const std::string& body);
  // Ends a Post() that is under way, and all later ones, soon. Any thread.
  void Stop();

 private:
  class Impl;
  explicit OtlpHttp(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairlead::service
