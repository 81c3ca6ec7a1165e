// From the rows of a rule to a finding, and the order of findings.
#include "core/text.h"
#include "findings/engine.h"
#include "findings/value_text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace belay::findings {

namespace {

// A row by the names of its columns.
class Row {
  public:
    Row(const record::QueryResult& rows, size_t index) : columns_(rows.columns), values_(rows.rows[index]) {}
    record::Value operator[](std::string_view name) const {
        auto found = std::ranges::find(columns_, name);
        return found != columns_.end() ? values_[static_cast<size_t>(found - columns_.begin())]
                                       : record::Value();
    }
    std::string text(std::string_view name) const { return record::as_text((*this)[name]); }
    core::Time time(std::string_view name, core::Time otherwise) const {
        record::Value value = (*this)[name];
        const auto* time = std::get_if<core::Time>(&value);
        return time != nullptr ? *time : otherwise;
    }

  private:
    const std::vector<std::string>& columns_;
    const std::vector<record::Value>& values_;
};

std::vector<Evidence> evidence_of(const Rule& rule, const Row& row) {
    std::vector<Evidence> out;
    for (const EvidenceColumn& column : rule.evidence)
        out.push_back({column.name, row[column.name], column.unit});
    return out;
}

void add_name(std::vector<std::string>& names, const std::string& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// {name} in the summary is a piece of evidence, with its unit; {entities} how many there are.
std::string summary_of(const Rule& rule, const Finding& finding) {
    std::string out;
    std::string_view rest = rule.summary;
    while (!rest.empty()) {
        size_t open = rest.find('{');
        size_t close = open != std::string_view::npos ? rest.find('}', open) : std::string_view::npos;
        if (close == std::string_view::npos) break;
        out += rest.substr(0, open);
        std::string_view name = rest.substr(open + 1, close - open - 1);
        auto found = std::ranges::find(finding.evidence, name, &Evidence::name);
        if (name == "entities")
            out += std::to_string(finding.entity_count);
        else if (name == "node" || name == "device")
            out += name == "node" ? finding.entities[0].node : finding.entities[0].device;
        else
            out += found != finding.evidence.end() ? value_text(found->value, found->unit) : "?";
        rest.remove_prefix(close + 1);
    }
    return out + std::string(rest);
}

bool overlap(const Finding& a, const Finding& b) {
    return a.start <= b.end && b.start <= a.end;
}

}  // namespace

std::optional<Finding> make_finding(const Rule& rule, const record::QueryResult& rows, const Run& run) {
    if (rows.rows.empty()) return std::nullopt;
    Finding finding{.id = rule.id,
                    .severity = rule.severity,
                    .title = rule.title,
                    .start = core::Time::max(),
                    .end = core::Time::min(),
                    .advice = rule.advice,
                    .references = rule.references,
                    .shown_in = rule.shown_in,
                    .rank = rule.rank};
    // A column `severity` may say it for each row; then the worst counts.
    std::optional<Severity> told;
    for (size_t i = 0; i < rows.rows.size(); ++i) {
        Row row(rows, i);
        finding.start =
            std::min(finding.start, row.time("start", rule.with_start_up ? run.start : run.steady_start));
        finding.end = std::max(finding.end, row.time("end", run.end));
        add_name(finding.nodes, row.text("node"));
        add_name(finding.devices, row.text("device"));
        if (auto severity = severity_named(row.text("severity")))
            told = std::max(told.value_or(*severity), *severity);
        if (row.text("confidence") == "low") finding.is_sure = false;
        if (finding.entities.size() < kMostEntities)
            finding.entities.push_back({row.text("node"), row.text("device"), evidence_of(rule, row)});
    }
    finding.severity = told.value_or(rule.severity);
    finding.entity_count = rows.rows.size();
    finding.evidence = finding.entities[0].evidence;
    finding.summary = summary_of(rule, finding);
    if (!finding.is_sure)
        finding.doubt = "an indication only";
    else if (run.seconds() < kSureSeconds && rule.min_coverage > 0) {
        finding.is_sure = false;
        finding.doubt = fmt::format("the run is shorter than {:g} s", kSureSeconds);
    }
    return finding;
}

void put_in_order(std::vector<Finding>& findings, const std::vector<Rule>& rules) {
    std::map<std::string_view, const Rule*> by_id;
    for (const Rule& rule : rules) by_id[rule.id] = &rule;
    for (Finding& finding : findings)
        for (const Finding& cause : findings) {
            auto rule = by_id.find(cause.id);
            if (rule == by_id.end() || cause.id == finding.id || !overlap(cause, finding)) continue;
            // What is this time only worth a note does not bring about what is warned of.
            if (cause.severity < std::min(rule->second->severity, finding.severity)) continue;
            if (std::ranges::find(rule->second->explains, finding.id) != rule->second->explains.end())
                finding.caused_by.push_back(cause.id);
        }
    // Of two that explain each other the one that ranks first is the cause.
    for (Finding& finding : findings)
        std::erase_if(finding.caused_by, [&](const std::string& id) {
            auto cause = std::ranges::find(findings, id, &Finding::id);
            bool is_mutual = std::ranges::find(cause->caused_by, finding.id) != cause->caused_by.end();
            return is_mutual && finding.rank <= cause->rank;
        });
    std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
        auto key = [](const Finding& f) {
            return std::tuple(!f.caused_by.empty(), -static_cast<int>(f.severity), f.rank, f.start);
        };
        return key(a) < key(b);
    });
}

}  // namespace belay::findings
