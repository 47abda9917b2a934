// The fields of actions of steering that wait for an answer, as they are kept (codec/record.h). Names never change
// meaning.
#pragma once

#include "codec/record.h"
#include "controller/action_attempts.h"
#include "controller/steering_events.h"
#include "model/finding_fields.h"

namespace fairlead::controller {

template <class Archive, class Record>
requires codec::IsRecord<Record, IsolateHost> || codec::IsRecord<Record, TestHost> ||
    codec::IsRecord<Record, ReturnHost>
void Describe(Archive& archive, Record& step) { archive.Required("host", step.host); }

template <class Archive, codec::IsRecord<StopJob> Record>
void Describe(Archive& archive, Record& stop) {
  archive.Required("job", stop.job);
}

template <class Archive, codec::IsRecord<TakeSpare> Record>
void Describe(Archive& archive, Record& take) {
  archive.Required("job", take.job);
  archive.Required("spare", take.spare);
  archive.Required("replaces", take.replaces);
}

template <class Archive, codec::IsRecord<RestartJob> Record>
void Describe(Archive& archive, Record& restart) {
  archive.Required("job", restart.job);
  archive.Required("hosts", restart.hosts);
}

// Those that are answered: no others are open.
template <class Archive, codec::IsRecord<SteeringStep> Record>
void Describe(Archive& archive, Record& step) {
  archive.template OneOf<IsolateHost>("isolate_host", step);
  archive.template OneOf<StopJob>("stop_job", step);
  archive.template OneOf<TakeSpare>("take_spare", step);
  archive.template OneOf<RestartJob>("restart_job", step);
  archive.template OneOf<TestHost>("test_host", step);
  archive.template OneOf<ReturnHost>("return_host", step);
}

template <class Archive, codec::IsRecord<ActionAttempts::Open> Record>
void Describe(Archive& archive, Record& open) {
  auto& action = open.action;
  archive.Required("number", action.number);
  archive.Required("attempt", action.attempt);
  archive.Required("step", action.step);
  archive.Optional("job", action.job);
  archive.Optional("finding", action.finding);
  archive.Required("confidence", action.confidence, codec::MaybeInfinite());
  archive.Required("evidence", action.evidence);
  archive.Required("reason", action.reason);
  archive.Required("is_sent", open.is_sent);
  archive.Required("due", open.due);
}

}  // namespace fairlead::controller
