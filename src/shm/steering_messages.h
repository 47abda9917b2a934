// Requests of a training process to the agent of its host about one of its connections, and the answers.
//
// One exchange per connection, over a socket of kind SOCK_SEQPACKET in the file system. Each message is one packet, one
// struct below, in the byte order of the host:
//
//     process                                agent
//        | -- SteeringQuestion ------------->  |   before connect(), after accept(), before a queue pair is ready
//        | <------------- SteeringAnswer ----  |   at once: from what the agent holds, or "leave"
//        | -- SteeringOutcome  ------------->  |   after connect(): what became of it
//
// The process waits for an answer for a few milliseconds at most, for half a second about a queue pair, whose port
// can't be changed later, and continues without one. Of a queue pair the outcome comes when it is ready to send. An
// agent that knows another version answers "leave" with its own number. Who asks is what the kernel says (SO_PEERCRED),
// not what is written. Freestanding: read by libraries that are loaded into processes of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fairlead::shm {

inline constexpr uint32_t kSteeringMagic = 0x534c4146;  // "FALS", read as bytes
inline constexpr uint16_t kSteeringVersion = 1;
inline constexpr size_t kSteeringJobBytes = 64;

// Never renumber.
enum class SteeringQuestionKind : uint16_t {
  kConnect = 1,    // a TCP connection is about to be opened: source port and traffic class?
  kAccept = 2,     // one was accepted: traffic class?
  kQueuePair = 3,  // a queue pair of RoCE is about to be connected: UDP source port and traffic class?
};

// Never renumber.
enum class SteeringAnswerKind : uint16_t {
  kUse = 1,    // what the fields say
  kLeave = 2,  // not training traffic, or nothing is known: continue as if no agent had been asked
};

// An IPv6 address; IPv4 as ::ffff:a.b.c.d; all zero: not known yet.
struct SteeringAddress {
  uint8_t bytes[16];
};

struct SteeringQuestion {
  uint32_t magic;
  uint16_t version;
  SteeringQuestionKind kind;
  uint64_t socket_inode;  // what fstat() says of the socket; 0 for queue pairs
  SteeringAddress source;
  SteeringAddress destination;
  uint16_t source_port;  // 0: not chosen yet. Host byte order, as the next one.
  uint16_t destination_port;
  uint32_t queue_pair;          // number of the own queue pair; 0 for TCP
  char job[kSteeringJobBytes];  // ends with a zero byte
};

struct SteeringAnswer {
  uint32_t magic;
  uint16_t version;
  SteeringAnswerKind kind;
  uint16_t source_port;    // 0: any
  uint8_t sets_class;      // 0: traffic_class does not count
  uint8_t traffic_class;   // DSCP << 2
  uint8_t reserved;        // 0
  uint8_t bond_port;       // queue pairs: the port of a bonded NIC to leave by, from 1; 0: any
  uint8_t reserved_2[18];  // 0
};

struct SteeringOutcome {
  uint32_t magic;
  uint16_t version;
  uint16_t source_port;  // that the connection has; 0: none
  int32_t error;         // errno; 0: connected; EINPROGRESS: under way
  uint32_t steered;      // 1: the port is the answer's
};

static_assert(std::is_trivially_copyable_v<SteeringQuestion> && std::is_standard_layout_v<SteeringQuestion>);
static_assert(offsetof(SteeringQuestion, socket_inode) == 8);
static_assert(offsetof(SteeringQuestion, source) == 16);
static_assert(offsetof(SteeringQuestion, destination) == 32);
static_assert(offsetof(SteeringQuestion, source_port) == 48);
static_assert(offsetof(SteeringQuestion, queue_pair) == 52);
static_assert(offsetof(SteeringQuestion, job) == 56);
static_assert(sizeof(SteeringQuestion) == 120);
static_assert(offsetof(SteeringAnswer, source_port) == 8);
static_assert(offsetof(SteeringAnswer, traffic_class) == 11);
static_assert(offsetof(SteeringAnswer, bond_port) == 13);
static_assert(sizeof(SteeringAnswer) == 32);
static_assert(offsetof(SteeringOutcome, error) == 8);
static_assert(sizeof(SteeringOutcome) == 16);

}  // namespace fairlead::shm
