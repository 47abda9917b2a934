#include "slurm/json_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "model/job_name.h"

namespace fairlead::slurm {
namespace {

using Json = nlohmann::json;

// Follows the text event by event. Depth: 1 in the outermost object, 2 in the list, 3 in a record.
class RecordHandler final : public nlohmann::json_sax<Json> {
 public:
  RecordHandler(const JsonRecordOptions& options, const std::function<Status(const Json&)>& take)
      : options_(options), take_(take) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      is_in_list_ = name == options_.list;
      is_in_errors_ = name == "errors";
    }
    if (depth_ == 3 && is_in_list_) is_key_wanted_ = options_.keys.contains(name);
    if (IsWanted()) key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    status_ = InvalidArgument(fmt::format("Slurm's answer is no JSON at byte {}", at));
    return false;
  }

  Status Finish() const {
    FL_RETURN_IF_ERROR(status_);
    if (!has_list_) return InvalidArgument(fmt::format("Slurm's answer: no list \"{}\"", options_.list));
    return OkStatus();
  }

 private:
  // Whether values become part of the record.
  bool IsWanted() const {
    return (depth_ == 3 && (is_in_list_ ? is_key_wanted_ : is_in_errors_)) || depth_of_value_ != 0;
  }

  // Where the next value goes; null: it is passed over.
  Json* Slot() {
    if (!IsWanted() || open_.empty()) return nullptr;
    Json& parent = *open_.back();
    if (parent.is_object()) return &parent[key_];
    parent.emplace_back();
    return &parent.back();
  }

  template <class Value>
  bool Add(Value&& value) {
    if (Json* slot = Slot(); slot != nullptr) *slot = std::forward<Value>(value);
    if (depth_ != 2) return true;
    if (is_in_errors_) return Fail(Json());  // an error that is no object
    if (!is_in_list_ || !has_list_) return true;
    status_ = InvalidArgument(fmt::format("Slurm's answer: \"{}\" has a record that is no object", options_.list));
    return false;
  }

  bool Open(Json empty) {
    ++depth_;
    if (depth_ == 2 && is_in_list_ && empty.is_array()) has_list_ = true;
    if (depth_ == 3 && (is_in_list_ || is_in_errors_)) {
      record_ = std::move(empty);
      open_ = {&record_};
      is_key_wanted_ = false;
      return true;
    }
    if (depth_ <= 3 || open_.empty()) return true;
    if (depth_of_value_ == 0 && (is_in_list_ ? !is_key_wanted_ : !is_in_errors_)) return true;
    if (depth_of_value_ == 0) depth_of_value_ = depth_;
    --depth_;  // the slot is the parent's
    Json* slot = Slot();
    ++depth_;
    *slot = std::move(empty);
    open_.push_back(slot);
    return true;
  }

  bool Close() {
    if (depth_ == 3 && is_in_list_) {
      status_ = take_(record_);
      if (!status_.ok()) return false;
    }
    if (depth_ == 3 && is_in_errors_ && !is_in_list_) return Fail(record_);
    if (depth_of_value_ != 0) {
      open_.pop_back();
      if (depth_ == depth_of_value_) depth_of_value_ = 0;
    }
    if (depth_ <= 3) open_.clear();
    --depth_;
    return true;
  }

  bool Fail(const Json& error) {
    std::string said;
    for (const char* key : {"error", "description"}) {
      if (!error.is_object() || !error.contains(key) || !error[key].is_string()) continue;
      said += (said.empty() ? "" : ": ") + model::PrintableText(error[key].get_ref<const std::string&>());
    }
    status_ = Unavailable(fmt::format("Slurm: {}", said.empty() ? "an error that it does not name" : said));
    return false;
  }

  const JsonRecordOptions& options_;
  const std::function<Status(const Json&)>& take_;
  Status status_;
  size_t depth_ = 0;
  size_t depth_of_value_ = 0;  // of the wanted list or object that is open within a record; 0: none
  bool is_in_list_ = false;
  bool is_in_errors_ = false;
  bool is_key_wanted_ = false;
  bool has_list_ = false;
  std::string key_;
  Json record_;
  std::vector<Json*> open_;
};

// Slurm prints bytes of comments as they are. '?' for each that is none of a character.
std::string AsUtf8(std::string_view text) {
  constexpr size_t kCharacterMax = 4;
  std::string replaced;
  replaced.reserve(text.size());
  while (!text.empty()) {
    size_t size = 1;
    while (size < std::min(kCharacterMax, text.size()) && !IsUtf8(text.substr(0, size))) ++size;
    if (!IsUtf8(text.substr(0, size))) size = 0;
    replaced += size == 0 ? std::string_view("?") : text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return replaced;
}

}  // namespace

Status ForEachJsonRecord(std::string_view text, const JsonRecordOptions& options,
                         const std::function<Status(const Json&)>& take) {
  if (!IsUtf8(text)) return ForEachJsonRecord(AsUtf8(text), options, take);
  RecordHandler handler(options, take);
  Json::sax_parse(text, &handler);
  return handler.Finish();
}

}  // namespace fairlead::slurm
