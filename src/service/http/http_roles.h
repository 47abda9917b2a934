// Who may do what over HTTP: readers look, operators also change; each shows a token.
//
//     Authorization: Bearer TOKEN
//
// Without any token, loopback may read; it may also change where that was allowed on purpose. A file of tokens, which
// only its owner may read, has one in each line, of at least 16 characters, and before it the name of the person it
// was given to: "anna: 4f0c...". Lines that are empty or begin with # say nothing. Tokens are never logged, names are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::service {

enum class HttpRole { kAnonymous, kReader, kOperator };

struct HttpRoleOptions {
  std::string read_token_file = {};  // empty: loopback may read without
  std::string operator_token_file = {};
  bool is_operator_open = false;  // loopback may change without a token
  // By which a gateway on loopback may be called, beside localhost and its addresses: that of a proxy.
  std::vector<std::string> host_names = {};
};

class HttpRoles {
 public:
  // Args: is_local: whether only this machine can reach the gateway.
  // Errors: kInvalidArgument: a token file that can't be used; a gateway that others reach without a token for readers,
  // or open to any operator.
  static Result<HttpRoles> Load(const HttpRoleOptions& options, bool is_local);

  // Rights of a client that sends this Authorization header. Cost: the same for every wrong token of a length.
  HttpRole RoleOf(std::string_view authorization) const;
  // The person whose operator's token that is; empty: nobody's, or a token without a name.
  std::string NameOf(std::string_view authorization) const;

  const std::vector<std::string>& host_names() const { return host_names_; }

 private:
  struct Token {
    std::string name;
    std::string secret;
  };

  static Result<std::vector<Token>> LoadTokens(const std::string& path);
  // Nothing: none of these. Cost: that of comparing all.
  static const Token* Find(const std::vector<Token>& tokens, std::string_view authorization);

  std::vector<Token> read_tokens_;
  std::vector<Token> operator_tokens_;
  std::vector<std::string> host_names_;
  HttpRole without_token_ = HttpRole::kAnonymous;
};

}  // namespace fairlead::service
