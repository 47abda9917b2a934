#include "telemetry/input_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <iterator>

#include "base/random.h"
#include "base/temporary_folder.h"

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
  Result<std::string> Read(const std::string& content, size_t unpacked_bytes_max = size_t{1} << 30) {
    std::ofstream(path_, std::ios::binary) << content;
    FL_ASSIGN_OR_RETURN(const auto stream, OpenInput(path_, unpacked_bytes_max));
    return std::string(std::istreambuf_iterator<char>(*stream), {});
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("input.zst");
};

TEST_F(InputTest, ZstandardIsUnpackedFrameByFrame) {
  std::string text;
  Random random(3);
  while (text.size() < 3'000'000) text += std::to_string(random.Below(1000)) + (text.size() % 7 == 0 ? "\n" : " ");
  EXPECT_EQ(Read(Pack(text)).value(), text);
  EXPECT_EQ(Read(Pack(text) + Pack("the end")).value(), text + "the end");
  const std::string blocks(3 * ZSTD_DStreamOutSize(), 'x');
  EXPECT_EQ(Read(Pack(blocks)).value(), blocks) << "ends with a block";
  EXPECT_EQ(Read(Pack(blocks) + Pack(blocks)).value(), blocks + blocks);
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

// Zeros take a ten thousandth of their size.
TEST_F(InputTest, WhatUnpacksToTooMuchIsRefused) {
  constexpr size_t kMost = size_t{4} << 20;
  const std::string most = Pack(std::string(kMost, '\0'));
  EXPECT_EQ(Read(most, kMost).value().size(), kMost);
  const Status more = Read(most + Pack("x"), kMost).status();
  EXPECT_EQ(more.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(more.message(), HasSubstr("unpacks to more than 4194304 bytes"));
}

}  // namespace
}  // namespace fairlead::telemetry
