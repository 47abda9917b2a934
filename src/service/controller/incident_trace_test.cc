#include "service/controller/incident_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace fairlead::service {
namespace {

using report::Json;

wire::FindingDetail MakeIncident() {
  wire::FindingDetail detail;
  detail.finding.job = "gpt <script>";
  detail.finding.id = 7;
  detail.finding.syndrome = "non_comm_hang";
  detail.finding.culprits = {"rank 3 on h1"};
  detail.finding.hosts = {"h1"};
  detail.finding.text = "rank 3 hangs\xff";
  detail.finding.suspected_at_s = 1'800'000'000.25;
  detail.finding.confirmed_at_s = 1'800'000'010.5;
  detail.finding.cleared_at_s = 1'800'000'050;
  detail.finding.confidence = 0.9;
  detail.blocks = {{.at_s = 1'799'999'990, .seconds = 2}, {.at_s = 1'800'000'048, .seconds = 3}};
  return detail;
}

// As /v1/steering has it: two attempts to isolate, then a restart; and lines of others.
Json MakeLog() {
  return Json::parse(R"([
    {"at_s": 1799999000, "kind": "action", "action": 1, "attempt": 1, "step": "isolate_host", "finding": 6, "job": 4, "description": "another incident", "reason": ""},
    {"at_s": 1800000011, "kind": "action", "action": 2, "attempt": 1, "step": "isolate_host", "finding": 7, "job": 5, "host_name": "h1", "description": "isolate host h1", "reason": "rank 3 hangs"},
    {"at_s": 1800000013, "kind": "outcome", "outcome": "attempt", "action": 2, "attempt": 1, "succeeded": false, "message": "refused"},
    {"at_s": 1800000014, "kind": "action", "action": 2, "attempt": 2, "step": "isolate_host", "finding": 7, "job": 5, "host_name": "h1", "description": "isolate host h1", "reason": "rank 3 hangs"},
    {"at_s": 1800000016, "kind": "outcome", "outcome": "attempt", "action": 2, "attempt": 2, "succeeded": true, "message": ""},
    {"at_s": 1800000020, "kind": "action", "action": 3, "attempt": 1, "step": "restart_job", "finding": 7, "job": 5, "description": "restart", "reason": ""},
    {"at_s": 1800000030, "kind": "outcome", "outcome": "attempt", "action": 3, "attempt": 1, "succeeded": true, "message": ""},
    {"at_s": 1800000041, "kind": "outcome", "outcome": "job_running", "job": 4},
    {"at_s": 1800000042, "kind": "outcome", "outcome": "job_running", "job": 5},
    "not a line"
  ])");
}

bool IsHex(const std::string& text, size_t length) {
  return text.size() == length && text.find_first_not_of("0123456789abcdef") == std::string::npos &&
         text.find_first_not_of('0') != std::string::npos;
}

bool IsNanoseconds(const Json& value) {
  return value.is_string() && !value.get<std::string>().empty() &&
         value.get<std::string>().find_first_not_of("0123456789") == std::string::npos;
}

// The mapping of OTLP to JSON: only keys of the protocol, of their kinds.
void ExpectAttributes(const Json& list) {
  ASSERT_TRUE(list.is_array());
  std::set<std::string> keys;
  for (const Json& attribute : list) {
    EXPECT_EQ(attribute.size(), 2u) << attribute;
    EXPECT_TRUE(keys.insert(attribute.at("key").get<std::string>()).second) << attribute;
    const Json& value = attribute.at("value");
    ASSERT_EQ(value.size(), 1u) << attribute;
    if (value.contains("stringValue")) {
      EXPECT_TRUE(value["stringValue"].is_string());
    } else if (value.contains("doubleValue")) {
      EXPECT_TRUE(value["doubleValue"].is_number());
    } else {
      EXPECT_TRUE(IsNanoseconds(value.at("intValue"))) << "64-bit integers are text: " << attribute;
    }
  }
}

