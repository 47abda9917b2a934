#include "telemetry/input_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <iterator>

#include "base/random.h"

namespace fairlead::telemetry {
namespace {

using testing::HasSubstr;

class InputTest : public testing::Test {
 protected:
  static std::string Pack(const std::string& text) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return packed;
  }
  Result<std::string> Read(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    FL_ASSIGN_OR_RETURN(const auto stream, OpenInput(path_));
    return std::string(std::istreambuf_iterator<char>(*stream), {});
  }

  const std::string path_ = testing::TempDir() + "/input_text_test.zst";
};

TEST_F(InputTest, ZstandardIsUnpackedFrameByFrame) {
  std::string text;
  Random random(3);
  while (text.size() < 3'000'000) text += std::to_string(random.Below(1000)) + (text.size() % 7 == 0 ? "\n" : " ");
  EXPECT_EQ(Read(Pack(text)).value(), text);
  EXPECT_EQ(Read(Pack(text) + Pack("the end")).value(), text + "the end");
  std::string many;
  many.resize(50'000'000, 'x');
  EXPECT_EQ(Read(Pack(many)).value().size(), 50'000'000u) << "more than one block from few bytes";
  EXPECT_EQ(Read(Pack("")).value(), "");
}

TEST_F(InputTest, WhatIsDamagedOrCutOffIsRefused) {
  const std::string packed = Pack(std::string(100'000, 'a') + "b" + std::string(100'000, 'c'));
  for (const size_t size : {size_t{3}, size_t{9}, packed.size() / 2, packed.size() - 1}) {
    const auto read = Read(packed.substr(0, size));
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_THAT(read.status().message(), HasSubstr("is packed by Zstandard and damaged behind byte")) << size;
  }
  std::string wrong = packed;
  wrong[packed.size() / 2] = static_cast<char>(wrong[packed.size() / 2] ^ 0x55);
  EXPECT_FALSE(Read(wrong + "more").ok());
  EXPECT_THAT(Read("(1, 2)\n").status().message(), HasSubstr("Zstandard"));
}

// 2 GiB of zeros in some 200 KB.
TEST_F(InputTest, WhatUnpacksToTooMuchIsRefused) {
  const std::string part = Pack(std::string(64 << 20, '\0'));
  std::string content;
  for (int i = 0; i < 32; ++i) content += part;
  EXPECT_EQ(Read(content).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace fairlead::telemetry
