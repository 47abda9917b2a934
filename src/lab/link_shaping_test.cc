#include "lab/link_shaping.h"

#include <gtest/gtest.h>
#include <linux/filter.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/random.h"
#include "topology/rail_fabric.h"

namespace fairlead::lab {
namespace {

// A machine for some instructions of classic BPF, after the kernel's documentation.
uint32_t RunProgram(const std::vector<BpfInstruction>& program, std::string_view frame) {
  uint32_t a = 0;
  uint32_t x = 0;
  std::array<uint32_t, BPF_MEMWORDS> memory{};
  for (size_t at = 0; at < program.size(); ++at) {
    const BpfInstruction& i = program[at];
    const uint32_t operand = BPF_SRC(i.code) == BPF_X ? x : i.operand;
    switch (BPF_CLASS(i.code)) {
      case BPF_LD: {
        const size_t size = BPF_SIZE(i.code) == BPF_W ? 4 : BPF_SIZE(i.code) == BPF_H ? 2 : 1;
        a = 0;
        for (size_t b = 0; b < size; ++b) a = a << 8 | static_cast<uint8_t>(frame.at(i.operand + b));
        break;
      }
      case BPF_LDX:
        x = memory.at(i.operand);
        break;
      case BPF_ST:
        memory.at(i.operand) = a;
        break;
      case BPF_MISC:
        x = a;  // TAX
        break;
      case BPF_JMP:
        EXPECT_TRUE(BPF_OP(i.code) == BPF_JEQ || BPF_OP(i.code) == BPF_JGT);
        at += (BPF_OP(i.code) == BPF_JEQ ? a == operand : a > operand) ? i.jump_true : i.jump_false;
        break;
      case BPF_RET:
        return BPF_RVAL(i.code) == BPF_A ? a : i.operand;
      case BPF_ALU:
        switch (BPF_OP(i.code)) {
          case BPF_ADD:
            a += operand;
            break;
          case BPF_MUL:
            a *= operand;
            break;
          case BPF_AND:
            a &= operand;
            break;
          case BPF_XOR:
            a ^= operand;
            break;
          case BPF_RSH:
            a >>= operand;
            break;
          default:
            ADD_FAILURE() << "operation " << BPF_OP(i.code);
        }
        break;
      default:
        ADD_FAILURE() << "class " << BPF_CLASS(i.code);
    }
  }
  return 0;
}

std::string RandomFrame(Random* random) {
  std::string frame(64, '\0');
  for (char& c : frame) c = static_cast<char>((*random)());
  return frame;
}

TEST(LinkShaping, ProgramComputesTheClass) {
  Random random(1);
  for (const uint32_t queues : {1u, 8u, 32u, 64u}) {
    const auto program = ClassifierProgram(queues);
    for (int i = 0; i < 500; ++i) {
      const std::string frame = RandomFrame(&random);
      EXPECT_EQ(RunProgram(program, frame), ClassOf(frame, queues));
    }
  }
}

TEST(LinkShaping, LevelFollowsTheDscp) {
  Random random(2);
  for (uint32_t dscp = 0; dscp < 64; ++dscp) {
    std::string frame = RandomFrame(&random);
    frame[15] = static_cast<char>(dscp << 2 | random.Below(4));  // the last two bits are ECN's
    const uint32_t minor = ClassOf(frame, 32) & 0xffff;
    EXPECT_EQ((minor - 1) / 32, 7 - dscp / 8);
    EXPECT_EQ(ClassOf(frame, 32) >> 16, 1u);
  }
}

// Connections that differ only in their source port must spread over the queues.
TEST(LinkShaping, NeighbouringPortsTakeDifferentQueues) {
  Random random(3);
  std::string frame = RandomFrame(&random);
  std::map<uint32_t, int> uses;
  for (uint32_t port = 49152; port < 49152 + 3200; ++port) {
    frame[34] = static_cast<char>(port >> 8);
    frame[35] = static_cast<char>(port);
    ++uses[ClassOf(frame, 32)];
  }
  ASSERT_EQ(uses.size(), 32u);
  // Binomial(3200, 1/32): mean 100, standard deviation 9.8; five of them.
  for (const auto& [queue, count] : uses) EXPECT_NEAR(count, 100, 49) << queue;
}

TEST(LinkShaping, EveryLevelHasItsQueues) {
  topology::RailSpec spec;
  spec.spines = 1;
  spec.hosts_per_segment = 2;
  LabOptions options;
  options.queues_per_level = 4;
  const LabPlan plan = PlanLab(topology::BuildRail(spec).value(), options).value();
  const std::string text = ShapingCommands(plan, CableId(0u), "p0");
  // The tree, its root class, 8 x 4 queues, the filter.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 1 + 32 + 1);
  for (int level = 0; level < 8; ++level) {
    EXPECT_NE(text.find(" prio " + std::to_string(level) + " quantum"), std::string::npos);
  }
  // Half of 200 Mb/s.
  EXPECT_NE(SpeedCommand(plan, CableId(0u), "p0", 0.5).find("rate 100000000bit ceil 100000000bit"), std::string::npos);
}

// Whatever else a frame contains: it is slow exactly if both addresses match and it is longer than an answer.
TEST(LinkShaping, ASlowConnectionIsKnownByItsAddressesAndItsData) {
  const ConnectionFilter filter{.from = 0x0a000201, .to = 0x0a000501};
  const auto program = ConnectionProgram(filter);
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    std::string frame = RandomFrame(&random);
    const auto put = [&](size_t offset, uint32_t value, size_t size) {
      for (size_t b = 0; b < size; ++b) frame[offset + b] = static_cast<char>(value >> 8 * (size - 1 - b));
    };
    // Each of the three is right or off by one bit; the length by one byte.
    const uint32_t off = static_cast<uint32_t>(random.Below(8));
    put(14 + 12, filter.from ^ (off & 1), 4);
    put(14 + 16, filter.to ^ (off & 2), 4);
    put(14 + 2, off & 4 ? kAnswerBytesMax : kAnswerBytesMax + 1, 2);
    EXPECT_EQ(RunProgram(program, frame), off == 0 ? 0x1fffeu : 0u) << off;
  }
}

}  // namespace
}  // namespace fairlead::lab
