#include "traffic/c4p/replan_agenda.h"

namespace fairlead::traffic::c4p {

void ReplanAgenda::NoteHealth(double before, double after, bool is_first_choice) {
  if (!steps_) steps_.emplace();
  if ((before > 0) != (after > 0)) steps_->check_ports = true;
  if (after > before) steps_->try_again = true;
  if (!is_first_choice) return;
  if (after > before) steps_->balance_for = MoveCause::kLinkBack;
  if (after < before && !steps_->balance_for) steps_->balance_for = MoveCause::kLinkDegraded;
}

void ReplanAgenda::NoteAdopted(bool has_path) {
  if (!steps_) steps_.emplace();
  if (!has_path) steps_->try_again = true;
}

}  // namespace fairlead::traffic::c4p
