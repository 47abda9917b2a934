#include "experiments/all_experiments.h"

#include "experiments/aiturbo-classifier/aiturbo_classifier.h"
#include "experiments/aiturbo-decision-time/aiturbo_decision_time.h"
#include "experiments/aiturbo-example/aiturbo_example.h"
#include "experiments/aiturbo-jct/aiturbo_jct.h"
#include "experiments/aiturbo-speed-model/aiturbo_speed_model.h"
#include "experiments/aiturbo-stress/aiturbo_stress.h"
#include "experiments/aiturbo-utilization/aiturbo_utilization.h"
#include "experiments/c4d-confusion/c4d_confusion.h"
#include "experiments/c4d-delay-matrix/c4d_delay_matrix.h"
#include "experiments/c4d-downtime/c4d_downtime.h"
#include "experiments/c4p-bonded-ports/c4p_bonded_ports.h"
#include "experiments/c4p-congestion/c4p_congestion.h"
#include "experiments/c4p-eight-jobs/c4p_eight_jobs.h"
#include "experiments/c4p-link-failure/c4p_link_failure.h"
#include "experiments/c4p-real-jobs/c4p_real_jobs.h"
#include "experiments/c4p-scale/c4p_scale.h"
#include "experiments/cassini/cassini.h"
#include "experiments/crux-examples/crux_examples.h"
#include "experiments/crux-fairness/crux_fairness.h"
#include "experiments/crux-job-schedulers/crux_job_schedulers.h"
#include "experiments/crux-near-optimality/near_optimality.h"
#include "experiments/crux-testbed/crux_testbed.h"
#include "experiments/crux-trace-clos/crux_trace_clos.h"
#include "experiments/crux-trace-double-sided/crux_trace_double_sided.h"
#include "experiments/crux-trace-grid/crux_trace_grid.h"
#include "experiments/embedded_texts.h"
#include "experiments/joint-health/joint_health.h"
#include "experiments/joint/joint.h"
#include "experiments/lab-bonded-ports/lab_bonded_ports.h"
#include "experiments/lab-crux/lab_crux.h"
#include "experiments/lab-diagnosis/lab_diagnosis.h"
#include "experiments/lab-downtime/lab_downtime.h"
#include "experiments/lab-eight-jobs/lab_eight_jobs.h"
#include "experiments/lab-link-failure/lab_link_failure.h"
#include "experiments/lab-torch/lab_torch.h"
#include "experiments/monkey-tree/monkey_tree.h"
#include "experiments/packet-level/packet_level.h"
#include "experiments/policy-default/policy_default.h"
#include "experiments/sprayed-failures/sprayed_failures.h"
#include "experiments/spraying/spraying.h"

