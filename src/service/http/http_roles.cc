#include "service/http/http_roles.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <utility>

#include "model/job_name.h"

namespace fairlead::service {
namespace {

constexpr size_t kTokenBytesMin = 16;
constexpr size_t kTokenBytesMax = 4096;
constexpr std::string_view kScheme = "Bearer ";

Status CheckToken(const std::string& place, const std::string& token) {
  if (token.size() >= kTokenBytesMin && token.size() <= kTokenBytesMax) return OkStatus();
  return InvalidArgument(
      fmt::format("{}: expected a token of {} to {} characters, or a name of letters, digits, '.', '-' and '_', a "
                  "colon, a blank and a token, found one of {}",
                  place, kTokenBytesMin, kTokenBytesMax, token.size()));
}

// Takes as long for texts that differ early as for those that differ late.
bool AreEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<uint8_t>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

Result<std::vector<HttpRoles::Token>> HttpRoles::LoadTokens(const std::string& path) {
  std::vector<Token> tokens;
  if (path.empty()) return tokens;
  struct stat about = {};
  std::ifstream file(path);
  if (!file || stat(path.c_str(), &about) != 0) {
    return InvalidArgument(fmt::format("token file {}: can't be read", path));
  }
  if ((about.st_mode & 077) != 0) {
    return InvalidArgument(fmt::format("token file {}: others than its owner may use it: run chmod 600 on it", path));
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    // A token may have blanks, so only a name with its colon is one.
    const size_t colon = line.find(": ");
    Token token;
    if (colon != std::string::npos && shm::IsJobName(line.substr(0, colon))) {
      token.name = line.substr(0, colon);
      line.erase(0, colon + 2);
    }
    token.secret = line;
    FL_RETURN_IF_ERROR(CheckToken(fmt::format("token file {}:{}", path, number), token.secret));
    tokens.push_back(std::move(token));
  }
  if (tokens.empty()) return InvalidArgument(fmt::format("token file {}: there is no token in it", path));
  return tokens;
}

const HttpRoles::Token* HttpRoles::Find(const std::vector<Token>& tokens, std::string_view authorization) {
  if (!authorization.starts_with(kScheme)) return nullptr;
  const Token* found = nullptr;
  for (const Token& token : tokens) {
    if (AreEqual(token.secret, authorization.substr(kScheme.size()))) found = &token;
  }
  return found;
}

Result<HttpRoles> HttpRoles::Load(const HttpRoleOptions& options, bool is_local) {
  HttpRoles roles;
  FL_ASSIGN_OR_RETURN(roles.read_tokens_, LoadTokens(options.read_token_file));
  FL_ASSIGN_OR_RETURN(roles.operator_tokens_, LoadTokens(options.operator_token_file));
  if (!is_local && roles.read_tokens_.empty()) {
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
  if (roles.read_tokens_.empty()) roles.without_token_ = HttpRole::kReader;
  if (options.is_operator_open) roles.without_token_ = HttpRole::kOperator;
  return roles;
}

HttpRole HttpRoles::RoleOf(std::string_view authorization) const {
  if (!authorization.starts_with(kScheme)) return without_token_;
  if (Find(operator_tokens_, authorization) != nullptr) return HttpRole::kOperator;
  return Find(read_tokens_, authorization) != nullptr ? HttpRole::kReader : HttpRole::kAnonymous;
}

std::string HttpRoles::NameOf(std::string_view authorization) const {
  const Token* token = Find(operator_tokens_, authorization);
  return token == nullptr ? "" : token->name;
}

}  // namespace fairlead::service
