#include "service/agent/state_keeper.h"

#include <algorithm>
#include <ctime>
#include <optional>

#include "agent/agent_state.h"
#include "base/file_writer.h"
#include "service/agent/agent_clock.h"

namespace fairlead::service {

namespace {

constexpr SimDuration kSavePeriod(5'000'000);
constexpr int64_t kSaveRestFactor = 4;

}  // namespace

void StateKeeper::Save(SimTime now, const agent::HostAgent& agent) {
  if (IsSaved(agent) || now < next_ || thread_.num_waiting() > 0) return;
  saved_revision_ = agent.revision();
  next_ = now + std::max(kSavePeriod, SimDuration(took_ns_ * kSaveRestFactor));
  thread_.Do([this, state = agent.State(), revision = saved_revision_] {
    const SimDuration began = ProcessorTime();
    const Status status = WriteFileAtomically(state_path_, agent::WriteAgentState(state), Outlives::kProcess);
    if (!status.ok()) once_.Tell("can't save this agent's state: " + status.message());
    took_ns_ = (ProcessorTime() - began).ns();
    inbox_.Push(agent::StateKept{revision});  // the controller learns of it in any case: jobs come first
  });
}

void StateKeeper::SaveHealth(SimTime now, HealthKeeper* health) {
  if (health_path_.empty()) return;
  const std::optional<HostHealth> due = health->TakeDue(now, std::time(nullptr));
  if (!due) return;
  thread_.Do([this, text = WriteHealth(*due)] {
    const Status status = WriteFileAtomically(health_path_, text, Outlives::kProcess);
    if (!status.ok()) once_.Tell("can't save the findings about this host: " + status.message());
  });
}

SimTime StateKeeper::NextDue(const agent::HostAgent& agent) const {
  return IsSaved(agent) || thread_.num_waiting() > 0 ? SimTime::Never() : next_;
}

void StateKeeper::Finish(const agent::HostAgent& agent) {
  next_ = SimTime();
  thread_.Finish();
  Save(AgentClock(), agent);
  thread_.Finish();
}

}  // namespace fairlead::service
