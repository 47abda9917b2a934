// Heads of requests: what is let in has one meaning.
#include "service/http/http_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace fairlead::service {
namespace {

int CodeOf(const std::string& head) {
  HttpHead read;
  EXPECT_EQ(FindHeadEnd(head), head.size()) << head;
  return ReadHttpHead(head, 1000, &read).code;
}

TEST(HttpHeadTest, WhatClientsSend) {
  const std::string text =
      "POST /v1/links/a?x=1 HTTP/1.1\r\nHost: localhost:80\r\nAuthorization:Bearer abc \r\nContent-Length: 12\r\n"
      "Expect: 100-Continue\r\nX-Empty:\r\n\r\n";
  HttpHead head;
  ASSERT_EQ(FindHeadEnd(text + "body"), text.size());
  ASSERT_EQ(ReadHttpHead(text, 1000, &head).code, 0);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/v1/links/a?x=1");
  EXPECT_EQ(head.path(), "/v1/links/a");
  EXPECT_EQ(head.Value("host"), "localhost:80");
  EXPECT_EQ(head.Value("authorization"), "Bearer abc");
  EXPECT_EQ(head.Value("x-empty"), "");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.waits_for_continue);
  EXPECT_EQ(FindHeadEnd("GET / HTTP/1.1\r\nHost: a\r\n"), std::string::npos);
}

TEST(HttpHeadTest, WhatHasSeveralMeaningsIsRefused) {
  const std::string get = "GET / HTTP/1.1\r\n", end = "\r\n\r\n";
  EXPECT_EQ(CodeOf(get + "Host: a" + end), 0);
  for (const std::string header :
       {"Content-Length: 1\r\nContent-Length: 1", "Host: a\r\nhost: b", "Content-Length : 1",
        "Content-Length:", "Content-Length: +1", "Content-Length: 0x1", "Content-Length: 1,2", "Content-Length: 1 2",
        " folded: 1", "A: b\r\n c", "no colon", ": nothing", "A\tb: c", "A: b\x01", "A: b\nC: d"}) {
    EXPECT_EQ(CodeOf(get + header + end), 400) << header;
  }
  EXPECT_EQ(CodeOf(get + "Transfer-Encoding: chunked" + end), 411);
  EXPECT_EQ(CodeOf(get + "TRANSFER-ENCODING: identity" + end), 411);
  EXPECT_EQ(CodeOf(get + "Content-Encoding: gzip" + end), 415);
  EXPECT_EQ(CodeOf(get + "Expect: something" + end), 417);
  EXPECT_EQ(CodeOf(get + "Content-Length: 1000" + end), 0);
  EXPECT_EQ(CodeOf(get + "Content-Length: 1001" + end), 413);
  EXPECT_EQ(CodeOf(get + "Content-Length: 99999999999999999999999" + end), 413);
  EXPECT_EQ(CodeOf("GET /" + std::string(5000, 'a') + " HTTP/1.1" + end), 414);
  std::string many = get;
  for (int i = 0; i < 101; ++i) many += "A: b\r\n";
  EXPECT_EQ(CodeOf(many + "\r\n"), 431);
  for (const std::string line : {"GET /", "GET / HTTP/1.1 x", "GET  / HTTP/1.1", "/ HTTP/1.1", "GET http://a/ HTTP/1.1",
                                 "G(T / HTTP/1.1", "GET /\x7f HTTP/1.1", "GET /a\tb HTTP/1.1"}) {
    EXPECT_EQ(CodeOf(line + end) / 100, line.ends_with("x") ? 5 : 4) << line;
  }
  EXPECT_EQ(CodeOf("GET / HTTP/2.0" + end), 505);
  EXPECT_EQ(CodeOf("GET / HTTP/1.0" + end), 0);
}

TEST(HttpHeadTest, NoiseIsRefusedOrRead) {
  Random random(3);
  const std::string alphabet = "GET /:\r\n\t aA0\xff\x01";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (uint64_t left = random.Below(60); left > 0; --left) text += alphabet[random.Below(alphabet.size())];
    HttpHead head;
    ReadHttpHead(text, 1000, &head);
    EXPECT_LE(head.content_length, UINT64_MAX);
  }
}

TEST(HttpHeadTest, OwnNames) {
  for (const char* host : {"localhost", "LocalHost:8080", "127.0.0.1", "127.1.2.3:1", "[::1]", "[::1]:80", "proxy:1"}) {
    EXPECT_TRUE(IsOwnHost(host, {"Proxy"})) << host;
  }
  for (const char* host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil", "[::2]", "[::1].evil",
        "10.0.0.1", "proxy.evil", "::1", "127.1", "127.0.0.1.5", "127.", "127.0.0.256", "::ffff:127.0.0.1",
        "localhost:80:x", "localhost:@evil", "localhost:80.evil.example", "[::1"}) {
    EXPECT_FALSE(IsOwnHost(host, {"Proxy"})) << host;
  }
}

}  // namespace
}  // namespace fairlead::service
