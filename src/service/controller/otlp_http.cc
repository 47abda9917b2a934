#include "service/controller/otlp_http.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/file_reader.h"
#include "base/whole_number.h"
#include "report/json_value.h"
#include "report/printable_text.h"
#include "wire/request_failure.h"

namespace fairlead::service {
namespace {

using report::Json;

constexpr std::string_view kTracesPath = "/v1/traces";
constexpr size_t kAnswerMax = 64 * 1024;
constexpr size_t kShownMax = 200;
constexpr size_t kUrlMax = 2048;
constexpr std::chrono::milliseconds kDeadlineLook{50};

Status BadUrl(const std::string& url, std::string_view why) {
  return InvalidArgument(fmt::format("--otlp {}: {}; expected http://HOST:PORT/v1/traces, or https://…",
                                     report::CleanText(url.substr(0, kShownMax)), why));
}

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// "[::1]" or a name or an IPv4 address.
bool IsHost(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 3 && host.ends_with(']') && std::ranges::all_of(host.substr(1, host.size() - 2), [](char c) {
             return IsHostCharacter(c) || c == ':' || c == '%';
           });
  }
  return !host.empty() && std::ranges::all_of(host, IsHostCharacter);
}

bool IsPort(std::string_view port) {
  const auto number = ParseWhole<uint16_t>(port);
  return number && *number >= 1;
}

// Seconds from now; nothing: it can't be read.
std::optional<double> ReadRetryAfter(std::string_view text, double now_s) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  if (const auto seconds = ParseWhole<uint32_t>(text)) return *seconds;
  std::tm date = {};
  const char* const end = strptime(std::string(text).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (end == nullptr) return std::nullopt;
  return std::max(0.0, static_cast<double>(timegm(&date)) - now_s);
}

std::string FirstLine(std::string_view body) {
  std::string line = report::CleanText(std::string(body.substr(0, std::min(body.find('\n'), kShownMax))));
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

// Of a Status of gRPC in JSON, as collectors answer; or the first line of whatever it is.
std::string MessageOf(const Json& json, std::string_view body) {
  if (json.is_object() && json.contains("message") && json["message"].is_string()) {
    return FirstLine(json["message"].get<std::string>());
  }
  return FirstLine(body);
}

// Of a success: what was rejected in spite of it. Numbers of 64 bits may be text.
std::string RejectedBy(const Json& json) {
  if (!json.is_object() || !json.contains("partialSuccess") || !json["partialSuccess"].is_object()) return "";
  const Json& partial = json["partialSuccess"];
  const Json rejected = partial.value("rejectedSpans", Json(0));
  const std::string count = rejected.is_string() ? rejected.get<std::string>() : rejected.dump();
  if (count == "0") return "";
  const Json message = partial.value("errorMessage", Json(""));
  return fmt::format("{} spans were rejected: {}", FirstLine(count),
                     message.is_string() ? FirstLine(message.get<std::string>()) : "");
}

// Ends what takes too long, or is not wanted any more. Again and again: a connection that is being made can't be ended.
class Deadline {
 public:
  Deadline(std::chrono::milliseconds length, const std::atomic<bool>& is_stopped, httplib::Client* client)
      : thread_([this, length, &is_stopped, client] {
          const auto end = std::chrono::steady_clock::now() + length;
          std::unique_lock lock(mutex_);
          while (!done_.wait_for(lock, kDeadlineLook, [this] { return is_done_; })) {
            if (is_stopped || std::chrono::steady_clock::now() >= end) client->stop();
          }
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    done_.notify_all();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread thread_;
};

}  // namespace

Result<OtlpUrl> ParseOtlpUrl(const std::string& url) {
  if (url.size() > kUrlMax) return BadUrl(url, "it is too long");
  const size_t scheme_end = url.find("://");
  const std::string scheme = url.substr(0, scheme_end);
  if (scheme_end == std::string::npos || (scheme != "http" && scheme != "https")) {
    return BadUrl(url, "it does not begin with http:// or https://");
  }
  const std::string rest = url.substr(scheme_end + 3);
  const size_t path_begin = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string authority = rest.substr(0, path_begin);
  std::string path = rest.substr(path_begin);
  if (authority.find('@') != std::string::npos) return BadUrl(url, "it has a user name, which is not sent");
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  const std::string host = has_port ? authority.substr(0, colon) : authority;
  if (!IsHost(host)) return BadUrl(url, host.empty() ? "it names no host" : "its host can't be read");
  if (has_port && !IsPort(authority.substr(colon + 1))) return BadUrl(url, "its port is none");
  const bool is_plain =
      std::ranges::all_of(path, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '<' && c != '>'; });
  if (!is_plain) return BadUrl(url, "its path has characters that must be escaped");
  if (path.find('#') != std::string::npos) return BadUrl(url, "it has a fragment (#), which is not sent");
  if (path.empty() || path == "/") path = kTracesPath;
  if (path.starts_with('?')) path = std::string(kTracesPath) + path;
  return OtlpUrl{.origin = scheme + "://" + authority, .path = std::move(path)};
}

OtlpAnswer ReadOtlpAnswer(int status, std::string_view body, std::string_view retry_after, double now_s) {
  const Json json = Json::parse(body, nullptr, false);
  if (status >= 200 && status < 300) return {.outcome = OtlpOutcome::kTaken, .text = RejectedBy(json)};
  const std::string message = MessageOf(json, body);
  std::string text = fmt::format("answered {}{}{}", status, message.empty() ? "" : ": ", message);
  const bool is_temporary = status == 429 || status == 502 || status == 503 || status == 504;
  if (!is_temporary) return {.outcome = OtlpOutcome::kRefused, .text = std::move(text)};
  return {.outcome = OtlpOutcome::kLater, .text = std::move(text), .retry_after_s = ReadRetryAfter(retry_after, now_s)};
}

class OtlpHttp::Impl {
 public:
  Impl(const OtlpHttpOptions& options, OtlpUrl url)
      : deadline_(options.deadline), url_(std::move(url)), client_(std::make_unique<httplib::Client>(url_.origin)) {
    client_->set_connection_timeout(options.deadline);
    client_->set_read_timeout(options.deadline);
    client_->set_write_timeout(options.deadline);
    client_->set_keep_alive(false);
    client_->set_follow_location(false);
    if (!options.ca.empty()) client_->set_ca_cert_path(options.ca.c_str());
  }

  bool is_valid() const { return client_->is_valid(); }

  OtlpAnswer Post(const std::string& body) {
    httplib::Request request;
    request.method = "POST";
    request.path = url_.path;
    request.body = body;
    request.set_header("Content-Type", "application/json");
    request.set_header("User-Agent", "fairlead");
    std::string answer_body;
    request.content_receiver = [&](const char* data, size_t length, uint64_t, uint64_t) {
      answer_body.append(data, std::min(length, kAnswerMax - answer_body.size()));
      return answer_body.size() < kAnswerMax;
    };
    httplib::Response response;
    // What is known when the body is too long, or breaks off.
    int status = 0;
    std::string retry_after;
    request.response_handler = [&](const httplib::Response& head) {
      status = head.status;
      retry_after = head.get_header_value("Retry-After");
      return true;
    };
    httplib::Error error = httplib::Error::Success;
    {
      const Deadline deadline(deadline_, is_stopped_, client_.get());
      client_->send(request, response, error);
    }
    const double now_s = static_cast<double>(std::time(nullptr));
    const bool is_http = status >= 100 && status < 600;
    if (is_http) return ReadOtlpAnswer(status, answer_body, retry_after, now_s);
    return {.outcome = OtlpOutcome::kLater, .text = std::string(wire::Describe(error))};
  }

  void Stop() { is_stopped_ = true; }

 private:
  const std::chrono::milliseconds deadline_;
  const OtlpUrl url_;
  std::atomic<bool> is_stopped_ = false;
  std::unique_ptr<httplib::Client> client_;
};

OtlpHttp::OtlpHttp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

OtlpHttp::~OtlpHttp() = default;

Result<std::unique_ptr<OtlpHttp>> OtlpHttp::Open(const OtlpHttpOptions& options) {
  FL_ASSIGN_OR_RETURN(OtlpUrl url, ParseOtlpUrl(options.url));
  if (options.deadline.count() <= 0) return InvalidArgument("otlp: expected a deadline above 0");
  if (!options.ca.empty()) {
    if (url.origin.starts_with("http://")) {
      return InvalidArgument(
          fmt::format("--otlp-ca {}: --otlp {} has no certificate; expected https://", options.ca, options.url));
    }
    const Status read = ReadWholeFile(options.ca, size_t{1} << 20).status();
    if (!read.ok()) return InvalidArgument("--otlp-ca: " + read.message());
  }
  auto impl = std::make_unique<Impl>(options, std::move(url));
  if (!impl->is_valid()) return BadUrl(options.url, "no client can be made of it");
  return std::unique_ptr<OtlpHttp>(new OtlpHttp(std::move(impl)));
}

OtlpAnswer OtlpHttp::Post(const std::string& body) { return impl_->Post(body); }

void OtlpHttp::Stop() { impl_->Stop(); }

}  // namespace fairlead::service
