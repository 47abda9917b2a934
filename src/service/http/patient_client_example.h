// For tests: asks a gateway until it answers. A gateway drops a client that sends nothing for a second after
// connecting, and on a busy machine that may be one that was about to send.
#pragma once

#include <httplib.h>

#include <chrono>
#include <string>

namespace fairlead::service {

class PatientClient {
 public:
  // Args: address "127.0.0.1:8080".
  explicit PatientClient(const std::string& address) : client_("http://" + address) {
    client_.set_read_timeout(kPatience);
    client_.set_write_timeout(kPatience);
  }

  // False where no answer came for a minute.
  httplib::Result Get(const std::string& path) {
    return Ask([&] { return client_.Get(path); });
  }
  // Only for what may be done twice: an answer can be lost.
  httplib::Result Post(const std::string& path, const std::string& body, const char* type = "application/json") {
    return Ask([&] { return client_.Post(path, body, type); });
  }
  void set_bearer_token_auth(const std::string& token) { client_.set_bearer_token_auth(token); }

 private:
  static constexpr std::chrono::minutes kPatience{1};

  template <class Question>
  static httplib::Result Ask(const Question& question) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    httplib::Result answer = question();
    while (!answer && std::chrono::steady_clock::now() < end) answer = question();
    return answer;
  }

  httplib::Client client_;
};

}  // namespace fairlead::service
