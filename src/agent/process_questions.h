// Questions of processes that are about to connect, and the answer that each of them gets.
//
//     Begin --> its process waits --> Answer: it connects --+--> End: it has hung up
//                      |                                    |
//                      +------------------------------------+--> Close: the connection is gone
//     Dismiss: answered at once, about no connection
//
// Problem     a process waits in connect(), for milliseconds at most, and knows its question; the controller answers
//             about connections, late, twice or never.
// Method      a question is about one connection, and a connection has one process at most that asks. While the
//             controller is asked there is a deadline; the agent answers what is overdue, and all that wait when the
//             controller goes away.
// Guarantees  a question has one answer, and none after its end. A process that waits is let go when its connection is
//             gone.
// Cost        O(log of questions) for each call; EndDeadlines(): O(questions).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/host_agent_messages.h"
#include "base/sim_time.h"

namespace fairlead::agent {

class ProcessQuestions {
 public:
  // `outbox` must outlive this. Args: deadline, queue_pair_deadline: how long a process may wait; a queue pair can't be
  // moved later.
  ProcessQuestions(SimDuration deadline, SimDuration queue_pair_deadline, AgentOutbox* outbox)
      : deadline_(deadline), queue_pair_deadline_(queue_pair_deadline), outbox_(*outbox) {}

  // Answers a question about nothing that is looked after. Args: traffic_class: of the socket; nothing: it stays.
  void Dismiss(QuestionId question, std::optional<uint8_t> traffic_class = std::nullopt);
  // Its process waits. Args: question: of which nothing is known; connection: about which nobody asks.
  void Begin(QuestionId question, uint64_t connection);
  // The controller is asked: it has until the deadline. Args: connection: whose process waits.
  void SetDeadline(uint64_t connection, QuestionKind kind);
  // Args: connection: whose process waits; port: 0: any.
  void Answer(uint64_t connection, uint16_t port, std::optional<uint8_t> traffic_class);
  // Its process has hung up. Returns the connection that it was about; nothing: none.
  std::optional<uint64_t> End(QuestionId question);
  // The connection is gone.
  void Close(uint64_t connection);

  // A connection whose process waits and has waited long enough, which is to be answered now.
  std::optional<uint64_t> TakeOverdue();
  // The controller will not answer. Returns connections whose processes wait, which are to be answered now, by number.
  std::vector<uint64_t> EndDeadlines();
  SimTime NextDue() const { return deadlines_.empty() ? SimTime::Never() : deadlines_.begin()->first; }

  bool IsKnown(QuestionId question) const { return connections_.contains(question); }
  // The connection that an answered question is about.
  std::optional<uint64_t> FindAnswered(QuestionId question) const;
  bool IsWaiting(uint64_t connection) const;
  // Its process has not hung up.
  bool HasProcess(uint64_t connection) const { return questions_.contains(connection); }

 private:
  struct Question {
    QuestionId id = 0;
    bool is_waiting = true;
  };

  const SimDuration deadline_;
  const SimDuration queue_pair_deadline_;
  AgentOutbox& outbox_;
  std::map<QuestionId, uint64_t> connections_;
  std::map<uint64_t, Question> questions_;            // [connection], the same
  std::set<std::pair<SimTime, uint64_t>> deadlines_;  // connection; some are answered or gone
};

}  // namespace fairlead::agent
