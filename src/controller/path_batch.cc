#include "controller/path_batch.h"

#include <iterator>
#include <utility>

namespace fairlead::controller {

PathBatch::Events PathBatch::Take() {
  ++num_taken_;
  Events events = {.all = std::exchange(releases_, {}), .first_question = 0};
  events.first_question = events.all.size();
  std::move(questions_.begin(), questions_.end(), std::back_inserter(events.all));
  questions_.clear();
  std::move(ports_.begin(), ports_.end(), std::back_inserter(events.all));
  ports_.clear();
  return events;
}

}  // namespace fairlead::controller
