#include "cli/cluster/controller_http.h"

#include <fmt/format.h>
#include <httplib.h>

#include <utility>

#include "base/file_reader.h"
#include "wire/request_failure.h"

namespace fairlead::cli {

namespace {

constexpr int kPatienceSeconds = 10;
constexpr size_t kTokenMax = 4096;

// What a controller says is wrong, in its own words; empty: not the answer of one.
std::string ErrorOf(const httplib::Response& response) {
  const report::Json json = report::Json::parse(response.body, nullptr, false);
  if (!json.is_object() || !json.contains("error") || !json["error"].is_string()) return "";
  return json["error"].get<std::string>();
}

Result<report::Json> ReadAnswer(const httplib::Result& answer, const std::string& url, const std::string& path) {
  if (!answer) {
    return Unavailable(fmt::format(
        "{}: {}; does a controller run there with --http? Another one is named with --server or FAIRLEAD_SERVER", url,
        wire::Describe(answer.error())));
  }
  if (answer->status != 200) {
    const std::string error = ErrorOf(*answer);
    if (error.empty()) return Unavailable(fmt::format("{}{}: answered with status {}", url, path, answer->status));
    const bool is_ours = answer->status >= 400 && answer->status < 500;
    const char* const hint = answer->status == 401 || answer->status == 403 ? "; see --token-file" : "";
    const std::string message = fmt::format("{}{}: {}{}", url, path, error, hint);
    return is_ours ? InvalidArgument(message) : Unavailable(message);
  }
  report::Json json = report::Json::parse(answer->body, nullptr, false);
  if (json.is_discarded()) return Unavailable(fmt::format("{}{}: the answer is not JSON", url, path));
  return json;
}

Result<std::string> ReadToken(const std::string& path) {
  FL_ASSIGN_OR_RETURN(std::string token, ReadWholeFile(path, kTokenMax));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  if (token.empty() || token.find_first_of("\r\n") != std::string::npos) {
    return InvalidArgument(fmt::format("{}: expected a token in one line", path));
  }
  return token;
}

}  // namespace

ControllerHttp::ControllerHttp(std::string url, std::unique_ptr<httplib::Client> client)
    : url_(std::move(url)), client_(std::move(client)) {}
ControllerHttp::~ControllerHttp() = default;
ControllerHttp::ControllerHttp(ControllerHttp&&) noexcept = default;
ControllerHttp& ControllerHttp::operator=(ControllerHttp&&) noexcept = default;

Result<ControllerHttp> ControllerHttp::Open(const ControllerHttpOptions& options) {
  std::string url = options.server;
  if (url.find("://") == std::string::npos) url = "http://" + url;
  while (url.ends_with('/')) url.pop_back();
  // The library throws at other schemes.
  const bool is_known = url.starts_with("http://") || url.starts_with("https://");
  auto client = is_known ? std::make_unique<httplib::Client>(url) : nullptr;
  if (client == nullptr || !client->is_valid()) {
    return InvalidArgument(
        fmt::format("--server {}: expected HOST:PORT, http://HOST:PORT or https://HOST:PORT", options.server));
  }
  client->set_connection_timeout(kPatienceSeconds);
  client->set_read_timeout(kPatienceSeconds);
  client->set_keep_alive(true);
  if (!options.token_file.empty()) {
    FL_ASSIGN_OR_RETURN(const std::string token, ReadToken(options.token_file));
    client->set_bearer_token_auth(token.c_str());
  }
  if (!options.tls_ca.empty()) {
    FL_RETURN_IF_ERROR(ReadWholeFile(options.tls_ca, size_t{1} << 20).status());
    client->set_ca_cert_path(options.tls_ca.c_str());
  }
  return ControllerHttp(std::move(url), std::move(client));
}

Result<report::Json> ControllerHttp::Get(const std::string& path) {
  httplib::Result answer = client_->Get(path.c_str());
  // A gateway drops a client that is slow to ask, which on a busy machine may be this one.
  if (!answer && answer.error() == httplib::Error::Read) answer = client_->Get(path.c_str());
  return ReadAnswer(answer, url_, path);
}

Result<report::Json> ControllerHttp::Post(const std::string& path, const report::Json& body) {
  return ReadAnswer(client_->Post(path.c_str(), body.dump(), "application/json"), url_, path);
}

}  // namespace fairlead::cli
