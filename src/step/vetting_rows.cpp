#include "step/vetting_rows.h"

#include "record/new_segment.h"
#include "record/place.h"
#include "schema/tables/vetting.h"
#include "stream/segment.h"

#include <nlohmann/json.hpp>

namespace belay::step {

using core::Result;
using schema::column;
using schema::kVetting;

namespace {

std::optional<std::string> text_or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

void add_row(stream::Batch& rows, const vet::CheckResult& check, const std::string& node, core::Time now) {
    rows.add_row(now, node);
    rows.set(column(kVetting, "name"), check.name);
    rows.set(column(kVetting, "type"), check.type);
    rows.set(column(kVetting, "status"), vet::status_name(check.status));
    rows.set(column(kVetting, "severity"), vet::severity_name(check.severity));
    rows.set(column(kVetting, "device"), text_or_null(check.device));
    rows.set(column(kVetting, "method"), text_or_null(check.method));
    rows.set(column(kVetting, "cpus"), check.cpus);
    rows.set(column(kVetting, "value"), check.value);
    rows.set(column(kVetting, "unit"), text_or_null(check.unit));
    rows.set(column(kVetting, "threshold"), check.limit);
    rows.set(column(kVetting, "reason"), text_or_null(check.reason.text()));
    rows.set(column(kVetting, "seconds"), check.seconds);
}

}  // namespace

std::string vetting_summary(const vet::Verdicts& verdicts) {
    nlohmann::ordered_json json = {{"protocol", verdicts.protocol},
                                   {"verdict", verdicts.passed ? "pass" : "fail"},
                                   {"vetted", verdicts.vetted},
                                   {"cordoned", verdicts.cordoned}};
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<> write_vetting_rows(const std::filesystem::path& record, const vet::Verdicts& verdicts,
                            const observe::Placement& placement, core::Time now) {
    stream::Batch rows(kVetting);
    for (const vet::NodeVerdict& node : verdicts.nodes)
        if (node.node == placement.node)
            for (const vet::CheckResult& check : node.checks) add_row(rows, check, node.node, now);
    BELAY_TRY(joined, record::join_record(record));
    stream::Session session{
        .node = placement.node, .task = {}, .periodic = false, .start = now, .version = BELAY_VERSION};
    BELAY_TRY(
        segment,
        record::new_segment(
            joined, fmt::format("{}-vetting-{:x}.seg", placement.node, core::to_nanoseconds(now)), session));
    BELAY_CHECK(segment.append(rows));
    return segment.finish(core::system_clock().now());
}

}  // namespace belay::step
