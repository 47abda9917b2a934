#include "wire/host_message_codec.h"

#include <fairlead/v1/agent.pb.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "codec/random_archive.h"
#include "controller/host_message_fields.h"
#include "wire/random_messages.h"

namespace fairlead::wire {
namespace {

using controller::FromAgent;
using controller::ToAgent;

template <class Message>
Result<Message> One(Result<std::vector<Message>> messages) {
  if (!messages.ok()) return messages.status();
  EXPECT_EQ(messages->size(), 1u);
  return std::move(messages->front());
}
Result<FromAgent> ReadOneFromAgent(const std::string& bytes) { return One(ReadFromAgent(bytes)); }
Result<ToAgent> ReadOneToAgent(const std::string& bytes) { return One(ReadToAgent(bytes)); }
// The message of this one message.
std::string BytesOf(const v1::AgentMessage& message) {
  v1::AgentBatch messages;
  *messages.add_messages() = message;
  return messages.SerializeAsString();
}
std::string BytesOf(const v1::ControllerMessage& message) {
  v1::ControllerBatch messages;
  *messages.add_messages() = message;
  return messages.SerializeAsString();
}

TEST(HostMessageCodec, EveryMessageComesOutAsItWentIn) {
  std::set<size_t> from_kinds;
  std::set<size_t> to_kinds;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const FromAgent from = RandomFromAgent(&random);
    const Result<FromAgent> from_again = ReadOneFromAgent(WriteFromAgent(from));
    ASSERT_TRUE(from_again.ok()) << from_again.status().message();
    ASSERT_TRUE(*from_again == from) << "kind " << from.index();
    const ToAgent to = RandomToAgent(&random);
    const Result<ToAgent> to_again = ReadOneToAgent(WriteToAgent(to));
    ASSERT_TRUE(to_again.ok()) << to_again.status().message();
    ASSERT_TRUE(*to_again == to) << "kind " << to.index();
    from_kinds.insert(from.index());
    to_kinds.insert(to.index());
  }
  EXPECT_EQ(from_kinds.size(), std::variant_size_v<FromAgent>);
  EXPECT_EQ(to_kinds.size(), std::variant_size_v<ToAgent>);
}

TEST(HostMessageCodec, ConcatenatedBatchesAreOneWithAllMessages) {
  Random random(5);
  std::vector<FromAgent> said;
  std::vector<ToAgent> answered;
  std::string sent_bytes;
  std::string answered_bytes;
  for (int i = 0; i < 100; ++i) {
    sent_bytes += WriteFromAgent(said.emplace_back(RandomFromAgent(&random)));
    answered_bytes += WriteToAgent(answered.emplace_back(RandomToAgent(&random)));
  }
  const auto sent_again = ReadFromAgent(sent_bytes);
  const auto answered_again = ReadToAgent(answered_bytes);
  ASSERT_TRUE(sent_again.ok() && answered_again.ok());
  EXPECT_TRUE(*sent_again == said);
  EXPECT_TRUE(*answered_again == answered);
  // One that can't be read is an error, whatever is around it.
  v1::AgentMessage empty;
  EXPECT_FALSE(ReadFromAgent(sent_bytes + BytesOf(empty)).ok());
  EXPECT_FALSE(ReadFromAgent("").ok());
}

// Damaged messages: an error with a text, or another message that is a value again.
TEST(HostMessageCodec, DamageIsAnErrorOrAnotherMessage) {
  size_t num_errors = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::string bytes = WriteFromAgent(RandomFromAgent(&random));
    if (bytes.empty()) continue;
    for (uint64_t i = random.Below(4); i > 0; --i) bytes[random.Below(bytes.size())] = static_cast<char>(random());
    if (random.Below(2) == 0) bytes.resize(random.Below(bytes.size() + 1));
    const auto messages = ReadFromAgent(bytes);
    if (messages.ok()) {
      std::string written;
      for (const FromAgent& message : *messages) written += WriteFromAgent(message);
      const auto again = ReadFromAgent(written);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_TRUE(*again == *messages);
    } else {
      ++num_errors;
      EXPECT_EQ(messages.status().code(), StatusCode::kInvalidArgument);
      EXPECT_FALSE(messages.status().message().empty());
    }
  }
  EXPECT_GT(num_errors, 100u);
}

