#include "service/http/http_roles.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

class HttpRolesTest : public testing::Test {
 protected:
  std::string TokenFile(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::string path = folder_.File(name);
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  const TemporaryFolder folder_;
};

TEST_F(HttpRolesTest, EachTokenHasItsRole) {
  const auto roles = HttpRoles::Load({.read_token_file = TokenFile("read", "0123456789abcdef\n"),
                                      .operator_token_file = TokenFile("operator", "fedcba9876543210")},
                                     false);
  ASSERT_TRUE(roles.ok()) << roles.status().message();
  EXPECT_EQ(roles->RoleOf("Bearer 0123456789abcdef"), HttpRole::kReader);
  EXPECT_EQ(roles->RoleOf("Bearer fedcba9876543210"), HttpRole::kOperator);
  for (const char* text : {"", "Bearer ", "Bearer 0123456789abcdeX", "Bearer 0123456789abcdef ", "0123456789abcdef"}) {
    EXPECT_EQ(roles->RoleOf(text), HttpRole::kAnonymous) << text;
  }
}

TEST_F(HttpRolesTest, WithoutTokensThisMachineReads) {
  const auto roles = HttpRoles::Load({}, true);
  ASSERT_TRUE(roles.ok());
  EXPECT_EQ(roles->RoleOf(""), HttpRole::kReader);
  // An unset token counts as none.
  EXPECT_EQ(roles->RoleOf("Bearer "), HttpRole::kAnonymous);
  EXPECT_EQ(HttpRoles::Load({.is_operator_open = true}, true)->RoleOf(""), HttpRole::kOperator);
}

TEST_F(HttpRolesTest, AnOperatorsTokenAloneLeavesReadingOpen) {
  const auto roles = HttpRoles::Load({.operator_token_file = TokenFile("operator", "fedcba9876543210")}, true);
  ASSERT_TRUE(roles.ok());
  EXPECT_EQ(roles->RoleOf(""), HttpRole::kReader);
}

TEST_F(HttpRolesTest, EachOperatorHasATokenOfTheirOwn) {
  const auto roles =
      HttpRoles::Load({.operator_token_file = TokenFile("operators",
                                                        "# on call\nanna: 0123456789abcdef\n\nbob: fedcba9876543210\n"
                                                        "an operator's token\n")},
                      true);
  ASSERT_TRUE(roles.ok()) << roles.status().message();
  EXPECT_EQ(roles->RoleOf("Bearer fedcba9876543210"), HttpRole::kOperator);
  EXPECT_EQ(roles->NameOf("Bearer 0123456789abcdef"), "anna");
  EXPECT_EQ(roles->NameOf("Bearer fedcba9876543210"), "bob");
  EXPECT_EQ(roles->RoleOf("Bearer an operator's token"), HttpRole::kOperator);
  EXPECT_EQ(roles->NameOf("Bearer an operator's token"), "");
  EXPECT_EQ(roles->RoleOf("Bearer anna: 0123456789abcdef"), HttpRole::kAnonymous) << "the name is no part of it";
  for (const char* text : {"anna: 0123\n", "# nobody\n", "anna: 0123456789abcdef\nbob: x\n"}) {
    const auto bad = HttpRoles::Load({.operator_token_file = TokenFile("bad", text)}, true);
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.status().message().find("0123"), std::string::npos) << "a token is told nobody";
  }
}

TEST_F(HttpRolesTest, UnsafeSettingsAreErrors) {
  EXPECT_FALSE(HttpRoles::Load({}, false).ok());
  EXPECT_FALSE(
      HttpRoles::Load({.read_token_file = TokenFile("r", "0123456789abcdef"), .is_operator_open = true}, false).ok());
  EXPECT_FALSE(HttpRoles::Load({.read_token_file = folder_.File("missing")}, true).ok());
  EXPECT_FALSE(HttpRoles::Load({.read_token_file = TokenFile("short", "0123456789abcde")}, true).ok());
  const auto open = HttpRoles::Load({.read_token_file = TokenFile("open", "0123456789abcdef", 0644)}, true);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.status().message().find("0123456789"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::service
