#include "agent/process_questions.h"

namespace fairlead::agent {

void ProcessQuestions::Dismiss(QuestionId question, std::optional<uint8_t> traffic_class) {
  outbox_.Act(AnswerProcess{.question = question,
                            .leave = !traffic_class.has_value(),
                            .sets_class = traffic_class.has_value(),
                            .traffic_class = traffic_class.value_or(0)});
}

void ProcessQuestions::Begin(QuestionId question, uint64_t connection) {
  connections_[question] = connection;
  questions_[connection] = {.id = question};
}

void ProcessQuestions::SetDeadline(uint64_t connection, QuestionKind kind) {
  const SimDuration wait = kind == QuestionKind::kQueuePair ? queue_pair_deadline_ : deadline_;
  deadlines_.emplace(outbox_.now() + wait, connection);
}

void ProcessQuestions::Answer(uint64_t connection, uint16_t port, std::optional<uint8_t> traffic_class) {
  Question& question = questions_.at(connection);
  question.is_waiting = false;
  outbox_.Act(AnswerProcess{.question = question.id,
                            .leave = false,
                            .source_port = port,
                            .sets_class = traffic_class.has_value(),
                            .traffic_class = traffic_class.value_or(0)});
}

std::optional<uint64_t> ProcessQuestions::End(QuestionId question) {
  const auto ended = connections_.extract(question);
  if (ended.empty()) return std::nullopt;
  questions_.erase(ended.mapped());
  return ended.mapped();
}

void ProcessQuestions::Close(uint64_t connection) {
  const auto closed = questions_.extract(connection);
  if (closed.empty()) return;
  if (closed.mapped().is_waiting) Dismiss(closed.mapped().id);
  connections_.erase(closed.mapped().id);
}

std::optional<uint64_t> ProcessQuestions::TakeOverdue() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= outbox_.now()) {
    const uint64_t connection = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    if (IsWaiting(connection)) return connection;
  }
  return std::nullopt;
}

std::vector<uint64_t> ProcessQuestions::EndDeadlines() {
  deadlines_.clear();
  std::vector<uint64_t> waiting;
  for (const auto& [connection, question] : questions_) {
    if (question.is_waiting) waiting.push_back(connection);
  }
  return waiting;
}

std::optional<uint64_t> ProcessQuestions::FindAnswered(QuestionId question) const {
  const auto found = connections_.find(question);
  if (found == connections_.end() || IsWaiting(found->second)) return std::nullopt;
  return found->second;
}

bool ProcessQuestions::IsWaiting(uint64_t connection) const {
  const auto found = questions_.find(connection);
  return found != questions_.end() && found->second.is_waiting;
}

}  // namespace fairlead::agent
