// Why a request to the controller has no answer, in words: cpp-httplib has names for it. For targets that link it.
#pragma once

#include <httplib.h>

#include <string_view>

namespace fairlead::wire {

inline std::string_view Describe(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection";
    case httplib::Error::ConnectionTimeout:
      return "no connection in time";
    case httplib::Error::Read:
      return "no answer, or not all of it";
    case httplib::Error::Write:
      return "the request could not be sent";
    case httplib::Error::SSLConnection:
      return "no TLS connection";
    case httplib::Error::SSLLoadingCerts:
      return "the certificates can't be loaded";
    case httplib::Error::SSLServerVerification:
      return "its certificate is not trusted";
    default:
      return "the request failed";
  }
}

}  // namespace fairlead::wire