struct BadMessage {
  std::string field;  // that the error names
  std::function<void(v1::AgentMessage*)> damage;
};

v1::AgentMessage GoodPathsWanted() {
  v1::AgentMessage message;
  message.mutable_paths_wanted()->set_job("gpt");
  auto* connection = message.mutable_paths_wanted()->add_connections();
  connection->set_source(std::string("\x0a\0\0\x01", 4));
  connection->set_destination(std::string("\x0a\0\0\x02", 4));
  connection->set_weight(1);
  return message;
}

// Makes a look of it at one process that has a communicator and an operation.
v1::SeenProcess* OneProcess(v1::AgentMessage* message) {
  message->mutable_processes_seen()->set_job("gpt");
  v1::SeenProcess* process = message->mutable_processes_seen()->add_processes();
  process->add_communicators()->set_num_ranks(2);
  process->add_operations()->set_communicator(0);
  return process;
}

v1::ProbedRoute* OneRoute(v1::AgentMessage* message) {
  v1::PortScanSeen* scan = message->mutable_probes_finished()->add_scans();
  scan->set_source(std::string(4, 'a'));
  scan->set_destination(std::string(4, 'b'));
  return scan->add_routes();
}

TEST(HostMessageCodec, FieldsThatCannotBeRightAreNamed) {
  ASSERT_TRUE(ReadOneFromAgent(BytesOf(GoodPathsWanted())).ok());
  v1::AgentMessage seen;
  OneProcess(&seen);
  ASSERT_TRUE(ReadOneFromAgent(BytesOf(seen)).ok());
  OneRoute(&seen);
  ASSERT_TRUE(ReadOneFromAgent(BytesOf(seen)).ok());
  const auto connection = [](v1::AgentMessage* m) { return m->mutable_paths_wanted()->mutable_connections(0); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const BadMessage bad_messages[] = {
      {"source", [&](auto* m) { connection(m)->set_source("abc"); }},
      {"source", [&](auto* m) { connection(m)->clear_source(); }},
      {"destination", [&](auto* m) { connection(m)->set_destination(std::string(17, 'x')); }},
      {"destination_port", [&](auto* m) { connection(m)->set_destination_port(65536); }},
      {"protocol", [&](auto* m) { connection(m)->set_protocol(256); }},
      {"weight", [&](auto* m) { connection(m)->set_weight(nan); }},
      {"weight", [&](auto* m) { connection(m)->set_weight(-1); }},
      {"weight", [&](auto* m) { connection(m)->set_weight(std::numeric_limits<double>::infinity()); }},
      {"job", [&](auto* m) { m->mutable_paths_wanted()->clear_job(); }},
      {"job", [&](auto* m) { m->mutable_paths_wanted()->set_job(std::string(256, 'j')); }},
      {"job", [&](auto* m) { m->mutable_paths_wanted()->set_job("a b;rm -rf /"); }},
      {"job", [&](auto* m) { m->mutable_connection_opened()->set_job("../../etc/passwd"); }},
      {"job", [&](auto* m) { m->mutable_connections_closed()->set_job("$(id)"); }},
      {"job", [&](auto* m) { m->mutable_connections_held()->set_job("a\n"); }},
      {"job", [&](auto* m) { m->mutable_move_refused()->set_job("a/b"); }},
      {"job", [&](auto* m) { m->mutable_job_measured()->set_job(std::string(129, 'j')); }},
      {"job", [&](auto* m) { OneProcess(m), m->mutable_processes_seen()->set_job("a b"); }},
      {"kind", [&](auto* m) { m->Clear(); }},
      {"rtt_s", [&](auto* m) { OneRoute(m)->set_rtt_s(-1e-6); }},
      {"source_ports", [&](auto* m) { OneRoute(m)->add_source_ports(65536); }},
      {"lost", [&](auto* m) { OneRoute(m)->set_lost(1); }},
      {"hops", [&](auto* m) { OneRoute(m)->add_hops("abc"); }},
      {"iteration_s", [&](auto* m) { m->mutable_job_measured()->set_job("gpt"); }},
      {"connection_bytes",
       [&](auto* m) {
         m->mutable_job_measured()->set_job("gpt");
         m->mutable_job_measured()->set_iteration_s(1);
         m->mutable_job_measured()->add_connections(7);
       }},
      {"start_fraction",
       [&](auto* m) {
         m->mutable_job_measured()->set_job("gpt");
         m->mutable_job_measured()->set_iteration_s(1);
         m->mutable_job_measured()->set_start_fraction(1.5);
       }},
      {"kind", [&](auto* m) { OneProcess(m)->mutable_operations(0)->set_kind(10); }},
      {"operations[0].communicator", [&](auto* m) { OneProcess(m)->mutable_operations(0)->set_communicator(1); }},
      {"operations[0].data_type", [&](auto* m) { OneProcess(m)->mutable_operations(0)->set_data_type("\n"); }},
      {"operations[0].enqueued", [&](auto* m) { OneProcess(m)->mutable_operations(0)->set_enqueued_ns(INT64_MAX); }},
      {"connections[0].wire_time", [&](auto* m) { OneProcess(m)->add_connections()->set_wire_time_ns(-1); }},
      {"connections[0].peer", [&](auto* m) { OneProcess(m)->add_connections()->set_peer(1 << 20); }},
      {"phase", [&](auto* m) { OneProcess(m)->add_connections()->set_phase(7); }},
      {"wire_time_bins",
       [&](auto* m) {
         auto* record = OneProcess(m)->add_connections();
         for (int i = 0; i < 21; ++i) record->add_wire_time_bins(1);
       }},
      {"state", [&](auto* m) { OneProcess(m)->set_state(3); }},
      {"processes_seen.at: ",
       [&](auto* m) {
         OneProcess(m);
         m->mutable_processes_seen()->set_at_ns(INT64_MIN);
       }},
      {"processes: expected at most 1024, found 1025",
       [&](auto* m) {
         OneProcess(m);
         for (size_t i = 0; i < controller::kProcessesMax; ++i) m->mutable_processes_seen()->add_processes();
       }},
      {"records together",
       [&](auto* m) {
         // Each process separately is within bounds.
         auto* process = OneProcess(m);
         for (size_t i = 0; i < telemetry::kProcessRecordsMax / 2; ++i) process->add_operations();
         *m->mutable_processes_seen()->add_processes() = *process;
       }},
      {"host", [&](auto* m) { m->mutable_hello()->set_protocol_version(controller::kProtocolVersion); }},
  };
  for (const BadMessage& bad : bad_messages) {
    v1::AgentMessage message = GoodPathsWanted();
    bad.damage(&message);
    const Result<FromAgent> read = ReadOneFromAgent(BytesOf(message));
    ASSERT_FALSE(read.ok()) << bad.field;
    EXPECT_NE(read.status().message().find(bad.field), std::string::npos) << read.status().message();
  }
}

// As large as a message may be, with the fields in the worst order: a value of a list, and another field, in turn. Work
// that grew with the square of that would take minutes.
TEST(HostMessageCodec, FieldsInTurnAreReadInTheTimeOfTheirBytes) {
  v1::AgentMessage job, value;
  job.mutable_job_measured()->set_job("a");
  value.mutable_job_measured()->add_connection_bytes(1);
  const std::string pair = job.job_measured().SerializeAsString() + value.job_measured().SerializeAsString();
  std::string fields;
  while (fields.size() + pair.size() < kMessageBytesMax - 64) fields += pair;
  v1::AgentMessage kind;
  ASSERT_TRUE(kind.mutable_job_measured()->ParseFromString(fields));
  const auto with_length = [](char tag, const std::string& bytes) {
    std::string head(1, tag);
    for (size_t length = bytes.size(); length > 0; length >>= 7) {
      head += static_cast<char>((length & 0x7f) | (length >= 0x80 ? 0x80 : 0));
    }
    return head + bytes;
  };
  const auto read = ReadFromAgent(with_length('\x0a', with_length('\x4a', fields)));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(), "messages[0].job_measured.iteration_s: expected a number over 0, found 0");
}

