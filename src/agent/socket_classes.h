// Traffic classes: the level of each job, and which class the sockets have that this host has opened.
//
// Problem     a level changes while processes open connections, and setting a class costs a call to the kernel for each
//             socket. Nobody says which class a socket has.
// Method      a process gives its socket the class that comes with the answer to its question. The class that a socket
//             was told is remembered, and it is told another one only when that differs. What is not known to have
//             reached it (its process went without a message, or the agent before told it) counts as not told.
// Guarantees  what an open socket was told last is the class of its job's level, if the job has one. Levels are 0 .. 7;
//             no job without connections gets one when kNumLevelsMax jobs have.
// Cost        O(log of jobs) a connection; SetLevel(): O(connections of the job).
// Reference   Cao et al., Crux, SIGCOMM 2024. Sockets that were accepted here: accepted_sockets.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "agent/agent_outbox.h"
#include "agent/connection_table.h"
#include "agent/job_levels.h"

namespace fairlead::agent {

class SocketClasses {
 public:
  using Connection = ConnectionTable::Connection;

  static constexpr size_t kNumLevelsMax = 65'536;

  // The pointers must outlive this. Args: kept: levels of the agent before.
  SocketClasses(const JobLevels& kept, const ConnectionTable* connections, AgentOutbox* outbox)
      : connections_(*connections), outbox_(*outbox), levels_(kept) {}

  const JobLevels& levels() const { return levels_; }
  // Returns whether it is another level than before: then the job's other sockets are to be told, too. Levels that
  // there are not, or of too many jobs, are passed over.
  bool SetLevel(const std::string& job, uint32_t level);
  // The job has gone; the controller tells it again with the next connection.
  void ForgetLevel(const std::string& job) { levels_.erase(job); }

  // Args of these: of the table. Returns the class that its process gives to its socket; nothing: it stays as it is.
  std::optional<uint8_t> Assign(const Connection& connection);
  // It was accepted here, with this class.
  void Inherit(uint64_t connection, std::optional<uint8_t> traffic_class);
  // Tells its socket, if it is open and has not been told this class.
  void Classify(const Connection& connection);
  // The connection is gone, or may not have the class that was assigned.
  void Forget(uint64_t connection) { classes_.erase(connection); }

 private:
  const ConnectionTable& connections_;
  AgentOutbox& outbox_;
  JobLevels levels_;
  std::unordered_map<uint64_t, uint8_t> classes_;  // by connection, as last told
};

}  // namespace fairlead::agent
