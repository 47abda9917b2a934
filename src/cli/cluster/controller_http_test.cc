#include "cli/cluster/controller_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file_writer.h"
#include "base/temporary_folder.h"

namespace fairlead::cli {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const ControllerHttpOptions& options) {
  return std::string(ControllerHttp::Open(options).status().message());
}

TEST(ControllerHttpTest, AServerIsAnAddressOrAnUrl) {
  EXPECT_EQ(ControllerHttp::Open({.server = "c:8080"})->server(), "http://c:8080");
  EXPECT_EQ(ControllerHttp::Open({.server = "http://c:8080//"})->server(), "http://c:8080");
  EXPECT_EQ(ControllerHttp::Open({.server = "https://c"})->server(), "https://c");
  EXPECT_THAT(ErrorOf({.server = "ftp://c"}), HasSubstr("--server ftp://c: expected HOST:PORT"));
}

TEST(ControllerHttpTest, ATokenIsOneLine) {
  const TemporaryFolder folder;
  const auto with_token = [&](const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(folder.File("token"), text).ok());
    return ErrorOf({.server = "c:1", .token_file = folder.File("token")});
  };
  EXPECT_EQ(with_token("secret"), "");
  EXPECT_EQ(with_token("secret\r\n\n"), "");
  for (const char* text : {"", "\n", "one\ntwo"}) {
    EXPECT_THAT(with_token(text), HasSubstr("expected a token in one line")) << text;
  }
  EXPECT_THAT(with_token(std::string(5000, 'x')), HasSubstr("token"));
  EXPECT_NE(ErrorOf({.server = "c:1", .token_file = folder.File("none")}), "");
}

TEST(ControllerHttpTest, CertificatesHaveToBeReadable) {
  const TemporaryFolder folder;
  EXPECT_THAT(ErrorOf({.server = "https://c", .tls_ca = folder.File("none.pem")}), HasSubstr("none.pem"));
}

}  // namespace
}  // namespace fairlead::cli