TEST(HostMessageCodec, AmountsInListsAreAtLeastZero) {
  v1::AgentMessage message;
  message.mutable_job_measured()->set_job("gpt");
  message.mutable_job_measured()->set_iteration_s(1);
  for (const double bytes : {1.0, -1.0}) {
    message.mutable_job_measured()->add_connections(7);
    message.mutable_job_measured()->add_connection_bytes(bytes);
  }
  const auto read = ReadOneFromAgent(BytesOf(message));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(),
            "messages[0].job_measured.connection_bytes[1]: expected a number of at least 0, found -1");
}

TEST(HostMessageCodec, ValuesOfALaterControllerAreErrors) {
  v1::ControllerMessage message;
  auto* change = message.mutable_paths_changed()->add_changes();
  change->set_job("gpt");
  change->mutable_answer()->set_kind(v1::ANSWER_KIND_USE);
  change->set_cause(v1::MOVE_CAUSE_LINK_DOWN);
  ASSERT_TRUE(ReadOneToAgent(BytesOf(message)).ok());
  change->set_cause(static_cast<v1::MoveCause>(99));
  EXPECT_FALSE(ReadOneToAgent(BytesOf(message)).ok());
  change->set_cause(v1::MOVE_CAUSE_UNSPECIFIED);
  EXPECT_FALSE(ReadOneToAgent(BytesOf(message)).ok());
  change->set_cause(v1::MOVE_CAUSE_LINK_DOWN);
  change->mutable_answer()->set_kind(static_cast<v1::AnswerKind>(5));
  EXPECT_FALSE(ReadOneToAgent(BytesOf(message)).ok());
  auto* finding = message.mutable_host_judged()->add_findings();
  finding->set_job("gpt");
  ASSERT_TRUE(ReadOneToAgent(BytesOf(message)).ok());
  finding->set_syndrome(7);
  EXPECT_FALSE(ReadOneToAgent(BytesOf(message)).ok());
  finding->set_syndrome(0);
  finding->set_action(6);
  EXPECT_FALSE(ReadOneToAgent(BytesOf(message)).ok());
  message.mutable_welcome()->set_heartbeat_period_ns(-1);
  message.mutable_welcome()->set_lease_ttl_ns(1);
  EXPECT_FALSE(ReadOneToAgent(BytesOf(message)).ok());
}

