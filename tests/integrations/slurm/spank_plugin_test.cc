// Which environment does the SPANK plugin give to tasks? The plugin as Slurm loads it; what it calls of Slurm is here.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <slurm/spank.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"

namespace {

// A macro of a number; others are enumerators.
constexpr auto kSuccess = static_cast<spank_err_t>(ESPANK_SUCCESS);

using Environment = std::map<std::string, std::string>;

struct Slurm {
  Environment environment;
  uint32_t job = 4711;
  spank_context_t context = S_CTX_REMOTE;
  std::vector<spank_option> options;
  std::vector<std::string> errors;
};
Slurm slurm;

}  // namespace

// What slurmstepd, srun and sbatch have for plugins.
extern "C" {

spank_context_t spank_context() { return slurm.context; }

spank_err_t spank_option_register(spank_t, spank_option* option) {
  slurm.options.push_back(*option);
  return kSuccess;
}

spank_err_t spank_get_item(spank_t, spank_item_t item, ...) {
  if (item != S_JOB_ID) return ESPANK_BAD_ARG;
  va_list arguments;
  va_start(arguments, item);  // NOLINT(clang-diagnostic-varargs): as Slurm declares it
  *va_arg(arguments, uint32_t*) = slurm.job;
  va_end(arguments);
  return kSuccess;
}

spank_err_t spank_getenv(spank_t, const char* name, char* value, int size) {
  const auto found = slurm.environment.find(name);
  if (found == slurm.environment.end()) return ESPANK_ENV_NOEXIST;
  if (found->second.size() >= static_cast<size_t>(size)) return ESPANK_NOSPACE;
  std::strcpy(value, found->second.c_str());
  return kSuccess;
}

spank_err_t spank_setenv(spank_t, const char* name, const char* value, int overwrite) {
  if (overwrite == 0 && slurm.environment.contains(name)) return ESPANK_ENV_EXISTS;
  slurm.environment[name] = value;
  return kSuccess;
}

spank_err_t spank_unsetenv(spank_t, const char* name) {
  slurm.environment.erase(name);
  return kSuccess;
}

void slurm_error(const char* format, ...) {
  char text[500];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  slurm.errors.emplace_back(text);
}

}  // extern "C"

namespace {

class SpankPluginTest : public testing::Test {
 protected:
  SpankPluginTest() {
    slurm = {};
    library_ = dlopen(FAIRLEAD_SPANK_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) ADD_FAILURE() << dlerror();
    steer_ = (folder_.path() / "libfairlead-steer.so").string();
    profiler_ = (folder_.path() / "profiler.so").string();
    for (const std::string& path : {steer_, profiler_}) fclose(fopen(path.c_str(), "w"));
    arguments_ = {"folder=/run/segments", "steer=" + steer_, "profiler=" + profiler_};
  }
  ~SpankPluginTest() override { dlclose(library_); }

  int Call(const char* name) {
    std::vector<char*> words;
    for (std::string& argument : arguments_) words.push_back(argument.data());
    return reinterpret_cast<spank_f*>(dlsym(library_, name))(nullptr, static_cast<int>(words.size()), words.data());
  }

  // A task begins on a host, with its step's option, if there is one. Returns its environment.
  const Environment& Begin(const std::optional<std::string>& option = std::nullopt) {
    slurm.options.clear();
    EXPECT_EQ(Call("slurm_spank_init"), 0);
    if (option.has_value()) {
      EXPECT_EQ(slurm.options.at(0).cb(slurm.options.at(0).val, option->c_str(), 1), 0);
    }
    EXPECT_EQ(Call("slurm_spank_task_init"), 0);
    return slurm.environment;
  }

  Environment Watched(const std::string& mode) const {
    return {{"FAIRLEAD_JOB", "slurm-4711"},
            {"FAIRLEAD_MODE", mode},
            {"FAIRLEAD_SHM_FOLDER", "/run/segments"},
            {"NCCL_PROFILER_PLUGIN", profiler_}};
  }
  Environment Steered() const {
    Environment environment = Watched("on");
    environment["LD_PRELOAD"] = steer_;
    return environment;
  }

