#include "cli/cluster/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/text_lines.h"
#include "report/printable_text.h"

namespace fairlead::cli {

namespace {

constexpr size_t kPage = 10;
// Headings and rule of a table.
constexpr size_t kTableHead = 2;

std::string_view KeysOf(TopView view, bool describes) {
  if (describes) return "Esc back   q quit";
  if (view == TopView::kJobs) {
    return "Enter explain   sort: o loss  s slowdown  g GPUs  n name   f findings  l links  h hosts   q quit";
  }
  return "j jobs   f findings  l links  h hosts   q quit";
}

}  // namespace

void TopScreen::Show(TopView view) {
  view_ = view;
  row_ = 0;
  described_job_.clear();
}

bool TopScreen::Press(int key) {
  switch (key) {
    case 'q':
      return false;
    case 'j':
      Show(TopView::kJobs);
      break;
    case 'f':
      Show(TopView::kFindings);
      break;
    case 'l':
      Show(TopView::kLinks);
      break;
    case 'h':
      Show(TopView::kHosts);
      break;
    case 'o':
      order_ = Order::kLoss;
      break;
    case 's':
      order_ = Order::kSlowdown;
      break;
    case 'g':
      order_ = Order::kGpus;
      break;
    case 'n':
      order_ = Order::kName;
      break;
    case kUp:
      row_ -= std::min<size_t>(row_, 1);
      break;
    case kDown:
      ++row_;
      break;
    case kPageUp:
      row_ -= std::min(row_, kPage);
      break;
    case kPageDown:
      row_ += kPage;
      break;
    case kEscape:
      described_job_.clear();
      break;
    case '\r':
    case '\n':
      if (view_ == TopView::kJobs && row_ < job_names_.size()) described_job_ = job_names_[row_];
      break;
    default:
      break;
  }
  return true;
}

void TopScreen::Sort(std::vector<wire::LiveJob>* jobs) const {
  SortByLoss(jobs);
  const auto by = [&](const auto& value) {
    std::ranges::stable_sort(*jobs,
                             [&](const wire::LiveJob& a, const wire::LiveJob& b) { return value(a) > value(b); });
  };
  switch (order_) {
    case Order::kLoss:
      break;
    case Order::kSlowdown:
      by([](const wire::LiveJob& job) { return SlowdownOf(job); });
      break;
    case Order::kGpus:
      by([](const wire::LiveJob& job) { return job.gpus; });
      break;
    case Order::kName:
      std::ranges::sort(*jobs, {}, &wire::LiveJob::name);
      break;
  }
}

report::Document TopScreen::Table(const ClusterState& state) {
  switch (view_) {
    case TopView::kJobs: {
      std::vector<wire::LiveJob> jobs = state.jobs;
      Sort(&jobs);
      job_names_.clear();
      for (const wire::LiveJob& job : jobs) job_names_.push_back(job.name);
      return JobTable(jobs);
    }
    case TopView::kFindings:
      return FindingTable(state.findings, false);
    case TopView::kLinks:
      return LinkTable(state.links);
    case TopView::kHosts:
      return HostTable(state.hosts, state.now_s);
  }
  return {};
}

std::string TopScreen::Render(const ClusterState& state, const report::Document& description, size_t width,
                              size_t height) {
  const bool describes = !described_job_.empty();
  std::vector<std::string> lines;
  lines.push_back(fmt::format("fairlead top  {}  {} UTC", state.server, UtcText(state.now_s)));
  for (std::string& line : LinesOf(ClusterSummary(state))) lines.push_back(std::move(line));
  lines.emplace_back();
  const size_t head = lines.size();
  std::vector<std::string> body =
      LinesOf((describes ? description : Table(state))
                  .Render(report::OutputFormat::kTable, width - std::min<size_t>(width, 2)));
  // The selected row of jobs is marked and in sight; other lists are scrolled.
  const bool has_rows = body.size() > kTableHead;
  const bool marks = view_ == TopView::kJobs && !describes && !job_names_.empty();
  if (marks) row_ = std::min(row_, job_names_.size() - 1);
  if (!marks) row_ = std::min(row_, has_rows ? body.size() - kTableHead - 1 : 0);
  const size_t room = height > head + kTableHead + 2 ? height - head - kTableHead - 2 : 1;
  const size_t first = marks ? (row_ < room ? 0 : row_ - room + 1) : row_;
  for (size_t i = 0; i < body.size(); ++i) {
    if (marks && i == kTableHead + row_)
      body[i] = "> " + body[i];
    else if (marks)
      body[i] = "  " + body[i];
    if (describes || i < kTableHead || (i >= kTableHead + first && i < kTableHead + first + room)) {
      lines.push_back(std::move(body[i]));
    }
  }
  const std::string keys(KeysOf(view_, describes));
  if (height > 2 && lines.size() > height - 2) lines.resize(height - 2);
  lines.emplace_back();
  lines.push_back(keys);
  if (lines.size() > height) lines.resize(height);
  std::string text;
  for (const std::string& line : lines) text += report::TruncateToWidth(line, width) + "\n";
  return text;
}

}  // namespace fairlead::cli