// Agents of another version are informed of that, whatever else they send.
TEST(HostMessageCodec, AHelloOfAnotherVersionCanBeRead) {
  v1::AgentMessage message;
  message.mutable_hello()->set_protocol_version(controller::kProtocolVersion + 1);
  const Result<FromAgent> read = ReadOneFromAgent(BytesOf(message));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::get<controller::HostHello>(*read).protocol_version, controller::kProtocolVersion + 1);
}

TEST(HostMessageCodec, NamesAreUtf8OfSomeLength) {
  EXPECT_TRUE(controller::IsName("gpt-3 训练"));
  EXPECT_TRUE(controller::IsName(std::string(255, 'a')));
  EXPECT_FALSE(controller::IsName(""));
  EXPECT_FALSE(controller::IsName(std::string(256, 'a')));
  EXPECT_FALSE(controller::IsName("\xe8\xae"));
}

// Whether a message has fields that its schema does not know, at any depth.
bool HasUnknownFields(const google::protobuf::Message& message) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty()) return true;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->type() != google::protobuf::FieldDescriptor::TYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (HasUnknownFields(reflection->GetMessage(message, field))) return true;
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      if (HasUnknownFields(reflection->GetRepeatedMessage(message, field, i))) return true;
    }
  }
  return false;
}

// protobuf's own code, made from the schema, reads what we write, knows all of it, and writes the same bytes.
TEST(HostMessageCodec, BytesAreThoseOfTheSchema) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string from_agent = WriteFromAgent(RandomFromAgent(&random));
    v1::AgentBatch agent_batch;
    ASSERT_TRUE(agent_batch.ParseFromString(from_agent));
    EXPECT_FALSE(HasUnknownFields(agent_batch)) << agent_batch.DebugString();
    EXPECT_EQ(agent_batch.SerializeAsString(), from_agent) << agent_batch.DebugString();
    const std::string to_agent = WriteToAgent(RandomToAgent(&random));
    v1::ControllerBatch controller_batch;
    ASSERT_TRUE(controller_batch.ParseFromString(to_agent));
    EXPECT_FALSE(HasUnknownFields(controller_batch)) << controller_batch.DebugString();
    EXPECT_EQ(controller_batch.SerializeAsString(), to_agent) << controller_batch.DebugString();
  }
}

