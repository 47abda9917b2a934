// The HTTP gateway of a running controller, asked from a command line.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"
#include "report/json_value.h"
#include "wire/cluster_records.h"

namespace httplib {
class Client;
}

namespace fairlead::cli {

struct ControllerHttpOptions {
  std::string server = "127.0.0.1:8080";  // HOST:PORT, or http://… or https://… of a proxy before it
  std::string token_file = {};            // empty: no token
  std::string tls_ca = {};                // of an https server; empty: those that the machine trusts
};

class ControllerHttp {
 public:
  // Nothing is asked yet. Errors: kInvalidArgument: a server, a file of a token or of certificates that can't be used.
  static Result<ControllerHttp> Open(const ControllerHttpOptions& options);
  ~ControllerHttp();
  ControllerHttp(ControllerHttp&&) noexcept;
  ControllerHttp& operator=(ControllerHttp&&) noexcept;

  // What stands at `path`, "/v1/jobs". Errors: kUnavailable: no answer, or one that is none of a controller;
  // kInvalidArgument: it wants a token, or has no such thing, in its own words.
  Result<report::Json> Get(const std::string& path);
  Result<report::Json> Post(const std::string& path, const report::Json& body);

  // The same, as a record.
  template <class Record>
  Result<Record> Get(const std::string& path) {
    FL_ASSIGN_OR_RETURN(const report::Json json, Get(path));
    return Read<Record>(json, path);
  }

  // What was got from `path`, as a record.
  template <class Record>
  Result<Record> Read(const report::Json& json, const std::string& path) const {
    return wire::ReadAnswer<Record>(json, place(path));
  }

  const std::string& server() const { return url_; }

 private:
  ControllerHttp(std::string url, std::unique_ptr<httplib::Client> client);
  std::string place(const std::string& path) const { return url_ + path; }

  std::string url_;
  std::unique_ptr<httplib::Client> client_;
};

}  // namespace fairlead::cli
