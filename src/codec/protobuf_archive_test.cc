#include "codec/protobuf_archive.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "codec/json_archive.h"
#include "codec/random_archive.h"

namespace fairlead::codec {
namespace {

struct Leaf {
  uint16_t port = 7;
  std::string name;

  friend bool operator==(const Leaf&, const Leaf&) = default;
};

template <class Archive, IsRecord<Leaf> Record>
void Describe(Archive& archive, Record& leaf) {
  archive.Required(1, "port", leaf.port);
  archive.Required(2, "name", leaf.name);
}

enum class Color : uint8_t { kRed, kGreen };

}  // namespace

template <>
inline constexpr uint64_t kNumEnumerators<Color> = 2;

namespace {

struct Tree {
  Leaf leaf;
  std::vector<Leaf> leaves;
  std::vector<uint32_t> numbers;
  std::array<uint32_t, 3> bins = {};
  IpAddress address;
  std::optional<int64_t> maybe = 5;
  HostId host;
  Color color = Color::kGreen;
  Seconds time{3};
  double weight = 1;
  bool is_known = true;
  int32_t pid = 0;

  friend bool operator==(const Tree&, const Tree&) = default;
};

template <class Archive, IsRecord<Tree> Record>
void Describe(Archive& archive, Record& tree) {
  archive.Required(1, "leaf", tree.leaf);
  archive.Required(2, "leaves", tree.leaves, AtMost{4});
  archive.Required(3, "numbers", tree.numbers);
  archive.Optional(4, "bins", tree.bins);
  archive.Required(5, "address", tree.address, MaybeUnset());
  archive.Optional(6, "maybe", tree.maybe);
  archive.Optional(7, "host", tree.host);
  archive.Required(8, "color", tree.color);
  archive.Required(9, "time", tree.time);
  archive.Required(10, "weight", tree.weight, Positive());
  archive.Required(11, "is_known", tree.is_known, Negated());
  archive.Required(12, "pid", tree.pid, PlainInt());
  archive.Law([&] { return tree.numbers.size() == 13 ? "numbers: 13 brings bad luck" : ""; });
}

Tree RandomTree(uint64_t seed) {
  Random random(seed);
  return RandomRecord<Tree>(&random);
}

std::string ErrorOf(std::string_view bytes) {
  Tree tree;
  return ReadProtobuf(bytes, &tree);
}

// A field of the least that a tree needs.
const std::string kGood("\x51\0\0\0\0\0\0\xf0\x3f", 9);  // 10 weight: 1.0

TEST(ProtobufArchive, ReadsWhatItWrote) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Tree tree = RandomTree(seed);
    Tree again;
    ASSERT_EQ(ReadProtobuf(WriteProtobuf(tree), &again), "") << seed;
    EXPECT_EQ(again, tree) << seed;
  }
}

TEST(ProtobufArchive, TheSameDescriptionServesJson) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Tree tree = RandomTree(seed);
    Tree again;
    ASSERT_EQ(ReadValue(ToJson(tree), UnknownKeys::kRefused, &again), "") << seed;
    if (!tree.maybe.has_value()) again.maybe = tree.maybe;  // what is left out keeps its default
    EXPECT_EQ(again, tree) << seed;
  }
}

// By hand from the encoding's specification: tag = number * 8 + wire type.
TEST(ProtobufArchive, BytesAreThoseOfTheSpecification) {
  Tree tree;
  tree.leaf = {.port = 300, .name = "a"};
  tree.numbers = {1, 300};
  tree.bins = {0, 2, 0};
  tree.address = IpAddress::FromIpv4(0x0a000001);
  tree.maybe = -1;
  tree.host = HostId(0);
  tree.time = Seconds(0);
  tree.is_known = false;
  tree.pid = -1;
  const std::string expected = std::string("\x0a\x06\x08\xac\x02\x12\x01") + "a" +  // 1 leaf: 1 port: 300, 2 name
                               "\x1a\x03\x01\xac\x02" +                             // 3 numbers, packed
                               std::string("\x22\x02\x00\x02", 4) +             // 4 bins without the zero at the end
                               std::string("\x2a\x04\x0a\x00\x00\x01", 6) +     // 5 address
                               "\x30\x01" +                                     // 6 maybe: zigzag of -1
                               std::string("\x38\x00", 2) +                     // 7 host, explicitly 0
                               "\x40\x01" +                                     // 8 color: 1
                               kGood +                                          // 10 weight; 9 time is 0
                               "\x58\x01" +                                     // 11 is_known, negated
                               "\x60\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";  // 12 pid: -1 as int32
  EXPECT_EQ(WriteProtobuf(tree), expected);
}