const char* const kSchema = FAIRLEAD_SOURCE_DIR "/api/fairlead/v1/agent.proto";

// The type of a field in the schema, by the table of codec/protobuf_archive.h; a record has the name of its message,
// which is written by hand.
template <class T, class Rule>
std::string TypeInSchema() {
  if constexpr (codec::kIsOptional<T>) {
    return "optional " + TypeInSchema<typename T::value_type, Rule>();
  } else if constexpr (codec::kIsList<T> || codec::kIsArray<T>) {
    return "repeated " + TypeInSchema<typename T::value_type, Rule>();
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    return std::same_as<T, bool> ? "bool" : "string";
  } else if constexpr (std::same_as<T, IpAddress>) {
    return "bytes";
  } else if constexpr (std::same_as<T, SimTime> || std::same_as<T, SimDuration>) {
    return std::same_as<T, SimTime> ? "sfixed64" : "int64";
  } else if constexpr (std::same_as<T, double> || codec::kIsQuantity<T>) {
    return "double";
  } else if constexpr (std::same_as<Rule, codec::Fixed64>) {
    return "fixed64";
  } else if constexpr (std::is_enum_v<T> || codec::kIsId<T>) {
    return "uint32";
  } else if constexpr (std::integral<T>) {
    const char* kind = std::unsigned_integral<T> ? "uint" : std::same_as<Rule, codec::PlainInt> ? "int" : "sint";
    return fmt::format("{}{}", kind, sizeof(T) == 8 ? 64 : 32);
  } else {
    return "MESSAGE";
  }
}

template <class T>
inline constexpr bool kIsTime = std::same_as<T, SimTime> || std::same_as<T, SimDuration>;
template <class T>
inline constexpr bool kIsTime<std::optional<T>> = kIsTime<T>;

// Puts the line of a field where its number belongs among those of its message, unless it is there: a message may be a
// part of several.
std::string WithField(const std::string& schema, const std::string& message, int number, const std::string& line) {
  std::istringstream lines(schema);
  std::string written;
  bool is_inside = false;
  for (std::string one; std::getline(lines, one);) {
    const size_t equals = one.find(" = ");
    const bool is_later = equals != std::string::npos && std::atoi(one.c_str() + equals + 3) > number;
    if (is_inside && one == "  " + line) is_inside = false;
    if (is_inside && (is_later || one == "}")) {
      written += "  " + line + "\n";
      is_inside = false;
    }
    if (one == "message " + message + " {") is_inside = true;
    written += one + "\n";
  }
  return written;
}

