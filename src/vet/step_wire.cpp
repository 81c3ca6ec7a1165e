#include "vet/step_wire.h"

#include "core/error_codec.h"
#include "core/json.h"
#include "vet/verdict_json.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::vet {

namespace {

using core::Result;
using core::system_error;
using Json = nlohmann::json;

constexpr uint64_t kMaxPairNanoseconds = 60'000'000'000;

Result<Json> parse_object(std::string_view body) {
    Json value = core::parse_json(body);
    if (!value.is_object()) return system_error("not a JSON object");
    return value;
}

// A field of the type that Value is; numbers are finite and not negative unless doubles.
template <typename Value>
Result<Value> field(const Json& object, const char* name) {
    auto it = object.find(name);
    auto wrong = [&] { return system_error("field \"{}\" is missing or wrong", name); };
    if (it == object.end()) return wrong();
    if constexpr (std::is_same_v<Value, std::string>) {
        if (!it->is_string()) return wrong();
    } else if constexpr (std::is_same_v<Value, bool>) {
        if (!it->is_boolean()) return wrong();
    } else if constexpr (std::is_same_v<Value, double>) {
        if (!it->is_number()) return wrong();
    } else {
        if (!it->is_number_unsigned() || it->get<uint64_t>() > std::numeric_limits<Value>::max())
            return wrong();
    }
    return it->get<Value>();
}

// What failed, where the object tells of that instead of a value.
Result<std::optional<core::Error>> failure_in(const Json& object) {
    if (!object.contains("failure")) return std::optional<core::Error>();
    BELAY_TRY(digits, field<std::string>(object, "failure"));
    BELAY_TRY(failure, core::error_from_hex(digits));
    return std::optional(std::move(failure));
}

}  // namespace

std::string encode(const Report& report) {
    Json results = Json::array();
    for (const auto& result : report.results) results.push_back(result ? to_wire(*result) : Json());
    Json clock;
    if (report.clock && *report.clock)
        clock = {{"seconds", (*report.clock)->seconds}, {"round_trip", (*report.clock)->round_trip}};
    else if (report.clock)
        clock = {{"failure", core::error_to_hex(report.clock->error())}};
    return compact({{"digest", report.digest},
                    {"data_port", report.data_port},
                    {"results", std::move(results)},
                    {"clock", std::move(clock)}});
}

std::string encode(const PairOrder& order) {
    return compact({{"name", order.name},
                    {"listen", order.listen},
                    {"address", order.address},
                    {"port", order.port},
                    {"nanoseconds", static_cast<uint64_t>(order.duration.count())},
                    {"streams", static_cast<uint16_t>(order.streams)}});
}

std::string encode(const PairAnswer& answer) {
    if (!answer.bytes_per_second)
        return compact(
            {{"name", answer.name}, {"failure", core::error_to_hex(answer.bytes_per_second.error())}});
    return compact({{"name", answer.name}, {"bytes_per_second", *answer.bytes_per_second}});
}

Result<Report> decode_report(std::string_view body, size_t checks) {
    BELAY_TRY(object, parse_object(body));
    Report report;
    BELAY_TRY(digest, field<uint64_t>(object, "digest"));
    BELAY_TRY(port, field<uint16_t>(object, "data_port"));
    report.digest = digest;
    report.data_port = port;
    if (auto it = object.find("clock"); it != object.end() && it->is_object()) {
        BELAY_TRY(failure, failure_in(*it));
        if (failure) {
            report.clock = std::unexpected(std::move(*failure));
        } else {
            BELAY_TRY(seconds, field<double>(*it, "seconds"));
            BELAY_TRY(round_trip, field<double>(*it, "round_trip"));
            report.clock = transfer::ClockOffset{seconds, round_trip};
        }
    }
    auto results = object.find("results");
    if (results == object.end() || !results->is_array() || results->size() > kMaxChecksPerProtocol)
        return system_error("field \"results\" is missing or wrong");
    // A node with another protocol has other checks; its digest tells.
    if (results->size() != checks) return report;
    for (const Json& item : *results) {
        report.results.emplace_back();
        if (item.is_null()) continue;
        BELAY_TRY(result, check_from_json(item));
        report.results.back() = std::move(result);
    }
    return report;
}

Result<PairOrder> decode_pair_order(std::string_view body) {
    BELAY_TRY(object, parse_object(body));
    PairOrder order;
    BELAY_TRY(name, field<std::string>(object, "name"));
    BELAY_TRY(listen, field<bool>(object, "listen"));
    BELAY_TRY(address, field<std::string>(object, "address"));
    BELAY_TRY(port, field<uint16_t>(object, "port"));
    BELAY_TRY(nanoseconds, field<uint64_t>(object, "nanoseconds"));
    if (nanoseconds > kMaxPairNanoseconds) return system_error("a test of {} ns", nanoseconds);
    BELAY_TRY(streams, field<uint16_t>(object, "streams"));
    order.name = std::move(name);
    order.listen = listen;
    order.address = std::move(address);
    order.port = port;
    order.duration = core::Duration(static_cast<int64_t>(nanoseconds));
    order.streams = streams;
    return order;
}

Result<PairAnswer> decode_pair_answer(std::string_view body) {
    BELAY_TRY(object, parse_object(body));
    PairAnswer answer;
    BELAY_TRY(name, field<std::string>(object, "name"));
    BELAY_TRY(failure, failure_in(object));
    answer.name = std::move(name);
    if (failure) {
        answer.bytes_per_second = std::unexpected(std::move(*failure));
        return answer;
    }
    BELAY_TRY(rate, field<double>(object, "bytes_per_second"));
    if (!std::isfinite(rate) || rate < 0) return system_error("a bandwidth of {} bytes/s", rate);
    answer.bytes_per_second = rate;
    return answer;
}

VerdictMessages::VerdictMessages(const Verdicts& verdicts, size_t refused) : verdicts_(verdicts) {
    Verdicts common{.protocol = verdicts.protocol,
                    .passed = verdicts.passed,
                    .stopped_early = verdicts.stopped_early,
                    .vetted = verdicts.vetted,
                    .cordoned = verdicts.cordoned};
    for (const NodeVerdict& node : verdicts.nodes) {
        if (common.nodes.size() == refused) break;
        if (node.verdict == Status::kPass) continue;
        NodeVerdict& kept = common.nodes.emplace_back(node);
        std::erase_if(kept.checks, [](const CheckResult& check) { return check.status == Status::kPass; });
    }
    common_ = compact(to_wire(common));
}

std::string VerdictMessages::for_rank(size_t rank) const {
    return fmt::format(R"({{"own":{},"step":{}}})", compact(to_wire(verdicts_.nodes[rank])), common_);
}

Result<Verdicts> decode_verdict(std::string_view body) {
    BELAY_TRY(object, parse_object(body));
    BELAY_TRY(own, node_from_json(object["own"]));
    BELAY_TRY(verdicts, verdicts_from_json(object["step"]));
    std::erase_if(verdicts.nodes, [&](const NodeVerdict& node) { return node.node == own.node; });
    verdicts.nodes.insert(verdicts.nodes.begin(), std::move(own));
    return verdicts;
}

}  // namespace belay::vet