  fairlead::TemporaryFolder folder_;
  std::string steer_, profiler_;
  std::vector<std::string> arguments_;

 private:
  void* library_ = nullptr;
};

TEST_F(SpankPluginTest, TasksAreWatchedAndSteered) { EXPECT_EQ(Begin(), Steered()); }

TEST_F(SpankPluginTest, AStepInheritsNothingTwice) {
  Begin();
  EXPECT_EQ(Begin(), Steered());
  EXPECT_EQ(Begin("on"), Steered());
}

TEST_F(SpankPluginTest, ModesOfAStepReplaceThoseOfItsScript) {
  EXPECT_EQ(Begin("observe"), Watched("observe"));
  EXPECT_EQ(Begin(), Watched("observe")) << "a step has its script's mode";
  EXPECT_EQ(Begin("on"), Steered());
  EXPECT_EQ(Begin("off"), (Environment{{"FAIRLEAD_MODE", "off"}}));
  EXPECT_EQ(Begin(), (Environment{{"FAIRLEAD_MODE", "off"}}));
  EXPECT_EQ(Begin("observe"), Watched("observe"));
}

TEST_F(SpankPluginTest, AJobWithoutOptionsSaysItsModeInItsEnvironment) {
  slurm.environment = {{"FAIRLEAD_MODE", "observe"}};
  EXPECT_EQ(Begin(), Watched("observe"));
  slurm.environment = {{"FAIRLEAD_MODE", "perhaps, and that at length"}};
  EXPECT_EQ(Begin(), Steered()) << "which is the site's";
}

TEST_F(SpankPluginTest, TheSitesModeIsThatOfJobsThatDoNotSay) {
  arguments_.emplace_back("mode=observe");
  EXPECT_EQ(Begin(), Watched("observe"));
  EXPECT_EQ(Begin("on"), Steered());
}

TEST_F(SpankPluginTest, WhatTheUserHasSetStays) {
  slurm.environment = {{"FAIRLEAD_JOB", "gpt"}, {"NCCL_PROFILER_PLUGIN", "mine.so"}, {"LD_PRELOAD", "/a/x.so /b/y.so"}};
  Environment expected = {{"FAIRLEAD_JOB", "gpt"},
                          {"FAIRLEAD_MODE", "on"},
                          {"FAIRLEAD_SHM_FOLDER", "/run/segments"},
                          {"LD_PRELOAD", steer_ + ":/a/x.so:/b/y.so"},
                          {"NCCL_PROFILER_PLUGIN", "mine.so"}};
  EXPECT_EQ(Begin(), expected);
  EXPECT_EQ(Begin(), expected);
  EXPECT_EQ(Begin("off"), (Environment{{"FAIRLEAD_JOB", "gpt"},
                                       {"FAIRLEAD_MODE", "off"},
                                       {"LD_PRELOAD", "/a/x.so:/b/y.so"},
                                       {"NCCL_PROFILER_PLUGIN", "mine.so"}}));
}

TEST_F(SpankPluginTest, AJobIsNotCalledByTheJobThatItWasSubmittedFrom) {
  Begin();
  slurm.job = 4712;
  EXPECT_EQ(Begin().at("FAIRLEAD_JOB"), "slurm-4712");
  for (const char* name : {"slurm-", "slurm-47x", "slurm-4711-b"}) {
    slurm.environment["FAIRLEAD_JOB"] = name;
    EXPECT_EQ(Begin().at("FAIRLEAD_JOB"), name) << "a name of the user's";
  }
  slurm.environment["FAIRLEAD_JOB"] = "";
  EXPECT_EQ(Begin().at("FAIRLEAD_JOB"), "slurm-4712");
}

TEST_F(SpankPluginTest, ALibraryOfTheUsersOwnIsNotLoadedASecondTime) {
  slurm.environment = {{"LD_PRELOAD", "/opt/mine/libfairlead-steer.so"}};
  EXPECT_EQ(Begin().at("LD_PRELOAD"), "/opt/mine/libfairlead-steer.so");
  slurm.environment["LD_PRELOAD"] = "/opt/mine/not-libfairlead-steer.so";
  EXPECT_EQ(Begin().at("LD_PRELOAD"), steer_ + ":/opt/mine/not-libfairlead-steer.so");
}

TEST_F(SpankPluginTest, LibrariesThatTheHostDoesNotHaveAreNotNamed) {
  Begin();
  unlink(steer_.c_str());
  unlink(profiler_.c_str());
  EXPECT_FALSE(Begin().contains("LD_PRELOAD")) << "nor inherited: the step may run on another host than its script";
  EXPECT_FALSE(Begin().contains("NCCL_PROFILER_PLUGIN"));
  EXPECT_EQ(Begin().at("FAIRLEAD_JOB"), "slurm-4711");
}

TEST_F(SpankPluginTest, APreloadThatIsTooLongIsLeftAlone) {
  const std::string preload(20'000, 'x');
  slurm.environment = {{"LD_PRELOAD", preload}};
  EXPECT_EQ(Begin().at("LD_PRELOAD"), preload);
  // The longest that is taken: 16,383 bytes.
  slurm.environment["LD_PRELOAD"] = preload.substr(0, 16'383);
  EXPECT_EQ(Begin().at("LD_PRELOAD"), steer_ + ":" + preload.substr(0, 16'383));
}

TEST_F(SpankPluginTest, MistakesAreSaidAndHarmless) {
  arguments_.insert(arguments_.end(), {"fodler=/x", "mode=maybe", "steer"});
  EXPECT_EQ(Begin(), Steered());
  ASSERT_EQ(slurm.errors.size(), 3u);
  EXPECT_EQ(slurm.errors[0], "fairlead: plugstack.conf: 'fodler=/x' is not understood, and ignored");
  slurm = {};
  slurm.context = S_CTX_ALLOCATOR;
  EXPECT_EQ(Call("slurm_spank_init"), 0);
  EXPECT_TRUE(slurm.errors.empty()) << "users need not read it with each sbatch";
  for (const char* value : {"maybe", "", "ON"}) EXPECT_EQ(slurm.options.at(0).cb(0, value, 0), -1);
  EXPECT_EQ(slurm.options.at(0).cb(0, nullptr, 0), -1);
  EXPECT_EQ(slurm.errors.at(0), "--fairlead: expected on, off or observe, found 'maybe'");
}

TEST_F(SpankPluginTest, NoOptionWhereThereAreNoTasks) {
  for (const spank_context_t context : {S_CTX_SLURMD, S_CTX_JOB_SCRIPT}) {
    slurm.context = context;
    EXPECT_EQ(Call("slurm_spank_init"), 0);
  }
  EXPECT_TRUE(slurm.options.empty());
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> entries;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(" :", begin), text.size());
    if (end > begin) entries.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return entries;
}

// However steps are nested, the last mode decides, other libraries keep their order, and ours comes at most once.
TEST_F(SpankPluginTest, TheLastModeDecides) {
  EXPECT_TRUE(rc::check([&] {
    slurm = {};
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("/a.so", "b.so", ":", " ", steer_, "::"));
    std::string preload;
    for (const std::string& piece : pieces) preload += (preload.empty() ? "" : ":") + piece;
    if (!preload.empty()) slurm.environment["LD_PRELOAD"] = preload;
    auto others = Split(preload);
    std::erase(others, steer_);
    const auto modes = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>("on", "observe", "off")));
    for (const std::string& mode : modes) Begin(mode);
    const auto found = slurm.environment.find("LD_PRELOAD");
    const auto entries = found == slurm.environment.end() ? std::vector<std::string>() : Split(found->second);
    if (modes.back() == "on") others.insert(others.begin(), steer_);
    RC_ASSERT(entries == others);
    RC_ASSERT(slurm.environment.contains("FAIRLEAD_JOB") == (modes.back() != "off"));
  }));
}

}  // namespace
