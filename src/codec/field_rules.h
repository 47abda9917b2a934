// What is wrong with the values of a record: the ranges of its types, the rules of its fields, its laws.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "codec/record.h"

namespace fairlead::codec {

// Of one field, not of the items of a list or of what is described inside it: an archive looks at those one by one.
template <class T, class Rule>
std::string FindFieldFault(const T& value, const Rule& rule) {
  if constexpr (requires { rule.Fault(value); }) {
    std::string error = rule.Fault(value);
    if (!error.empty()) return error;
  }
  if constexpr (kIsQuantity<T>) {
    return Amount().Fault(value.value());
  } else if constexpr (std::is_enum_v<T>) {
    const auto number = static_cast<uint64_t>(value);
    constexpr uint64_t kLast = LastEnumerator<T>();
    if (number > kLast) return fmt::format(": expected 0 to {}, found {}", kLast, number);
  } else if constexpr (kIsOptional<T>) {
    if (value.has_value()) return FindFieldFault(*value, rule);
  }
  return "";
}

// An archive: all of a record, and of the records inside it.
class FieldChecker {
 public:
  template <class T, class Rule = AnyValue>
  void Required(const char* name, const T& value, Rule rule = {}) {
    if (error_.empty()) AddUnlessEmpty(name, Check(value, rule));
  }
  template <class T, class Rule = AnyValue>
  void Optional(const char* name, const T& value, Rule rule = {}) {
    Required(name, value, rule);
  }
  template <class T, class Rule = AnyValue>
  void Required(int /*number*/, const char* name, const T& value, Rule rule = {}) {
    Required(name, value, rule);
  }
  template <class T, class Rule = AnyValue>
  void Optional(int /*number*/, const char* name, const T& value, Rule rule = {}) {
    Required(name, value, rule);
  }
  template <class T>
  void Inline(const char* name, const T& value) {
    Required(name, value);
  }
  template <class FindFault>
  void Law(FindFault find_fault) {
    if (!error_.empty()) return;
    const std::string fault = find_fault();
    if (!fault.empty()) error_ = "." + fault;
  }

  const std::string& error() const { return error_; }

 private:
  template <class T, class Rule>
  static std::string Check(const T& value, const Rule& rule) {
    std::string error = FindFieldFault(value, rule);
    if (!error.empty()) return error;
    if constexpr (IsDescribed<T>) {
      FieldChecker checker;
      Describe(checker, value);
      return checker.error();
    } else if constexpr (kIsList<T>) {
      for (size_t i = 0; i < value.size(); ++i) {
        error = Check(value[i], AnyValue());
        if (!error.empty()) return fmt::format("[{}]{}", i, error);
      }
    }
    return "";
  }

  void AddUnlessEmpty(const char* name, const std::string& error) {
    if (!error.empty()) error_ = fmt::format(".{}{}", name, error);
  }

  std::string error_;
};

// Empty: nothing. ".connections[2].port: expected …".
template <class Record>
std::string FindRecordFault(const Record& record) {
  FieldChecker checker;
  Describe(checker, record);
  return checker.error();
}

}  // namespace fairlead::codec
