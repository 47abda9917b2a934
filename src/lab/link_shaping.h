// How the ends of a lab's cables share their speed: one HTB tree each, eight strict priorities, fair queues within.
//
//     1:  HTB
//      1:ffff                 the speed of the link, rate = ceil; a degraded link has less
//        1:1 … 1:Q            level 0 (served first): Q queues, each connection hashed to one
//        1:Q+1 … 1:2Q         level 1
//        …                    level 7
//
// Levels     level = 7 - (DSCP >> 3): CS7 is level 0, and unmarked packets (DSCP 0) are level 7, served last. What a
//            level leaves goes to the next one. The queues of a level take turns (HTB's deficit round robin), so
//            connections get max-min fair shares of a link, unless two share a queue.
// Why HTB    kernels without sch_prio, sch_sfq or sch_fq_codel exist (c4.md 12.3); HTB and cls_bpf do it all.
// Queue      is found by a BPF program in the kernel: level from the type of service, queue from a hash of addresses
//            and ports. The hash is not that of the routes, or a link would see few of its queues used.
// Rates      a queue's own rate is the least that HTB takes (8 bit/s): it borrows all it sends, and borrowing is by
//            priority.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/lab_plan.h"

namespace fairlead::lab {

// One instruction of classic BPF, as `struct sock_filter`.
struct BpfInstruction {
  uint16_t code = 0;
  uint8_t jump_true = 0;
  uint8_t jump_false = 0;
  uint32_t operand = 0;
};

// The program that returns the class (major << 16 | minor) of an Ethernet frame that carries IPv4 without options.
std::vector<BpfInstruction> ClassifierProgram(uint32_t queues_per_level);

// What the program computes, in C++. Args: frame: from the Ethernet header on, at least 38 bytes.
uint32_t ClassOf(std::string_view frame, uint32_t queues_per_level);

// The lines for `tc -batch` that shape an interface of a fresh namespace.
std::string ShapingCommands(const LabPlan& plan, CableId cable, const std::string& interface);

// The line that gives a shaped interface another speed: `health` > 0 times its own.
std::string SpeedCommand(const LabPlan& plan, CableId cable, const std::string& interface, double health);

// Frames from one address to another that carry data: of a job, what a worker sends to another one, over whichever
// connections, and not what answers the data of the other way.
struct ConnectionFilter {
  uint32_t from = 0;  // IPv4, host byte order
  uint32_t to = 0;

  friend bool operator==(const ConnectionFilter&, const ConnectionFilter&) = default;
};

// Longer frames carry data, by the length of the IPv4 packet: headers take 80 bytes at most, and answers are short.
inline constexpr uint32_t kAnswerBytesMax = 256;

// The program that returns the class of slow connections where a frame is of one, else 0: then others decide.
std::vector<BpfInstruction> ConnectionProgram(const ConnectionFilter& filter);

// The lines that give one end's connections a class of their own, of so many bit/s, and those that take it away. There
// is one such class at each end.
std::string SlowConnectionCommands(const ConnectionFilter& filter, const std::string& interface, double bits_per_s);
std::string EndSlowConnectionCommands(const std::string& interface);

}  // namespace fairlead::lab
