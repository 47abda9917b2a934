#include "lab/link_shaping.h"

#include <fmt/format.h>
#include <linux/filter.h>

#include <algorithm>
#include <bit>

namespace fairlead::lab {

namespace {

constexpr uint32_t kRootClass = 0xffff;
constexpr uint32_t kSlowClass = 0xfffe;
// Order in which filters are asked.
constexpr int kSlowFilter = 1;
constexpr int kLevelFilter = 2;
// A packet as it crosses the lab is at most as long as the interfaces' gso_max_size; a queue's turn is one such packet.
constexpr uint32_t kQuantumBytes = 16 * 1024;
// What a link may send at once after its timer came late. Less: a busy machine loses speed. More: bursts that no link
// has.
constexpr double kBurstSeconds = 4e-3;
constexpr double kBurstBytesMin = 32 * 1024;

// Odd constants with well-spread bits; one for each part of the five-tuple.
constexpr uint32_t kSourceFactor = 0x9e3779b1;
constexpr uint32_t kDestinationFactor = 0x85ebca77;
constexpr uint32_t kPortsFactor = 0xc2b2ae3d;
constexpr uint32_t kMixFactor = 0x27d4eb2f;

// Offsets in a frame.
constexpr uint32_t kTypeOfService = 14 + 1;
constexpr uint32_t kTotalLength = 14 + 2;
constexpr uint32_t kSourceAddress = 14 + 12;
constexpr uint32_t kDestinationAddress = 14 + 16;
constexpr uint32_t kPorts = 14 + 20;

constexpr uint32_t kMemoryLevel = 0;  // words of the BPF machine's memory
constexpr uint32_t kMemoryHash = 1;

uint32_t LoadWord(std::string_view frame, size_t offset) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | static_cast<uint8_t>(frame[offset + i]);
  return word;
}

uint64_t BurstBytes(double bits_per_s) {
  return static_cast<uint64_t>(std::max(kBurstBytesMin, bits_per_s / 8 * kBurstSeconds));
}

// A class below the tree's root that does not borrow.
std::string TopClassCommand(std::string_view verb, const std::string& interface, uint32_t number, double bits_per_s) {
  const uint64_t rate = std::max<uint64_t>(static_cast<uint64_t>(bits_per_s), 8);
  const uint64_t burst = BurstBytes(bits_per_s);
  return fmt::format(
      "class {} dev {} parent 1: classid 1:{:x} htb rate {}bit ceil {}bit burst {}b cburst {}b quantum {}\n", verb,
      interface, number, rate, rate, burst, burst, kQuantumBytes);
}

// As `tc` reads it.
std::string Bytecode(const std::vector<BpfInstruction>& program) {
  std::string text = std::to_string(program.size());
  for (const BpfInstruction& i : program) {
    text += fmt::format(",{} {} {} {}", i.code, i.jump_true, i.jump_false, i.operand);
  }
  return text;
}

}  // namespace

std::vector<BpfInstruction> ClassifierProgram(uint32_t queues_per_level) {
  constexpr uint16_t kLoadWord = BPF_LD | BPF_W | BPF_ABS;
  std::vector<BpfInstruction> program;
  const auto add = [&](uint32_t code, uint32_t operand = 0) {
    program.push_back({static_cast<uint16_t>(code), 0, 0, operand});
  };
  // Level 7 - (type of service >> 5), times the queues of a level.
  add(BPF_LD | BPF_B | BPF_ABS, kTypeOfService);
  add(BPF_ALU | BPF_RSH | BPF_K, 5);
  add(BPF_ALU | BPF_XOR | BPF_K, kNumLevels - 1);
  add(BPF_ALU | BPF_MUL | BPF_K, queues_per_level);
  add(BPF_ST, kMemoryLevel);
  // Sum of the parts of the five-tuple, each times its factor.
  add(kLoadWord, kSourceAddress);
  add(BPF_ALU | BPF_MUL | BPF_K, kSourceFactor);
  add(BPF_ST, kMemoryHash);
  for (const auto& [offset, factor] : {std::pair{kDestinationAddress, kDestinationFactor}, {kPorts, kPortsFactor}}) {
    add(kLoadWord, offset);
    add(BPF_ALU | BPF_MUL | BPF_K, factor);
    add(BPF_LDX | BPF_MEM, kMemoryHash);
    add(BPF_ALU | BPF_ADD | BPF_X);
    add(BPF_ST, kMemoryHash);
  }
  // The highest bits of a product depend on all bits.
  add(BPF_MISC | BPF_TAX);
  add(BPF_ALU | BPF_RSH | BPF_K, 15);
  add(BPF_ALU | BPF_XOR | BPF_X);
  add(BPF_ALU | BPF_MUL | BPF_K, kMixFactor);
  add(BPF_ALU | BPF_RSH | BPF_K, 16);
  add(BPF_ALU | BPF_AND | BPF_K, queues_per_level - 1);
  add(BPF_LDX | BPF_MEM, kMemoryLevel);
  add(BPF_ALU | BPF_ADD | BPF_X);
  add(BPF_ALU | BPF_ADD | BPF_K, 1u << 16 | 1);  // NOLINT(misc-redundant-expression): both are 0
  add(BPF_RET | BPF_A);
  return program;
}