TEST(ProtobufArchive, MissingFieldsAreEmptyNotDefault) {
  Tree tree = RandomTree(3);
  ASSERT_EQ(ReadProtobuf(kGood, &tree), "");
  Tree empty;
  empty.leaf = {.port = 0, .name = ""};
  empty.maybe.reset();
  empty.color = Color::kRed;
  empty.time = Seconds(0);
  EXPECT_EQ(tree, empty);
}

TEST(ProtobufArchive, NumbersMayComeOneByOneAndFieldsTwice) {
  Tree tree;
  ASSERT_EQ(ReadProtobuf(kGood + "\x18\x05\x1a\x02\x06\x07\x18\x08" + "\x60\x01\x60\x02", &tree), "");
  EXPECT_EQ(tree.numbers, (std::vector<uint32_t>{5, 6, 7, 8}));
  EXPECT_EQ(tree.pid, 2);
}

// As other programs may write it: greatest numbers first.
TEST(ProtobufArchive, FieldsMayComeInAnyOrder) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Tree tree = RandomTree(seed);
    const std::string bytes = WriteProtobuf(tree);
    std::map<int, std::string, std::greater<>> fields;  // all of one number stay in order
    WireBytes rest(bytes);
    while (!rest.empty()) {
      const size_t begin = bytes.size() - rest.size();
      int number = 0;
      WireType type = WireType::kVarint;
      ASSERT_TRUE(rest.TakeTag(&number, &type) && rest.Skip(type));
      fields[number] += bytes.substr(begin, bytes.size() - rest.size() - begin);
    }
    std::string reversed;
    for (const auto& [number, field] : fields) reversed += field;
    Tree again;
    ASSERT_EQ(ReadProtobuf(reversed, &again), "") << seed;
    EXPECT_EQ(again, tree) << seed;
  }
  EXPECT_EQ(ErrorOf("\x60\x02\x58\x01"), "weight: expected a number over 0, found 0");
}

TEST(ProtobufArchive, UnknownFieldsAreSkipped) {
  const std::string unknown[] = {"\xa0\x01\x05", std::string("\xa1\x01\0\0\0\0\0\0\0\0", 10), "\xa2\x01\x02xy",
                                 std::string("\xa5\x01\0\0\0\0", 6)};
  for (const std::string& bytes : unknown) {
    EXPECT_EQ(ErrorOf(kGood + bytes), "");
    EXPECT_NE(ErrorOf(kGood + bytes.substr(0, bytes.size() - 1)), "");
    EXPECT_EQ(ErrorOf(kGood + "\x1a\x0d" + std::string(13, '\x01') + bytes), "numbers: 13 brings bad luck")
        << "what is unknown at the end does not take laws away";
  }
  EXPECT_NE(ErrorOf(kGood + "\xa3\x01"), "");  // a group
}

