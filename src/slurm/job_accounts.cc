#include "slurm/job_accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/printable_ascii.h"
#include "base/whole_number.h"
#include "codec/json_archive.h"
#include "slurm/job_comment.h"
#include "slurm/stored_record.h"

namespace fairlead::slurm {

template <class Archive, codec::IsRecord<AccountEntry> Record>
void Describe(Archive& archive, Record& entry) {
  archive.Required("at_s", entry.at_s);
  archive.Required("kind", entry.kind);
  archive.Required("text", entry.text);
  archive.Optional("action", entry.action);
}

template <class Archive, codec::IsRecord<JobAccount> Record>
void Describe(Archive& archive, Record& account) {
  archive.Required("job", account.job);
  archive.Required("owner", account.owner);
  archive.Required("entries", account.entries);
  archive.Optional("num_left_out", account.num_left_out);
  archive.Optional("told", account.told);
}

namespace {

constexpr std::string_view kAccountPrefix = "slurm/account/";
// Of one entry in the comment, so that there is room for several.
constexpr size_t kTextInCommentMax = 110;

std::string AccountKey(uint32_t job) { return fmt::format("{}{}", kAccountPrefix, job); }

// "2026-11-28T12:59Z"
std::string Minute(double at_s) {
  const auto seconds = static_cast<time_t>(at_s);
  tm parts{};
  std::array<char, 32> text{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "";
  return {text.data(), strftime(text.data(), text.size(), "%Y-%m-%dT%H:%MZ", &parts)};
}

}  // namespace

std::string SummaryOf(const JobAccount& account) {
  std::string summary;
  for (auto entry = account.entries.rbegin(); entry != account.entries.rend(); ++entry) {
    const std::string text = fmt::format("{}{} {}", summary.empty() ? "" : " - ", Minute(entry->at_s),
                                         std::string_view(entry->text).substr(0, kTextInCommentMax));
    if (summary.size() + text.size() > kAccountTextBytesMax) break;
    summary += text;
  }
  return AccountText(summary);
}

Result<std::unique_ptr<JobAccounts>> JobAccounts::Create(Programs* programs, store::Store* store,
                                                         const WriterOptions& options) {
  std::unique_ptr<JobAccounts> accounts(new JobAccounts(programs, store, options));
  FL_ASSIGN_OR_RETURN(const std::vector<store::Record> records, store->List(kAccountPrefix));
  for (const store::Record& record : records) {
    FL_ASSIGN_OR_RETURN(JobAccount account, ReadStored<JobAccount>(record));
    if (record.key != AccountKey(account.job)) return DamagedRecord(record, "it is of another job");
    accounts->accounts_[account.job] = std::move(account);
  }
  return accounts;
}

Status JobAccounts::Save(const JobAccount& account) {
  const store::Change change = {AccountKey(account.job), codec::ToJson(account).dump()};
  return store_.Apply({&change, 1});
}

// Those that nothing was done to for longest.
Status JobAccounts::Forget() {
  while (accounts_.size() > kNumAccountsMax) {
    const auto oldest =
        std::ranges::min_element(accounts_, {}, [](const auto& account) { return account.second.entries.back().at_s; });
    const store::Change change = {AccountKey(oldest->first), std::nullopt};
    FL_RETURN_IF_ERROR(store_.Apply({&change, 1}));
    const std::lock_guard lock(mutex_);
    accounts_.erase(oldest);
  }
  return OkStatus();
}

Status JobAccounts::Add(uint32_t job, uint32_t owner, AccountEntry entry) {
  entry.text = PrintableAscii(std::string_view(entry.text).substr(0, kTextBytesMax));
  JobAccount changed;
  {
    const std::lock_guard lock(mutex_);
    JobAccount& account = accounts_[job];
    if (account.owner != owner) account = {};
    account.job = job;
    account.owner = owner;
    const bool is_there = !entry.action.empty() && std::ranges::find(account.entries, entry.action,
                                                                     &AccountEntry::action) != account.entries.end();
    if (!is_there) account.entries.push_back(std::move(entry));
    if (account.entries.size() > kNumEntriesMax) {
      account.entries.erase(account.entries.begin());
      ++account.num_left_out;
    }
    changed = account;
  }
  FL_RETURN_IF_ERROR(Save(changed));
  return Forget();
}

Status JobAccounts::TellComments(const std::vector<Job>& jobs) {
  size_t num_told = 0;
  for (const Job& job : jobs) {
    const auto account = Of(job.id);
    if (!account.has_value() || account->owner != job.owner || job.state == JobState::kEnded) continue;
    const std::string summary = SummaryOf(*account);
    if (summary == account->told) continue;
    if (num_told++ == kNumToldMax) break;
    const SetComment order = {job.id, job.owner, summary};
    Result<Outcome> outcome = writer_.Carry(order);
    // Of older news: written, or not, it is of no use any more.
    if (outcome.status().code() == StatusCode::kFailedPrecondition) {
      FL_RETURN_IF_ERROR(writer_.AbandonSubject(SubjectOf(order)));
      outcome = writer_.Carry(order);
    }
    if (!outcome.ok()) return outcome.status();
    if (outcome->kind == Outcome::Kind::kUnderway) continue;
    JobAccount told = *account;
    told.told = summary;
    FL_RETURN_IF_ERROR(Save(told));
    const std::lock_guard lock(mutex_);
    accounts_[job.id] = std::move(told);
  }
  return OkStatus();
}

std::optional<JobAccount> JobAccounts::Of(uint32_t job) const {
  const std::lock_guard lock(mutex_);
  const auto found = accounts_.find(job);
  return found == accounts_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace fairlead::slurm