uint32_t ClassOf(std::string_view frame, uint32_t queues_per_level) {
  // Products of 32 bits wrap, here as in the kernel.
  const uint32_t level = (kNumLevels - 1) ^ (static_cast<uint8_t>(frame[kTypeOfService]) >> 5);
  uint32_t hash = LoadWord(frame, kSourceAddress) * kSourceFactor +
                  LoadWord(frame, kDestinationAddress) * kDestinationFactor + LoadWord(frame, kPorts) * kPortsFactor;
  hash = (hash ^ hash >> 15) * kMixFactor;
  return (1u << 16) + 1 + level * queues_per_level + (hash >> 16 & (queues_per_level - 1));
}

std::string ShapingCommands(const LabPlan& plan, CableId cable, const std::string& interface) {
  const double bits_per_s = plan.cables[cable].bits_per_s;
  const uint32_t queues = plan.options.queues_per_level;
  // What the program can't read (frames of other protocols, or too short) goes the way of unmarked packets.
  std::string text =
      fmt::format("qdisc replace dev {} root handle 1: htb default {:x}\n", interface, (kNumLevels - 1) * queues + 1);
  text += TopClassCommand("add", interface, kRootClass, bits_per_s);
  for (uint32_t queue = 0; queue < kNumLevels * queues; ++queue) {
    text += fmt::format(
        "class add dev {} parent 1:{:x} classid 1:{:x} htb rate 8bit ceil {}bit burst 1b cburst {}b prio {} quantum "
        "{}\n",
        interface, kRootClass, queue + 1, static_cast<uint64_t>(bits_per_s), BurstBytes(bits_per_s), queue / queues,
        kQuantumBytes);
  }
  const std::vector<BpfInstruction> program = ClassifierProgram(queues);
  text += fmt::format("filter add dev {} parent 1: protocol ip prio {} bpf bytecode '", interface, kLevelFilter);
  return text + Bytecode(program) + "'\n";
}

std::string SpeedCommand(const LabPlan& plan, CableId cable, const std::string& interface, double health) {
  return TopClassCommand("change", interface, kRootClass, plan.cables[cable].bits_per_s * health);
}

std::vector<BpfInstruction> ConnectionProgram(const ConnectionFilter& filter) {
  constexpr uint16_t kLoadWord = BPF_LD | BPF_W | BPF_ABS;
  constexpr uint16_t kLoadHalf = BPF_LD | BPF_H | BPF_ABS;
  constexpr uint16_t kIsEqual = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr uint16_t kIsMore = BPF_JMP | BPF_JGT | BPF_K;
  // A jump counts the instructions that it passes over; all of these lead to the last one.
  return {{kLoadWord, 0, 0, kSourceAddress},
          {kIsEqual, 0, 5, filter.from},
          {kLoadWord, 0, 0, kDestinationAddress},
          {kIsEqual, 0, 3, filter.to},
          {kLoadHalf, 0, 0, kTotalLength},
          {kIsMore, 0, 1, kAnswerBytesMax},
          {BPF_RET | BPF_K, 0, 0, 1u << 16 | kSlowClass},
          {BPF_RET | BPF_K, 0, 0, 0}};
}

std::string SlowConnectionCommands(const ConnectionFilter& filter, const std::string& interface, double bits_per_s) {
  return TopClassCommand("add", interface, kSlowClass, bits_per_s) +
         fmt::format("filter add dev {} parent 1: protocol ip prio {} bpf bytecode '{}'\n", interface, kSlowFilter,
                     Bytecode(ConnectionProgram(filter)));
}

std::string EndSlowConnectionCommands(const std::string& interface) {
  return fmt::format("filter del dev {} parent 1: protocol ip prio {}\nclass del dev {} classid 1:{:x}\n", interface,
                     kSlowFilter, interface, kSlowClass);
}

}  // namespace fairlead::lab
