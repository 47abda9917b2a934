// Runs an fwl workload (src/sim/fwl_workload.h) on SimGrid's public interface: the yardstick of compare_simgrid.py.
//
//     simgrid_fwl FILE edge|stepwise WALL_LIMIT_S --cfg=network/model:CM02 --cfg=network/crosstraffic:0
//     --cfg=network/TCP-gamma:0
//
// Each flow gets its own host with an explicit route, so that every path of the file can be expressed; one actor per
// job (edge), or one per ring edge with token semaphores (stepwise). Prints one JSON object; "finished" is false when
// the wall limit came first. cpu_s leaves out reading the file and building the platform.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// version.h needs what s4u.hpp includes, so the order is not the alphabet's.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/version.h>
// clang-format on

namespace sg4 = simgrid::s4u;

namespace {

constexpr int kNumRings = 8;

struct Flow {
  double bytes = 0;
  std::vector<int> route;
  sg4::Host* source = nullptr;
};

struct Job {
  int id = 0;
  int priority = 0;
  int iterations = 0;
  double compute_s = 0;
  double start_s = 0;
  std::vector<Flow> flows;
  std::vector<double> iteration_ends_s;
  int num_edges_done = 0;                 // stepwise: in this iteration
  std::vector<sg4::SemaphorePtr> tokens;  // stepwise: [flow] messages that the edge before it has sent
};

struct Run {
  std::vector<Job> jobs;
  std::vector<sg4::Link*> links;  // [link id], null when unused
  double capacity = 0;
  sg4::Host* sink = nullptr;
  double wall_limit_s = 0;
  double cpu_start_s = 0;
  std::chrono::steady_clock::time_point wall_start;
  long completions = 0;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double PeakRssMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024 / 1e6;
}

void Report(const Run& run, bool finished) {
  double sum = 0;
  int num_jobs = 0;
  for (const Job& job : run.jobs) {
    if (job.iteration_ends_s.size() < 2) continue;
    sum += (job.iteration_ends_s.back() - job.start_s) / job.iteration_ends_s.size();
    ++num_jobs;
  }
  const double end_s = sg4::Engine::get_clock();
  std::printf(
      "{\"version\": \"%d.%d\", \"finished\": %s, \"end_s\": %.9f, \"mean_iteration_s\": %.9f, \"completions\": %ld, "
      "\"cpu_s\": %.9f, \"peak_rss_mb\": %.9f}\n",
      SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR, finished ? "true" : "false", end_s,
      num_jobs > 0 ? sum / num_jobs : end_s, run.completions, CpuSeconds() - run.cpu_start_s, PeakRssMb());
  std::fflush(stdout);
}

void RunJob(Run* run, Job* job) {
  if (job->start_s > 0) sg4::this_actor::sleep_for(job->start_s);
  std::vector<sg4::CommPtr> running;
  for (int iteration = 0; iteration < job->iterations; ++iteration) {
    if (job->compute_s > 0) sg4::this_actor::sleep_for(job->compute_s);
    running.clear();
    for (const Flow& flow : job->flows) {
      running.push_back(sg4::Comm::sendto_async(flow.source, run->sink, static_cast<uint64_t>(flow.bytes)));
    }
    for (const sg4::CommPtr& comm : running) comm->wait();
    job->iteration_ends_s.push_back(sg4::Engine::get_clock());
  }
}

void RunRingEdge(Run* run, Job* job, int edge, const sg4::BarrierPtr& iteration_end) {
  const int ring_size = static_cast<int>(job->flows.size()) / kNumRings;
  const int next = edge / ring_size * ring_size + (edge % ring_size + 1) % ring_size;
  const int num_messages = 2 * (ring_size - 1);
  const Flow& flow = job->flows[edge];
  if (job->start_s > 0) sg4::this_actor::sleep_for(job->start_s);
  for (int iteration = 0; iteration < job->iterations; ++iteration) {
    sg4::this_actor::sleep_for(job->compute_s);
    for (int message = 0; message < num_messages; ++message) {
      if (message > 0) job->tokens[edge]->acquire();
      sg4::Comm::sendto(flow.source, run->sink, static_cast<uint64_t>(flow.bytes / num_messages));
      if (message < num_messages - 1) job->tokens[next]->release();
    }
    if (++job->num_edges_done == static_cast<int>(job->flows.size())) {
      job->num_edges_done = 0;
      job->iteration_ends_s.push_back(sg4::Engine::get_clock());
    }
    iteration_end->wait();
  }
}

template <class Body>
void AddActor(const Run& run, Body body) {
#if SIMGRID_VERSION_MAJOR >= 4
  run.sink->add_actor("actor", body);
#else
  sg4::Actor::create("actor", run.sink, body);
#endif
}

bool ReadFile(const char* path, Run* run) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return false;
  long num_links = 0;
  int num_jobs = 0;
  bool good = std::fscanf(file, " fwl 1 linkcaps %ld %lf jobs %d", &num_links, &run->capacity, &num_jobs) == 3;
  run->links.resize(good ? num_links : 0);
  run->jobs.resize(good ? num_jobs : 0);
  for (Job& job : run->jobs) {
    int num_flows = 0;
    good = good && std::fscanf(file, " job %d %d %lf %d %lf %d", &job.id, &job.priority, &job.compute_s,
                               &job.iterations, &job.start_s, &num_flows) == 6;
    job.flows.resize(good ? num_flows : 0);
    for (Flow& flow : job.flows) {
      int length = 0;
      good = good && std::fscanf(file, " f %lf %d", &flow.bytes, &length) == 2;
      flow.route.resize(good ? length : 0);
      for (int& link : flow.route) good = good && std::fscanf(file, "%d", &link) == 1 && link >= 0 && link < num_links;
    }
  }
  std::fclose(file);
  return good;
}