std::string ReadAll(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// An archive that looks up each field in the schema. One that is missing there is a failure that says the line to add,
// and adds it where goldens are written anew.
struct SchemaCheck {
  explicit SchemaCheck(const google::protobuf::Descriptor* of) : schema(of) {}

  void Find(int number, const std::string& name, const std::string& type) {
    const auto* field = schema->FindFieldByNumber(number);
    if (field == nullptr) {
      const std::string line = fmt::format("{} {} = {};", type, name, number);
      if (std::getenv("FAIRLEAD_UPDATE_GOLDEN") != nullptr) {
        const std::string text = WithField(ReadAll(kSchema), schema->name(), number, line);
        std::ofstream(kSchema) << text;
      }
      FAIL() << "api/fairlead/v1/agent.proto: message " << schema->name() << " lacks \"" << line
             << "\": add it, or run this test with FAIRLEAD_UPDATE_GOLDEN=1, which does, and build again";
    }
    ++num_fields;
    const std::string aliased = name == "index" ? "issue_index" : name == "type" ? "data_type" : name;
    EXPECT_EQ(field->name(), aliased) << schema->name();
  }
  template <class T, class Rule = codec::AnyValue>
  void Required(int number, const char* name, T& value, Rule /*rule*/ = {}) {
    const bool lacks_unit = kIsTime<T> && !std::string_view(name).ends_with("_ns");
    Find(number, std::string(name) + (lacks_unit ? "_ns" : ""), TypeInSchema<T, Rule>());
    if constexpr (codec::IsDescribed<T>) Visit(value, number);
    if constexpr (codec::kIsList<T>) {
      if constexpr (codec::IsDescribed<typename T::value_type>) {
        typename T::value_type item;
        Visit(item, number);
      }
    }
  }
  template <class T, class Rule = codec::AnyValue>
  void Optional(int number, const char* name, T& value, Rule rule = {}) {
    Required(number, name, value, rule);
  }
  template <class T>
  void Inline(const char* /*name*/, T& value) {
    Describe(*this, value);
  }
  template <class Kind, class Variant>
  void OneOf(int number, const char* name, Variant& /*value*/) {
    Kind kind;
    Find(number, name, "MESSAGE");
    Visit(kind, number);
  }
  template <class FindFault>
  void Law(FindFault /*find_fault*/) {}
  template <class T>
  void Visit(T& value, int number) {
    const auto* field = schema->FindFieldByNumber(number);
    if (field == nullptr) return;
    SchemaCheck inner(field->message_type());
    Describe(inner, value);
    EXPECT_EQ(inner.num_fields, inner.schema->field_count()) << inner.schema->name();
  }

  const google::protobuf::Descriptor* schema;
  int num_fields = 0;
};

// The names in errors are those of the schema, but for units that it spells out.
TEST(HostMessageCodec, FieldsAreThoseOfTheSchema) {
  FromAgent from;
  SchemaCheck from_agent(v1::AgentMessage::descriptor());
  Describe(from_agent, from);
  EXPECT_EQ(from_agent.num_fields, v1::AgentMessage::descriptor()->field_count());
  ToAgent to;
  SchemaCheck to_agent(v1::ControllerMessage::descriptor());
  Describe(to_agent, to);
  EXPECT_EQ(to_agent.num_fields, v1::ControllerMessage::descriptor()->field_count());
}

// A line for a field stands between its neighbours in number, in its message only.
TEST(HostMessageCodec, AFieldIsAddedToItsMessage) {
  const std::string schema = "message A {\n  bool x = 1;\n}\n\nmessage B {\n  bool x = 1;  // of B\n  bool z = 3;\n}\n";
  EXPECT_EQ(WithField(schema, "B", 2, "bool y = 2;"),
            "message A {\n  bool x = 1;\n}\n\nmessage B {\n  bool x = 1;  // of B\n  bool y = 2;\n  bool z = 3;\n}\n");
  EXPECT_EQ(WithField(schema, "A", 9, "bool y = 9;"),
            "message A {\n  bool x = 1;\n  bool y = 9;\n}\n\nmessage B {\n  bool x = 1;  // of B\n  bool z = 3;\n}\n");
  EXPECT_EQ(WithField(WithField(schema, "B", 2, "bool y = 2;"), "B", 2, "bool y = 2;"),
            WithField(schema, "B", 2, "bool y = 2;"));
  EXPECT_EQ((TypeInSchema<std::vector<uint16_t>, codec::AnyValue>()), "repeated uint32");
  EXPECT_EQ((TypeInSchema<std::optional<SimTime>, codec::AnyValue>()), "optional sfixed64");
  EXPECT_EQ((TypeInSchema<int64_t, codec::PlainInt>()), "int64");
  EXPECT_EQ((TypeInSchema<IpAddress, codec::AnyValue>()), "bytes");
}

// Another name for the ends changes nothing else of a connection.
TEST(HostMessageCodec, ARenamedConnectionKeepsAllFields) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    controller::WantedConnection wanted;
    codec::RandomFiller filler(&random);
    Describe(filler, wanted);
    const auto renamed = traffic::Renamed(wanted, NicId(3), NicId(5));
    EXPECT_EQ(renamed.source, NicId(3));
    EXPECT_EQ(renamed.destination, NicId(5));
    EXPECT_EQ(traffic::Renamed(renamed, wanted.source, wanted.destination), wanted) << seed;
  }
}

// The method's name is made of the schema's package, service and rpc.
TEST(HostMessageCodec, TheMethodIsThatOfTheSchema) {
  const std::string text = ReadAll(kSchema);
  EXPECT_NE(text.find("package fairlead.v1;"), std::string::npos);
  EXPECT_NE(text.find("service AgentService {"), std::string::npos);
  EXPECT_NE(text.find("rpc Attach(stream AgentBatch) returns (stream ControllerBatch);"), std::string::npos);
  EXPECT_EQ(kAttachMethod, "/fairlead.v1.AgentService/Attach");
}

}  // namespace
}  // namespace fairlead::wire
