// The profile files: built in, loaded, overridden, refused.
#include "collective/model_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/temporary_folder.h"
#include "collective/embedded_profiles.h"
#include "collective/model_profile_yaml.h"
#include "collective/training_iteration.h"

namespace fairlead::collective {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kTiny = R"(
name: tiny
transformer: {layers: 2, hidden: 8, heads: 2, vocabulary: 5, sequence_length: 4}
training: {samples_per_micro_batch: 1, efficiency: 0.5}
)";

std::string ReadText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ProfileDirectoryTest : public testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) { std::ofstream(directory_.File(name)) << text; }

  const TemporaryFolder directory_;
};

TEST(BuiltInProfilesTest, AreTheFilesOfTheSourceTree) {
  const std::filesystem::path directory = std::filesystem::path(FAIRLEAD_SOURCE_DIR) / "profiles";
  size_t num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    num_files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  EXPECT_EQ(EmbeddedProfiles().size(), num_files);
  for (const EmbeddedProfile& file : EmbeddedProfiles()) {
    EXPECT_EQ(file.text, ReadText(directory / file.file_name)) << file.file_name;
    const ModelProfile profile = ParseModelProfile(file.text, std::string(file.file_name)).value();
    EXPECT_EQ(profile.name + ".yaml", file.file_name);
    EXPECT_GE(profile.sources.size(), 2u) << profile.name << " must say where its numbers come from";
    EXPECT_FALSE(profile.parallelism.empty()) << profile.name;
  }
}

TEST(BuiltInProfilesTest, HoldTheModelsOfThePapers) {
  const ModelProfiles profiles = ModelProfiles::BuiltIn();
  for (const char* name : {"bert-large", "ctr-recommender", "gpt-1.3b", "gpt-13b", "gpt-175b", "gpt-22b",
                           "gpt-24l-1024", "gpt-30b", "gpt-3b", "gpt-65b", "gpt-7b", "llama-13b", "llama-30b",
                           "llama-65b", "llama-7b", "moe", "multi-interests", "nmt", "resnet-50"}) {
    EXPECT_TRUE(profiles.Find(name).ok()) << name;
  }
}

// Any job of a trace can be built from a profile and its number of GPUs alone.
TEST(BuiltInProfilesTest, DefaultsGiveAnIterationForEveryNumberOfGpus) {
  const ModelProfiles profiles = ModelProfiles::BuiltIn();
  for (const std::string& name : profiles.Names()) {
    const ModelProfile& profile = *profiles.Find(name).value();
    for (uint32_t gpus_per_host : {1u, 4u, 6u, 8u}) {
      for (uint32_t gpus = 1; gpus <= 72; ++gpus) {
        RankLayout layout = MakeRegularLayout(gpus / gpus_per_host + 1, gpus_per_host);
        layout.ranks.resize(gpus);
        const auto iteration =
            BuildIteration(profile, DefaultParallelism(profile, gpus, gpus_per_host), layout, FlopPerSecond(312e12));
        ASSERT_TRUE(iteration.ok()) << gpus << " GPUs, " << gpus_per_host
                                    << " a host: " << iteration.status().message();
        EXPECT_GT(iteration.value().compute_time, Seconds(1e-3)) << name;
        EXPECT_LT(iteration.value().compute_time, Seconds(1000)) << name;
        EXPECT_EQ(iteration.value().flows.empty(), gpus == 1) << name << " on " << gpus;
      }
    }
  }
}

TEST(ModelProfilesTest, UnknownNameListsTheKnownOnes) {
  const auto found = ModelProfiles::BuiltIn().Find("mega");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(found.status().message(), HasSubstr("unknown model profile 'mega'; known: bert-large, ctr-recommender"));
}

TEST_F(ProfileDirectoryTest, UserProfilesComeOnTopAndReplaceByName) {
  Write("mine.yaml", kTiny);
  Write("bert.yaml",
        "name: bert-large\nconvolution: {parameters: 3, forward_multiply_adds: 2}\n"
        "training: {samples_per_micro_batch: 1, efficiency: 1}\n");
  Write("notes.txt", "not a profile");
  const ModelProfiles profiles = LoadModelProfiles(directory_.path()).value();
  EXPECT_EQ(profiles.size(), ModelProfiles::BuiltIn().size() + 1);
  EXPECT_TRUE(profiles.Find("tiny").ok());
  EXPECT_EQ(Parameters(*profiles.Find("bert-large").value()), 3);
}