TEST(ProtobufArchive, ErrorsNameTheFieldAndWhatWasExpected) {
  EXPECT_EQ(ErrorOf(""), "weight: expected a number over 0, found 0");
  EXPECT_EQ(ErrorOf(kGood + "\x0a\x04\x08\xff\xff\x04"), "leaf.port: expected 0 to 65535, found 81919");
  EXPECT_EQ(ErrorOf(kGood + "\x12"), "leaves[0]: expected a message, found bytes that are none");
  EXPECT_EQ(ErrorOf(kGood + std::string("\x12\x00", 2) + "\x12\x03\x12\x01\xff"),
            "leaves[1].name: expected UTF-8, found 1 bytes that are not");
  EXPECT_EQ(ErrorOf(kGood + "\x40\x02"), "color: expected 0 to 1, found 2");
  EXPECT_EQ(ErrorOf(kGood + "\x2a\x03" + "abc"), "address: expected an address of 4 or 16 bytes, found 3");
  EXPECT_EQ(ErrorOf(kGood + std::string("\x22\x04\0\0\0\0", 6)), "bins: expected at most 3");
  EXPECT_EQ(ErrorOf(kGood + "\x60\x80\x80\x80\x80\x10"), "pid: expected -2147483648 to 2147483647, found 4294967296");
  EXPECT_EQ(ErrorOf(kGood + "\x3d\x01\x01\x01\x01"), "host: expected a message, found bytes that are none");
  EXPECT_EQ(ErrorOf(kGood + "\x38\xff\xff\xff\xff\x0f"), "host: expected 0 to 4294967294, found 4294967295");
  std::string leaves;
  for (int i = 0; i < 5; ++i) leaves += std::string("\x12\x00", 2);
  EXPECT_EQ(ErrorOf(kGood + leaves), "leaves: expected at most 4, found 5");
  EXPECT_EQ(ErrorOf(kGood + "\x1a\x0d" + std::string(13, '\x01')), "numbers: 13 brings bad luck");
}

// Two bytes of a message make forty in memory.
TEST(ProtobufArchive, MemoryOfListsIsBounded) {
  std::string bytes = kGood;
  for (size_t i = 0; i < kListBytesMax / sizeof(Leaf) + 1; ++i) bytes += std::string_view("\x12\x00", 2);
  EXPECT_EQ(ErrorOf(bytes), "leaves: expected lists of at most 64 MiB");
}

TEST(ProtobufArchive, AnyBytesAreARecordOrAnError) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Random random(seed);
    std::string bytes = WriteProtobuf(RandomTree(seed));
    for (uint64_t i = random.Below(4); i > 0 && !bytes.empty(); --i) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random());
    }
    if (random.Below(2) == 0) bytes.resize(random.Below(bytes.size() + 1));
    Tree tree;
    if (!ReadProtobuf(bytes, &tree).empty()) continue;
    Tree again;
    ASSERT_EQ(ReadProtobuf(WriteProtobuf(tree), &again), "") << seed;
    EXPECT_EQ(again, tree) << seed;
  }
}

using Kind = std::variant<Leaf, Tree>;

template <class Archive, IsRecord<Kind> Record>
void Describe(Archive& archive, Record& kind) {
  archive.template OneOf<Leaf>(1, "leaf", kind);
  archive.template OneOf<Tree>(2, "tree", kind);
}

struct Forest {
  std::vector<Kind> kinds;
};

template <class Archive, IsRecord<Forest> Record>
void Describe(Archive& archive, Record& forest) {
  archive.Required(1, "kinds", forest.kinds);
}

TEST(ProtobufArchive, AVariantIsOneOfItsKinds) {
  Forest forest;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    forest.kinds.push_back(RandomRecord<Kind>(&random));
  }
  Forest again;
  ASSERT_EQ(ReadProtobuf(WriteProtobuf(forest), &again), "");
  EXPECT_EQ(again.kinds, forest.kinds);
  const std::string none("\x0a\x00", 2), unknown = "\x0a\x02\x48\x01";
  for (const std::string& bytes : {none, unknown}) {
    EXPECT_EQ(ReadProtobuf(bytes, &again),
              "kinds[0]: expected one kind of message that this version knows, found none");
  }
  EXPECT_EQ(ReadProtobuf("\x0a\x06\x0a\x04\x08\xff\xff\x04", &again),
            "kinds[0].leaf.port: expected 0 to 65535, found 81919");
}

}  // namespace
}  // namespace fairlead::codec
