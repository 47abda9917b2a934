#include "lab/fault_verdict.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "model/finding.h"

namespace fairlead::lab {

namespace {

using model::Syndrome;

struct KindForm {
  model::CulpritKind kind;
  CulpritForm form;
};

// The first with a name that the text begins with. Hosts have their bare names.
constexpr std::array<KindForm, 7> kForms = {{
    {model::CulpritKind::kRank, CulpritForm::kRank},
    {model::CulpritKind::kNicSend, CulpritForm::kNicSend},
    {model::CulpritKind::kNicReceive, CulpritForm::kNicReceive},
    {model::CulpritKind::kNic, CulpritForm::kNic},
    {model::CulpritKind::kConnection, CulpritForm::kConnection},
    {model::CulpritKind::kLeaf, CulpritForm::kOther},
    {model::CulpritKind::kPlane, CulpritForm::kOther},
}};

// Spec 4.3: hangs are suspected after 10 s and confirmed after 10 more; slowness shows in three windows of 10 s.
constexpr double kHangSeconds = 20;
constexpr double kSlowSeconds = 40;
constexpr double kDeadSeconds = 15;

std::vector<Syndrome> RightSyndromes(LabFaultKind kind) {
  switch (kind) {
    case LabFaultKind::kFrozenRank:
      // Stopped before an operation, or in its midst.
      return {Syndrome::kNonCommHang, Syndrome::kCommHang};
    case LabFaultKind::kKilledRank:
      return {Syndrome::kDead};
    case LabFaultKind::kKilledHost:
      return {Syndrome::kDead, Syndrome::kUnreachable};
    case LabFaultKind::kCutLink:
      return {Syndrome::kCommHang};
    case LabFaultKind::kSlowSend:
    case LabFaultKind::kSlowReceive:
    case LabFaultKind::kSlowConnection:
      return {Syndrome::kCommSlow};
    case LabFaultKind::kBusyRank:
    case LabFaultKind::kSlowLoader:
      return {Syndrome::kNonCommSlow};
    case LabFaultKind::kMismatch:
      return {Syndrome::kMismatch};
    case LabFaultKind::kHealthy:
    case LabFaultKind::kPause:
      break;
  }
  return {};
}

// The forms in which the host of the faulty worker may be named.
std::vector<CulpritForm> RightForms(LabFaultKind kind) {
  switch (kind) {
    case LabFaultKind::kCutLink:
      return {CulpritForm::kNic, CulpritForm::kNicSend, CulpritForm::kNicReceive};
    case LabFaultKind::kSlowSend:
      return {CulpritForm::kNicSend, CulpritForm::kNic};
    case LabFaultKind::kSlowReceive:
      return {CulpritForm::kNicReceive, CulpritForm::kNic};
    case LabFaultKind::kSlowConnection:
      return {};
    default:
      return {CulpritForm::kRank, CulpritForm::kHost};
  }
}

bool IsRightConnection(const LabFault& fault, uint32_t from, uint32_t to) {
  switch (fault.kind) {
    case LabFaultKind::kCutLink:
      return from == fault.worker || to == fault.worker;
    case LabFaultKind::kSlowSend:
      return from == fault.worker;
    case LabFaultKind::kSlowReceive:
      return to == fault.worker;
    case LabFaultKind::kSlowConnection:
      return from == fault.worker && to == fault.peer;
    default:
      return false;
  }
}

bool IsRightCulprit(const LabFault& fault, const NamedCulprit& culprit) {
  if (culprit.form == CulpritForm::kConnection) {
    return culprit.ranks.size() == 2 && IsRightConnection(fault, culprit.ranks[0], culprit.ranks[1]);
  }
  const std::vector<CulpritForm> forms = RightForms(fault.kind);
  if (std::find(forms.begin(), forms.end(), culprit.form) == forms.end()) return false;
  return culprit.ranks.empty() || culprit.ranks == std::vector<uint32_t>{fault.worker};
}

// Whom connections name, by their ends.
bool NamesOnlyConnections(const std::vector<NamedCulprit>& culprits) {
  return std::all_of(culprits.begin(), culprits.end(),
                     [](const NamedCulprit& c) { return c.form == CulpritForm::kConnection; });
}

}  // namespace

NamedCulprit ParseCulprit(std::string_view text) {
  NamedCulprit culprit{.form = CulpritForm::kHost, .ranks = {}};
  const auto form = std::find_if(kForms.begin(), kForms.end(), [&](const KindForm& f) {
    return text.starts_with(std::string(model::Name(f.kind)) + " ");
  });
  if (form != kForms.end()) culprit.form = form->form;
  constexpr std::string_view kRank = "rank ";
  for (size_t at = text.find(kRank); at != text.npos; at = text.find(kRank, at + 1)) {
    const std::string_view rest = text.substr(at + kRank.size());
    uint32_t rank = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
    if (error == std::errc()) culprit.ranks.push_back(rank);
  }
  return culprit;
}

bool NeedsFinding(LabFaultKind kind) { return !RightSyndromes(kind).empty(); }

double PatienceSeconds(LabFaultKind kind) {
  switch (kind) {
    case LabFaultKind::kFrozenRank:
    case LabFaultKind::kCutLink:
    case LabFaultKind::kMismatch:
      return 2 * kHangSeconds;
    case LabFaultKind::kKilledRank:
    case LabFaultKind::kKilledHost:
      return 2 * kDeadSeconds;
    default:
      return 2 * kSlowSeconds;
  }
}

bool IsRight(const LabFault& fault, std::span<const std::string> hosts, const wire::LiveFinding& finding) {
  const std::vector<Syndrome> syndromes = RightSyndromes(fault.kind);
  const bool is_right_syndrome =
      std::any_of(syndromes.begin(), syndromes.end(), [&](Syndrome s) { return model::Name(s) == finding.syndrome; });
  if (!is_right_syndrome || finding.culprits.empty()) return false;
  std::vector<NamedCulprit> culprits;
  for (const std::string& text : finding.culprits) culprits.push_back(ParseCulprit(text));
  const auto is_right = [&](const NamedCulprit& culprit) { return IsRightCulprit(fault, culprit); };
  if (!std::all_of(culprits.begin(), culprits.end(), is_right)) return false;
  // Connections have two ends, of which one is innocent.
  if (NamesOnlyConnections(culprits)) return true;
  return !finding.hosts.empty() && std::all_of(finding.hosts.begin(), finding.hosts.end(),
                                               [&](const std::string& h) { return h == hosts[fault.worker]; });
}

}  // namespace fairlead::lab