TEST_F(ProfileDirectoryTest, OneNameTwiceIsAnErrorThatNamesBothFiles) {
  Write("a.yaml", kTiny);
  Write("b.yaml", kTiny);
  const auto profiles = LoadModelProfiles(directory_.path());
  ASSERT_FALSE(profiles.ok());
  EXPECT_EQ(profiles.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(profiles.status().message(), HasSubstr("b.yaml: the model profile 'tiny' is already defined by"));
  EXPECT_THAT(profiles.status().message(), HasSubstr("a.yaml"));
}

TEST_F(ProfileDirectoryTest, MissingDirectoryIsNamed) {
  const auto profiles = LoadModelProfiles(directory_.File("absent"));
  ASSERT_FALSE(profiles.ok());
  EXPECT_EQ(profiles.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(profiles.status().message(), HasSubstr("absent"));
}

std::string ErrorOf(const std::string& text) {
  const auto profile = ParseModelProfile(text, "p.yaml");
  return profile.ok() ? "" : profile.status().message();
}

std::string Replaced(std::string_view from, std::string_view to) {
  std::string text(kTiny);
  return text.replace(text.find(from), from.size(), to);
}

TEST(ModelProfileYamlTest, MinimalProfileGetsTheDefaults) {
  const ModelProfile profile = ParseModelProfile(kTiny, "p.yaml").value();
  const auto& t = std::get<Transformer>(profile.architecture);
  EXPECT_EQ(t.ffn_hidden, 32u);  // 4 * hidden
  EXPECT_EQ(t.key_value_heads, 2u);
  EXPECT_EQ(profile.overlap_start, 0.5);
  EXPECT_EQ(profile.element_bytes, 2);
}

TEST(ModelProfileYamlTest, RefusesWithFileAndReason) {
  EXPECT_THAT(ErrorOf(Replaced("heads: 2", "heads: 3")),
              HasSubstr("p.yaml: model profile 'tiny': hidden 8 is no multiple"));
  EXPECT_THAT(ErrorOf(Replaced("hidden: 8", "hidden: -8")),
              HasSubstr("p.yaml:3: transformer.hidden: expected an integer"));
  EXPECT_THAT(ErrorOf(Replaced("hidden: 8, ", "")), HasSubstr("hidden"));
  EXPECT_THAT(ErrorOf(Replaced("heads: 2", "heads: 2, head: 1")), HasSubstr("unknown key 'head'"));
  EXPECT_THAT(ErrorOf(Replaced("efficiency: 0.5", "efficiency: 1.5")), HasSubstr("training.efficiency"));
  EXPECT_THAT(ErrorOf(Replaced("name: tiny", "name: tiny\ncolour: red")), HasSubstr("unknown key 'colour'"));
  EXPECT_THAT(ErrorOf(Replaced("transformer:", "rnn:")), HasSubstr("exactly one of the sections"));
  EXPECT_THAT(ErrorOf(std::string(kTiny) + "convolution: {parameters: 1, forward_multiply_adds: 1}\n"),
              HasSubstr("exactly one of the sections"));
  EXPECT_THAT(ErrorOf(Replaced("heads: 2", "heads: 2, experts: 4, active_experts: 5")), HasSubstr("active_experts 5"));
  EXPECT_THAT(ErrorOf(Replaced("heads: 2", "heads: 2, expert_interval: 3")), HasSubstr("expert_interval 3"));
  EXPECT_THAT(ErrorOf(Replaced("heads: 2", "heads: 2, cross_attention_layers: 3")),
              HasSubstr("cross_attention_layers"));
}

TEST(ModelProfileYamlTest, RefusesParallelismThatDoesNotFitTheModel) {
  const std::string text(kTiny);
  EXPECT_THAT(ErrorOf(text + "parallelism: [{min_gpus: 8, pipeline: 4}]\n"),
              HasSubstr("pipeline does not divide layers"));
  EXPECT_THAT(ErrorOf(text + "parallelism: [{min_gpus: 8, tensor: 4}]\n"), HasSubstr("tensor does not divide heads"));
  EXPECT_THAT(ErrorOf(text + "parallelism: [{min_gpus: 8, expert: 2}]\n"), HasSubstr("expert does not divide experts"));
  EXPECT_THAT(ErrorOf(text + "parallelism: [{min_gpus: 8}, {min_gpus: 8}]\n"), HasSubstr("min_gpus must ascend"));
  EXPECT_THAT(ErrorOf(text + "parallelism: [{min_gpus: 8, zero_stage: 4}]\n"), HasSubstr("zero_stage"));
  EXPECT_THAT(
      ErrorOf("name: net\nconvolution: {parameters: 1, forward_multiply_adds: 1}\n"
              "training: {samples_per_micro_batch: 1, efficiency: 0.5}\nparallelism: [{min_gpus: 1, tensor: 2}]\n"),
      HasSubstr("only transformers"));
}

}  // namespace
}  // namespace fairlead::collective
