// Pickles, byte by byte as pickletools shows them; those that Python writes are read in tests/e2e/diag_command_test.py.
#include "telemetry/pickle_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "telemetry/detect_format.h"
#include "telemetry/import_texts.h"

namespace fairlead::telemetry {
namespace {

using codec::Json;
using testing::HasSubstr;

const std::string kHead("\x80\x02", 2);

std::string Text(const std::string& text) {
  std::string bytes = "X";
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(text.size() >> shift & 0xff);
  return bytes + text;
}
std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}
std::string Error(const std::string& bytes) {
  const auto json = ParsePickle(bytes, "f");
  return json.ok() ? "read as " + json->dump() : std::string(json.status().message());
}

TEST(PickleReaderTest, ReadsDataOfAllKinds) {
  const std::string numbers = "(K\x07M" + Bytes({0x01, 0x02}) + "J" + Bytes({0xfe, 0xff, 0xff, 0xff}) +
                              Bytes({0x8a, 8, 0, 0x10, 0xa5, 0xd4, 0xe8, 0, 0, 0}) + Bytes({0x8a, 1, 0xff}) +
                              Bytes({0x8a, 0}) + "G" + Bytes({0x3f, 0xf8, 0, 0, 0, 0, 0, 0}) + Bytes({0x88, 0x89}) +
                              "Nt";
  const auto json = ParsePickle(kHead + "}(" + Text("numbers") + numbers + Text("list") + "](" + Text("a") + "e" +
                                    Text("none") + "N" + "K\x03" + ")" + "u.",
                                "f");
  ASSERT_TRUE(json.ok()) << json.status().message();
  // 513 = 2 * 256 + 1; -2; 0xe8d4a51000 = 10^12; -1; 0; 1.5. What is None is left out of dictionaries, not of lists.
  EXPECT_EQ(*json, Json::parse(R"({"numbers": [7, 513, -2, 1000000000000, -1, 0, 1.5, true, false, null],
                                   "list": ["a"], "3": []})"));
}

TEST(PickleReaderTest, SharedValuesAreReadWhereverTheyAreNamed) {
  // A list is remembered, then filled; both places see what it holds.
  const auto json = ParsePickle(kHead + "](]q\x05(K\x01K\x02" + "eh\x05" + "e.", "f");
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(*json, Json::parse("[[1, 2], [1, 2]]"));
}

TEST(PickleReaderTest, WhatWouldRunCodeIsRefusedByName) {
  // os.system("id"), as Python writes it in protocols 2 and 4.
  EXPECT_EQ(Error(kHead + "cos\nsystem\n" + Text("id") + "\x85R."),
            "f: byte 2: GLOBAL would run code of the file and is refused; a flight recorder has none");
  const std::string in_four = Bytes({0x80, 4, 0x95, 0, 0, 0, 0, 0, 0, 0, 0}) + Bytes({0x8c, 2}) + "os" +
                              Bytes({0x8c, 6}) + "system" + Bytes({0x93});
  EXPECT_THAT(Error(in_four + Bytes({0x8c, 2}) + "id" + "\x85R."), HasSubstr("byte 23: STACK_GLOBAL would run code"));
  for (const char* opcode : {"R", "b", "\x81", "\x92", "i", "o", "P", "Q", "\x82", "\x83", "\x84"}) {
    EXPECT_THAT(Error(kHead + "NN" + opcode), HasSubstr("byte 4: ")) << opcode;
    EXPECT_THAT(Error(kHead + "NN" + opcode), HasSubstr("would run code")) << opcode;
  }
  EXPECT_EQ(Error(kHead + "\x96"), "f: byte 2: opcode 0x96 is not expected in a flight recorder");
}

TEST(PickleReaderTest, DamagedFilesAreErrorsThatSayWhere) {
  const std::string whole = kHead + "}(" + Text("a") + "](K\x01" + "eu.";
  ASSERT_TRUE(ParsePickle(whole, "f").ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Error(whole.substr(0, size)), HasSubstr("the file ends in the midst of a value")) << size;
  }
  EXPECT_EQ(Error(kHead + "h\x01."), "f: byte 2: memo 1 was never written");
  EXPECT_EQ(Error(kHead + "e."), "f: byte 2: a mark is missing on the stack");
  EXPECT_EQ(Error(kHead + "N(a."), "f: byte 4: a value is missing on the stack") << "a mark hides what is below it";
  EXPECT_EQ(Error(kHead + "}Na."), "f: byte 4: expected a list");
  EXPECT_EQ(Error(kHead + "}(Nu."), "f: byte 5: expected a dictionary and pairs");
  EXPECT_EQ(Error(kHead + "}(NNu."), "f: byte 7: a key of a dictionary is neither text nor integer") << "None is none";
  EXPECT_EQ(Error(kHead + "NN."), "f: byte 4: values are left over at the end");
  EXPECT_EQ(Error(kHead + Bytes({0x8a, 9})), "f: byte 2: an integer of 9 bytes; expected 8 at most");
  EXPECT_EQ(Error(Bytes({0x80, 6}) + "N."), "f: byte 0: protocol 6; expected 2 to 5");
  EXPECT_EQ(Error(kHead + Text("\xff") + "."), "f: byte 2: a text is not UTF-8");
}

