#include "service/http_roles.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <fstream>

namespace fairlead::service {
namespace {

constexpr size_t kTokenBytesMin = 16;
constexpr size_t kTokenBytesMax = 4096;
constexpr std::string_view kScheme = "Bearer ";

Result<std::string> LoadToken(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  struct stat about = {};
  if (!file || stat(path.c_str(), &about) != 0) {
    return InvalidArgument(fmt::format("token file {}: can't be read", path));
  }
  if ((about.st_mode & 077) != 0) {
    return InvalidArgument(fmt::format("token file {}: others than its owner may use it: run chmod 600 on it", path));
  }
  if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax) {
    return InvalidArgument(fmt::format("token file {}: expected a line of {} to {} characters, found {}", path,
                                       kTokenBytesMin, kTokenBytesMax, token.size()));
  }
  return token;
}

// Takes as long for texts that differ early as for those that differ late.
bool AreEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<uint8_t>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

Result<HttpRoles> HttpRoles::Load(const HttpRoleOptions& options, bool is_local) {
  HttpRoles roles;
  FL_ASSIGN_OR_RETURN(roles.read_token_, LoadToken(options.read_token_file));
  FL_ASSIGN_OR_RETURN(roles.operator_token_, LoadToken(options.operator_token_file));
  if (!is_local && roles.read_token_.empty()) {
    return InvalidArgument(
        "--http: other machines can reach this address, so readers need a token: name one by --http-read-token-file, "
        "or "
        "listen on 127.0.0.1");
  }
  if (!is_local && options.is_operator_open) {
    return InvalidArgument(
        "--http-operator-open: other machines can reach this address; use --http-operator-token-file");
  }
  roles.host_names_ = options.host_names;
  if (roles.read_token_.empty()) roles.without_token_ = HttpRole::kReader;
  if (options.is_operator_open) roles.without_token_ = HttpRole::kOperator;
  return roles;
}

HttpRole HttpRoles::RoleOf(std::string_view authorization) const {
  if (!authorization.starts_with(kScheme)) return without_token_;
  const std::string_view token = authorization.substr(kScheme.size());
  if (!operator_token_.empty() && AreEqual(token, operator_token_)) return HttpRole::kOperator;
  if (!read_token_.empty() && AreEqual(token, read_token_)) return HttpRole::kReader;
  return HttpRole::kAnonymous;
}

}  // namespace fairlead::service
