#include "slurm/order_backend.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace fairlead::slurm {
namespace {

std::string HostOfStep(const controller::SteeringStep& step, const controller::SteeringNames& names) {
  if (const auto* isolate = std::get_if<controller::IsolateHost>(&step)) return names.Of(isolate->host);
  if (const auto* take = std::get_if<controller::TakeSpare>(&step)) return names.Of(take->spare);
  if (const auto* test = std::get_if<controller::TestHost>(&step)) return names.Of(test->host);
  if (const auto* back = std::get_if<controller::ReturnHost>(&step)) return names.Of(back->host);
  return "";
}

}  // namespace

void OrderBackend::Begin(SimTime, const controller::SteeringAction& action) {
  StepOrder order;
  order.action = action.number;
  order.attempt = action.attempt;
  order.step = action.step;
  order.host = HostOfStep(action.step, names_);
  if (const auto* restart = std::get_if<controller::RestartJob>(&action.step)) {
    for (const HostId host : restart->hosts) order.hosts.push_back(names_.Of(host));
  }
  if (action.job.valid()) order.job = names_.Of(action.job);
  order.reason =
      action.finding.valid() ? fmt::format("finding {}: {}", action.finding.value(), action.reason) : action.reason;
  orders_.Put(std::move(order), StepOrders::Clock::now());
}

}  // namespace fairlead::slurm
