#include "slurm/engine_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

using Severity = controller::Noted::Severity;
using testing::ElementsAre;

class EngineNotesTest : public testing::Test {
 protected:
  std::vector<std::string> told_;
  std::vector<Severity> severities_;
  EngineNotes notes_{[this](SimTime, const controller::Noted& note) {
    told_.push_back(note.subject + ": " + note.text);
    severities_.push_back(note.severity);
  }};
};

TEST_F(EngineNotesTest, AFaultHasABeginningAndAnEnd) {
  notes_.TellOnce("slurm", OkStatus());
  for (int i = 0; i < 3; ++i) notes_.TellOnce("slurm", Unavailable("is away"));
  notes_.TellOnce("slurm", Unavailable("is away in another way"));
  notes_.TellOnce("alive file", Unavailable("no disk"));
  for (int i = 0; i < 3; ++i) notes_.TellOnce("slurm", OkStatus());
  EXPECT_THAT(told_, ElementsAre("slurm: is away", "alive file: no disk", "slurm: goes on"));
  EXPECT_THAT(severities_, ElementsAre(Severity::kWarning, Severity::kWarning, Severity::kInfo));
}

TEST_F(EngineNotesTest, FaultsEndWithTheirJobs) {
  for (const char* subject : {"job 7", "job 7 progress", "job 8", "slurm"}) notes_.TellOnce(subject, Unavailable("no"));
  told_.clear();
  Job job;
  job.id = 8;
  notes_.ForgetOtherJobs({job});
  for (const char* subject : {"job 7", "job 7 progress", "job 8", "slurm"}) notes_.TellOnce(subject, OkStatus());
  EXPECT_THAT(told_, ElementsAre("job 8: goes on", "slurm: goes on"));
}

TEST_F(EngineNotesTest, EventsAreToldEachTime) {
  for (int i = 0; i < 2; ++i) notes_.Tell(Severity::kInfo, "job 7", "is released");
  EXPECT_THAT(told_, ElementsAre("job 7: is released", "job 7: is released"));
  EngineNotes({}).Tell(Severity::kInfo, "job 7", "nobody listens");
}

}  // namespace
}  // namespace fairlead::slurm