namespace fairlead::experiments {

std::vector<experiment::Experiment> AllExperiments() {
  return {
      {"crux-examples", FindEmbeddedText("experiments/crux-examples/paper.yaml"), crux_examples::Run},
      {"crux-near-optimality", FindEmbeddedText("experiments/crux-near-optimality/paper.yaml"),
       crux_near_optimality::Run},
      {"crux-testbed", FindEmbeddedText("experiments/crux-testbed/paper.yaml"), crux_testbed::Run},
      {"crux-trace-clos", FindEmbeddedText("experiments/crux-trace-clos/paper.yaml"), crux_trace_clos::Run},
      {"crux-trace-double-sided", FindEmbeddedText("experiments/crux-trace-double-sided/paper.yaml"),
       crux_trace_double_sided::Run},
      {"crux-trace-grid", FindEmbeddedText("experiments/crux-trace-grid/paper.yaml"), crux_trace_grid::Run, true},
      {"crux-job-schedulers", FindEmbeddedText("experiments/crux-job-schedulers/paper.yaml"), crux_job_schedulers::Run},
      {"crux-fairness", FindEmbeddedText("experiments/crux-fairness/paper.yaml"), crux_fairness::Run},
      {"c4p-bonded-ports", FindEmbeddedText("experiments/c4p-bonded-ports/paper.yaml"), c4p_bonded_ports::Run},
      {"c4p-eight-jobs", FindEmbeddedText("experiments/c4p-eight-jobs/paper.yaml"), c4p_eight_jobs::Run},
      {"c4p-congestion", FindEmbeddedText("experiments/c4p-congestion/paper.yaml"), c4p_congestion::Run},
      {"c4p-link-failure", FindEmbeddedText("experiments/c4p-link-failure/paper.yaml"), c4p_link_failure::Run, true},
      {"c4p-real-jobs", FindEmbeddedText("experiments/c4p-real-jobs/paper.yaml"), c4p_real_jobs::Run, true},
      {"c4p-scale", FindEmbeddedText("experiments/c4p-scale/paper.yaml"), c4p_scale::Run},
      {"c4d-delay-matrix", FindEmbeddedText("experiments/c4d-delay-matrix/paper.yaml"), c4d_delay_matrix::Run},
      {"c4d-confusion", FindEmbeddedText("experiments/c4d-confusion/paper.yaml"), c4d_confusion::Run},
      {"c4d-downtime", FindEmbeddedText("experiments/c4d-downtime/paper.yaml"), c4d_downtime::Run},
      {"aiturbo-example", FindEmbeddedText("experiments/aiturbo-example/paper.yaml"), aiturbo_example::Run},
      {"aiturbo-jct", FindEmbeddedText("experiments/aiturbo-jct/paper.yaml"), aiturbo_jct::Run},
      {"aiturbo-stress", FindEmbeddedText("experiments/aiturbo-stress/paper.yaml"), aiturbo_stress::Run, true},
      {"aiturbo-utilization", FindEmbeddedText("experiments/aiturbo-utilization/paper.yaml"), aiturbo_utilization::Run},
      {"aiturbo-decision-time", FindEmbeddedText("experiments/aiturbo-decision-time/paper.yaml"),
       aiturbo_decision_time::Run},
      {"aiturbo-classifier", FindEmbeddedText("experiments/aiturbo-classifier/paper.yaml"), aiturbo_classifier::Run},
      {"aiturbo-speed-model", FindEmbeddedText("experiments/aiturbo-speed-model/paper.yaml"), aiturbo_speed_model::Run},
      {"joint", FindEmbeddedText("experiments/joint/paper.yaml"), joint::Run},
      {"joint-health", FindEmbeddedText("experiments/joint-health/paper.yaml"), joint_health::Run},
      {"policy-default", FindEmbeddedText("experiments/policy-default/paper.yaml"), policy_default::Run},
      {"packet-level", FindEmbeddedText("experiments/packet-level/paper.yaml"), packet_level::Run, true},
      {"spraying", FindEmbeddedText("experiments/spraying/paper.yaml"), spraying::Run},
      {"sprayed-failures", FindEmbeddedText("experiments/sprayed-failures/paper.yaml"), sprayed_failures::Run},
      {"monkey-tree", FindEmbeddedText("experiments/monkey-tree/paper.yaml"), monkey_tree::Run},
      {"cassini", FindEmbeddedText("experiments/cassini/paper.yaml"), cassini::Run},
      {"lab-eight-jobs", FindEmbeddedText("experiments/lab-eight-jobs/paper.yaml"), lab_eight_jobs::Run},
      {"lab-bonded-ports", FindEmbeddedText("experiments/lab-bonded-ports/paper.yaml"), lab_bonded_ports::Run},
      {"lab-link-failure", FindEmbeddedText("experiments/lab-link-failure/paper.yaml"), lab_link_failure::Run},
      {"lab-crux", FindEmbeddedText("experiments/lab-crux/paper.yaml"), lab_crux::Run},
      {"lab-diagnosis", FindEmbeddedText("experiments/lab-diagnosis/paper.yaml"), lab_diagnosis::Run},
      {"lab-downtime", FindEmbeddedText("experiments/lab-downtime/paper.yaml"), lab_downtime::Run},
      {"lab-torch", FindEmbeddedText("experiments/lab-torch/paper.yaml"), lab_torch::Run},
  };
}

}  // namespace fairlead::experiments