TEST(PickleReaderTest, CirclesAndBombsAreRefused) {
  EXPECT_EQ(Error(kHead + "]q\x01h\x01" + "a."), "f: byte 8: nested more than 16 deep") << "a list that holds itself";
  // Each list holds the one before ten times: 10^12 values from 400 bytes.
  std::string bomb = kHead + "K\x01q" + Bytes({0});
  for (int level = 1; level <= 12; ++level) {
    bomb += "](";
    for (int i = 0; i < 10; ++i) bomb += "h" + Bytes({level - 1});
    bomb += "eq" + Bytes({level});
  }
  EXPECT_THAT(Error(kHead + "(" + bomb.substr(2) + "t."), HasSubstr("the same values are repeated too often"));
}

// Two ranks; rank 1 never comes to the second all-reduce. As PyTorch's own writer: protocol 2, tuples of sizes, frames.
std::string Dump(int rank) {
  const auto entry = [](int number, bool is_done) {
    const std::string frame =
        "}(" + Text("name") + Text("step") + Text("filename") + Text("/job/train.py") + Text("line") + "K\x58" + "u";
    std::string text = "}(" + Text("frames") + "](" + frame + "e";
    for (const char* key : {"record_id", "collective_seq_id", "op_id"}) text += Text(key) + "K" + Bytes({number});
    text += Text("pg_id") + "K" + Bytes({0}) + Text("process_group") + Text("0") + Text("default_pg") + "\x86";
    text += Text("profiling_name") + Text("nccl:all_reduce") + Text("time_created_ns") + "K" + Bytes({number + 10});
    text += Text("state") + Text(is_done ? "completed" : "started");
    text += Text("time_discovered_started_ns") + "K" + Bytes({number + 20}) + Text("time_discovered_completed_ns");
    text += is_done ? "K" + Bytes({number + 30}) : "N";
    text += Text("input_sizes") + "](K\x03K\x04" + "\x86" + "e" + Text("input_dtypes") + "](" + Text("Float") + "e";
    return text + Text("is_p2p") + "\x89" + "u";
  };
  std::string dump = kHead + "}(" + Text("version") + Text("2.10") + Text("rank") + "K" + Bytes({rank});
  dump += Text("pg_config") + "}(" + Text("0") + "}(" + Text("name") + Text("0") + Text("desc") + Text("default_pg") +
          Text("ranks") + Text("[0, 1]") + "uu";
  dump += Text("entries") + "](" + entry(0, true) + (rank == 0 ? entry(1, false) : "") + "e";
  return dump + "u.";
}

TEST(PickleReaderTest, APickledFlightRecorderIsAFlightRecorder) {
  ASSERT_TRUE(DetectFormat(Dump(0), "f").ok());
  EXPECT_EQ(*DetectFormat(Dump(0), "f"), RecordingFormat::kFlightRecorder);
  EXPECT_THAT(DetectFormat(kHead + "N.", "f").status().message(), HasSubstr("not one of PyTorch's flight recorder"));
  const auto recording = ImportTexts(RecordingFormat::kFlightRecorder, {{"trace_0", Dump(0)}, {"trace_1", Dump(1)}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  const model::RankReport* ahead = FindReport(*recording, 0);
  ASSERT_NE(ahead, nullptr);
  ASSERT_EQ(ahead->operations.size(), 2u);
  EXPECT_EQ(ahead->operations[1].bytes, 48u);  // 3 * 4 elements of 4 bytes
  EXPECT_FALSE(ahead->operations[1].finished.has_value());
  EXPECT_EQ(FindReport(*recording, 1)->operations.size(), 1u);
  EXPECT_THAT(recording->notes,
              testing::Contains("Collective 1 of process group 0 is not finished; issued by rank 0 at "
                                "step (train.py:88)."));
}

}  // namespace
}  // namespace fairlead::telemetry
