// What does a client of the gateway want? The head of a request, read strictly and before anything of its body.
//
// Only what clients of the gateway need: HTTP/1.0 and 1.1, bodies with a length. Whatever leaves the length of a
// request to be guessed, or makes it grow (chunks, encodings, two lengths, folded lines), is refused: then nobody
// behind the gateway can disagree about where a request ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::service {

struct HttpHead {
  std::string method;
  std::string target;                                        // with the query
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, as they came
  size_t content_length = 0;
  bool waits_for_continue = false;

  // Of the first header of that name; empty: there is none.
  std::string_view Value(std::string_view name) const;
  // The target without the query.
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
};

// A request that is not read on. Code 0: there is none.
struct HttpRefusal {
  int code = 0;
  std::string message;
};

// Bytes of the head at the front, with the empty line; npos: it has not ended yet.
size_t FindHeadEnd(std::string_view bytes);
// Args: bytes: the head, as FindHeadEnd() says.
HttpRefusal ReadHttpHead(std::string_view bytes, size_t body_bytes_max, HttpHead* head);

// "localhost", an address of loopback, or one of `names`, each with or without a port: what Host: says of a page that
// this machine serves to itself. Another name leads here by an answer of DNS that somebody else has given.
bool IsOwnHost(std::string_view host, const std::vector<std::string>& names);

}  // namespace fairlead::service