void BuildPlatform([[maybe_unused]] sg4::Engine& engine, Run* run) {
#if SIMGRID_VERSION_MAJOR >= 4
  auto* zone = engine.get_netzone_root()->add_netzone_star("fabric");
#else
  auto* zone = sg4::create_star_zone("fabric");
#endif
  run->sink = zone->create_host("sink", 1e9);
  run->sink->seal();
  long num_hosts = 0;
  for (Job& job : run->jobs) {
    for (Flow& flow : job.flows) {
      std::vector<sg4::LinkInRoute> route;
      for (const int id : flow.route) {
        sg4::Link*& link = run->links[id];
        if (link == nullptr) {
          link = zone->create_link("link" + std::to_string(id), run->capacity);
          link->set_latency(0.0);
          link->seal();
        }
        route.emplace_back(link);
      }
      flow.source = zone->create_host("host" + std::to_string(num_hosts++), 1e9);
      flow.source->seal();
      zone->add_route(flow.source->get_netpoint(), nullptr, nullptr, nullptr, route, false);
    }
  }
  zone->seal();
}

void AddActors(Run* run, bool stepwise) {
  for (Job& job : run->jobs) {
    const int num_flows = static_cast<int>(job.flows.size());
    if (num_flows == 0) continue;
    if (!stepwise) {
      AddActor(*run, [run, &job] { RunJob(run, &job); });
      continue;
    }
    const sg4::BarrierPtr iteration_end = sg4::Barrier::create(num_flows);
    for (int edge = 0; edge < num_flows; ++edge) job.tokens.push_back(sg4::Semaphore::create(0));
    for (int edge = 0; edge < num_flows; ++edge) {
      AddActor(*run, [run, &job, edge, iteration_end] { RunRingEdge(run, &job, edge, iteration_end); });
    }
  }
}

void CountCompletion(Run* run) {
  ++run->completions;
  if (run->completions % 8 != 0) return;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - run->wall_start;
  if (wall.count() < run->wall_limit_s) return;
  Report(*run, false);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  static Run run;
  if (argc != 4 || !ReadFile(argv[1], &run)) {
    std::fprintf(stderr,
                 "usage: simgrid_fwl FILE edge|stepwise WALL_LIMIT_S --cfg=…, and FILE must be a good fwl file\n");
    return 2;
  }
  run.wall_limit_s = std::atof(argv[3]);
  BuildPlatform(engine, &run);
  AddActors(&run, std::string(argv[2]) == "stepwise");
  sg4::Link::on_communication_state_change_cb([](const auto& action, auto) {
    using simgrid::kernel::resource::Action;
    if (reinterpret_cast<const Action&>(action).get_state() == Action::State::FINISHED) CountCompletion(&run);
  });
  run.cpu_start_s = CpuSeconds();
  run.wall_start = std::chrono::steady_clock::now();
  engine.run();
  Report(run, true);
  _exit(0);  // tearing the platform down takes longer than some runs
}