std::map<std::string, Json> SpansOf(const Json& trace) {
  std::map<std::string, Json> spans;
  EXPECT_EQ(trace.size(), 1u);
  const Json& resource = trace.at("resourceSpans").at(0);
  ExpectAttributes(resource.at("resource").at("attributes"));
  std::set<std::string> ids;
  for (const Json& span : resource.at("scopeSpans").at(0).at("spans")) {
    EXPECT_TRUE(IsHex(span.at("traceId"), 32)) << span;
    EXPECT_TRUE(IsHex(span.at("spanId"), 16)) << span;
    EXPECT_TRUE(ids.insert(span["spanId"]).second) << "ids are unique";
    EXPECT_TRUE(span.at("kind").is_number_integer());
    EXPECT_TRUE(IsNanoseconds(span.at("startTimeUnixNano")) && IsNanoseconds(span.at("endTimeUnixNano"))) << span;
    EXPECT_LE(std::stoll(span["startTimeUnixNano"].get<std::string>()),
              std::stoll(span["endTimeUnixNano"].get<std::string>()));
    ExpectAttributes(span.at("attributes"));
    for (const Json& event : span.value("events", Json::array())) {
      EXPECT_TRUE(IsNanoseconds(event.at("timeUnixNano"))) << event;
      EXPECT_TRUE(event.at("name").is_string());
    }
    for (const auto& [key, value] : span.items()) {
      EXPECT_TRUE((std::set<std::string>{"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano",
                                         "endTimeUnixNano", "attributes", "events", "status"}
                       .contains(key)))
          << key;
    }
    spans[span.at("name")] = span;
  }
  for (const auto& [name, span] : spans) {
    EXPECT_EQ(span["traceId"], spans["incident"]["traceId"]);
    if (name != "incident") {
      EXPECT_EQ(span.at("parentSpanId"), spans["incident"]["spanId"]) << name;
    }
  }
  EXPECT_FALSE(spans["incident"].contains("parentSpanId"));
  return spans;
}

std::string SecondsOf(const Json& span) {
  const auto second = [&](const char* key) {
    return std::stoll(span.at(key).get<std::string>()) / 1'000'000'000 - 1'800'000'000;
  };
  return std::to_string(second("startTimeUnixNano")) + "-" + std::to_string(second("endTimeUnixNano"));
}

TEST(IncidentTraceTest, EachStepIsASpan) {
  const Json trace = IncidentTrace(MakeIncident(), MakeLog(), 1'800'000'100);
  std::map<std::string, Json> spans = SpansOf(trace);
  ASSERT_EQ(spans.size(), 6u) << trace.dump(1);
  EXPECT_EQ(SecondsOf(spans["incident"]), "0-50");
  EXPECT_EQ(SecondsOf(spans["suspect"]), "0-10");
  EXPECT_EQ(SecondsOf(spans["isolate host"]), "11-16") << "from the first attempt to what became of the last";
  EXPECT_EQ(SecondsOf(spans["restart job"]), "20-30");
  EXPECT_EQ(SecondsOf(spans["run again"]), "30-42") << "not when another job ran";
  EXPECT_EQ(SecondsOf(spans["first iteration"]), "45-48");
  EXPECT_EQ(spans["suspect"]["startTimeUnixNano"], "1800000000250000000");
  EXPECT_EQ(spans["isolate host"]["status"]["code"], 1);
  EXPECT_EQ(spans["isolate host"]["events"].size(), 1u) << "the second attempt";
  EXPECT_EQ(spans["incident"]["status"]["code"], 2);
  EXPECT_EQ(trace, IncidentTrace(MakeIncident(), MakeLog(), 1'800'000'100)) << "same incident, same ids";
  EXPECT_EQ(trace["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"], IncidentTraceId(MakeIncident()));
}

TEST(IncidentTraceTest, WhatHoldsEndsNow) {
  wire::FindingDetail detail = MakeIncident();
  detail.finding.cleared_at_s.reset();
  std::map<std::string, Json> spans = SpansOf(IncidentTrace(detail, Json(), 1'800'000'100));
  EXPECT_EQ(spans.size(), 2u);
  EXPECT_EQ(SecondsOf(spans["incident"]), "0-100");
  // Nothing is known but its number.
  wire::FindingDetail bare;
  bare.finding.id = 1;
  EXPECT_EQ(SpansOf(IncidentTrace(bare, Json("no log"), 5)).size(), 2u);
}

}  // namespace
}  // namespace fairlead::service
