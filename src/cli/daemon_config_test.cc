#include "cli/daemon_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"

namespace fairlead::cli {
namespace {

using ::testing::HasSubstr;

// A program with the daemon `keeper run`, and what a call of it came to.
class DaemonConfigTest : public testing::Test {
 protected:
  DaemonConfigTest() {
    CLI::App* keeper = app_.add_subcommand("keeper", "");
    keeper->add_subcommand("look", "")->add_option("--lease", other_lease_s_);
    CLI::App* run = keeper->add_subcommand("run", "");
    run->add_option("--listen", listen_)->required();
    run->add_option("--lease", lease_s_)->check(CLI::Range(1.0, 9.0));
    run->add_option("--spare", spares_);
    run->add_option("--folder", folder_);
    run->add_option("--tls-certificate,--tls-cert", certificate_);
    run->add_flag("--insecure", insecure_);
    AddDaemonConfig(run, "KEEPER");
  }

  void TearDown() override {
    for (const std::string& variable : variables_) unsetenv(variable.c_str());
  }

  void SetVariable(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    variables_.push_back(name);
  }

  // The arguments that name a file with this content.
  std::string Config(const std::string& yaml) {
    std::string path = (folder_of_files_.path() / "keeper.yaml").string();
    std::ofstream(path) << yaml;
    return path;
  }

  // The parser's message with the place, or "" where all went well.
  std::string Parse(std::vector<std::string> args) {
    args.insert(args.begin(), {"keeper", "run"});
    const auto all = AddConfiguredArguments(app_, args);
    if (!all.ok()) return all.status().message();
    try {
      app_.parse(std::vector<std::string>(all->args.rbegin(), all->args.rend()));
    } catch (const CLI::ParseError& e) {
      return e.what() + DescribePlace(*all, e.what());
    }
    return "";
  }

  TemporaryFolder folder_of_files_;
  CLI::App app_{"", "test"};
  std::string listen_;
  double lease_s_ = 5;
  double other_lease_s_ = 0;
  std::vector<std::string> spares_;
  std::string folder_ = "default";
  std::string certificate_;
  bool insecure_ = false;
  std::vector<std::string> variables_;
};

TEST_F(DaemonConfigTest, HelpNeedsNoReadableFile) {
  for (const char* help : {"--help", "-h"}) {
    EXPECT_THAT(Parse({"--config", "/no/such/file.yaml", help}), HasSubstr("caught in your main")) << help;
  }
}

TEST_F(DaemonConfigTest, TheValueOfAnOptionNamesNone) {
  EXPECT_EQ(Parse({"--listen", "unix:/x", "--folder", "--config"}), "");
  EXPECT_EQ(folder_, "--config");
  EXPECT_EQ(Parse({"--listen", "unix:/x", "--folder", "--lease", "--config", Config("lease: 3\n")}), "");
  EXPECT_EQ(folder_, "--lease");
  EXPECT_EQ(lease_s_, 3);
}

TEST_F(DaemonConfigTest, TheLastFileThatIsNamedCounts) {
  const std::string file = Config("listen: unix:/run/x\n");
  EXPECT_EQ(Parse({"--config", file, "--spare", "h1"}), "");
  EXPECT_THAT(Parse({"--listen", "unix:/y", "--config"}), HasSubstr("--config"));
}

TEST_F(DaemonConfigTest, TakesOptionsFromTheFile) {
  const std::string file =
      Config("listen: unix:/run/x\nlease: 2.5\nspare: [h1, h2]\nfolder: ''\ninsecure: true\ntls-cert: -odd=name\n");
  EXPECT_EQ(Parse({"--config", file}), "");
  EXPECT_EQ(listen_, "unix:/run/x");
  EXPECT_EQ(lease_s_, 2.5);
  EXPECT_EQ(spares_, (std::vector<std::string>{"h1", "h2"}));
  EXPECT_EQ(folder_, "");
  EXPECT_EQ(certificate_, "-odd=name");
  EXPECT_TRUE(insecure_);
}

TEST_F(DaemonConfigTest, TheCommandLineWinsOverTheEnvironmentAndThatOverTheFile) {
  const std::string file = Config("listen: file\nlease: 2\nspare: file\ninsecure: false\n");
  SetVariable("KEEPER_LEASE", "3");
  SetVariable("KEEPER_SPARE", "env1,env2");
  SetVariable("KEEPER_LISTEN", "env");
  EXPECT_EQ(Parse({"--listen=call", "--config=" + file}), "");
  EXPECT_EQ(listen_, "call");
  EXPECT_EQ(lease_s_, 3);
  EXPECT_EQ(spares_, (std::vector<std::string>{"env1", "env2"}));
  EXPECT_FALSE(insecure_);
}

TEST_F(DaemonConfigTest, TheEnvironmentNamesTheFile) {
  SetVariable("KEEPER_CONFIG", Config("listen: file\n"));
  SetVariable("KEEPER_LEASE", "");  // counts as not set
  EXPECT_EQ(Parse({}), "");
  EXPECT_EQ(listen_, "file");
  EXPECT_EQ(lease_s_, 5);
}

TEST_F(DaemonConfigTest, NamesThePlaceOfAWrongValue) {
  const std::string file = Config("listen: x\nlease: 0\n");
  std::string message = Parse({"--config", file});
  EXPECT_TRUE(message.starts_with("--lease: ") && message.ends_with(" (" + file + ":2)")) << message;
  SetVariable("KEEPER_LEASE", "many");
  message = Parse({"--config", file});
  EXPECT_TRUE(message.starts_with("--lease: ") && message.ends_with(" ($KEEPER_LEASE)")) << message;
  SetVariable("KEEPER_INSECURE", "maybe");
  message = Parse({"--config", file, "--lease", "3"});
  EXPECT_TRUE(message.find("--insecure") != std::string::npos && message.ends_with(" ($KEEPER_INSECURE)")) << message;
  SetVariable("KEEPER_INSECURE", "");
  message = Parse({"--config", file, "--lease", "10"});
  EXPECT_EQ(message.find("KEEPER_LEASE"), std::string::npos) << message;
}

TEST_F(DaemonConfigTest, RefusesWhatIsNoOption) {
  EXPECT_NE(Parse({"--config", Config("listen: x\nleese: 3\n")}).find(":2: unknown key 'leese'; did you mean 'lease'?"),
            std::string::npos);
  EXPECT_NE(Parse({"--config", Config("config: other.yaml\n")}).find("unknown key 'config'"), std::string::npos);
  EXPECT_NE(Parse({"--config", Config("insecure: 1\n")}).find("expected true or false, found '1'"), std::string::npos);
  EXPECT_NE(Parse({"--config", Config("lease:\n")}).find("found nothing"), std::string::npos);
  EXPECT_NE(Parse({"--config", "no-such.yaml"}).find("no-such.yaml: cannot be read"), std::string::npos);
  EXPECT_NE(Parse({"--config"}).find("--config"), std::string::npos);
}

TEST_F(DaemonConfigTest, LeavesOtherCommandsAlone) {
  SetVariable("KEEPER_LEASE", "3");
  const std::vector<std::string> args = {"keeper", "look", "--lease", "7"};
  const auto all = AddConfiguredArguments(app_, args);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->args, args);
  EXPECT_TRUE(all->places.empty());
}

}  // namespace
}  // namespace fairlead::cli
