#include "findings/rule_reader.h"

#include "core/text.h"
#include "core/toml.h"
#include "core/units.h"
#include "findings/detect/detector.h"
#include "findings/rule_keys.h"
#include "findings/run.h"
#include "findings/sql_text.h"
#include "schema/tables/gpu_digest.h"
#include "schema/tables/node_plots.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

using core::Result;

namespace {

constexpr std::string_view kRuleKeys[] = {
    "id",      "title",        "severity",   "rank",     "needs",    "applies_when", "otherwise",
    "min_run", "min_coverage", "start_up",   "sql",      "detector", "thresholds",   "evidence",
    "summary", "advice",       "references", "explains", "shown_in"};
constexpr std::string_view kOverrideKeys[] = {"id", "enabled", "severity", "min_run", "thresholds"};
constexpr std::string_view kThresholdKeys[] = {"value", "unit", "doc"};
constexpr std::string_view kEvidenceKeys[] = {"unit", "doc"};
constexpr std::string_view kStartUp[] = {"excluded", "included"};

bool is_identifier(std::string_view text) {
    return !text.empty() && text.size() <= 64 && (text[0] < '0' || text[0] > '9') &&
           std::ranges::all_of(
               text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

// What a report plots of nodes, of GPUs and of what the program printed, and its parts.
std::vector<std::string_view> shown_names() {
    std::vector<std::string_view> names = {"throughput",    "loss",  "metric",
                                           "learning_rate", "event", "coverage"};
    for (const schema::SampledSeries& plot : schema::kNodePlots) names.push_back(plot.series.name);
    for (const auto& quantity : schema::kGpuQuantities) names.push_back(quantity.series.name);
    return names;
}

class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : source_(text, file), keys_(source_) {}

    RuleText read() {
        RuleText out;
        auto table = core::parse_toml(source_);
        if (!table) {
            out.problems.push_back(std::move(table.error()));
            return out;
        }
        for (auto&& [key, value] : *table) {
            if (key.str() == "rule")
                read_list(value, out.rules, out.problems, [this](const toml::table& t) { return rule(t); });
            else if (key.str() == "override")
                read_list(value, out.overrides, out.problems,
                          [this](const toml::table& t) { return change(t); });
            else
                out.problems.push_back(keys_.unknown(key, kTopKeys).error());
        }
        return out;
    }

  private:
    static constexpr std::string_view kTopKeys[] = {"rule", "override"};

    template <typename Item, typename Read>
    void read_list(const toml::node& value, std::vector<Item>& items, std::vector<core::Error>& problems,
                   Read read) {
        const auto* list = value.as_array();
        if (list == nullptr) {
            problems.push_back(
                keys_.wrong(value, "must be an array of tables, not {}", core::describe(value)).error());
            return;
        }
        for (const toml::node& node : *list) {
            const auto* table = node.as_table();
            Result<Item> item =
                table != nullptr
                    ? read(*table)
                    : Result<Item>(keys_.wrong(node, "must be a table, not {}", core::describe(node)));
            if (item)
                items.push_back(std::move(*item));
            else
                problems.push_back(std::move(item.error()));
        }
    }

    Result<Rule> rule(const toml::table& table) {
        BELAY_CHECK(keys_.check(table, kRuleKeys));
        Rule rule;
        rule.source = source_.file();
        rule.place = keys_.position(table);
        BELAY_CHECK(identity(table, rule));
        BELAY_CHECK(guards(table, rule));
        BELAY_CHECK(signal(table, rule));
        BELAY_TRY(summary, keys_.text(table, "summary", ""));
        BELAY_TRY(advice, keys_.text(table, "advice"));
        rule.summary = std::move(summary);
        rule.advice = std::move(advice);
        BELAY_TRY(references, keys_.texts(table, "references"));
        BELAY_TRY(explains, keys_.texts(table, "explains"));
        rule.references = std::move(references);
        rule.explains = std::move(explains);
        BELAY_CHECK(shown_in(table, rule));
        return rule;
    }

    Result<> shown_in(const toml::table& table, Rule& rule) {
        BELAY_TRY(names, keys_.texts(table, "shown_in"));
        const std::vector<std::string_view> known = shown_names();
        for (const std::string& name : names) {
            if (std::ranges::find(known, name) != known.end()) continue;
            auto meant = core::nearest(name, known);
            return keys_.wrong(*table.get("shown_in"), "no report shows \"{}\"", name)
                .hint(meant ? fmt::format("did you mean \"{}\"?", *meant)
                            : "a column that is plotted, throughput, loss, metric, learning_rate, event or "
                              "coverage");
        }
        rule.shown_in = std::move(names);
        return {};
    }

    Result<> identity(const toml::table& table, Rule& rule) {
        BELAY_TRY(id, keys_.text(table, "id"));
        if (!is_identifier(id))
            return keys_.wrong(*table.get("id"), "id \"{}\" is not lower case letters, digits and _", id);
        BELAY_TRY(title, keys_.text(table, "title"));
        BELAY_TRY(severity, keys_.choice(table, "severity", kSeverityNames, "warning"));
        rule.id = std::move(id);
        rule.title = std::move(title);
        rule.severity = *severity_named(severity);
        BELAY_TRY(rank, keys_.number(table, "rank", 100, -1e9, 1e9));
        rule.rank = static_cast<int64_t>(rank);
        return {};
    }

    Result<> guards(const toml::table& table, Rule& rule) {
        BELAY_TRY(needs, keys_.texts(table, "needs"));
        BELAY_TRY(applies_when, keys_.text(table, "applies_when", ""));
        BELAY_TRY(otherwise, keys_.text(table, "otherwise", ""));
        BELAY_TRY(min_run, keys_.duration(table, "min_run", rule.min_run));
        BELAY_TRY(min_coverage, keys_.number(table, "min_coverage", rule.min_coverage, 0, 1));
        BELAY_TRY(start_up, keys_.choice(table, "start_up", kStartUp, "excluded"));
        rule.needs = std::move(needs);
        rule.applies_when = std::move(applies_when);
        rule.otherwise = std::move(otherwise);
        rule.min_run = min_run;
        rule.min_coverage = min_coverage;
        rule.with_start_up = start_up == "included";
        return {};
    }

    Result<> signal(const toml::table& table, Rule& rule) {
        BELAY_TRY(sql, keys_.text(table, "sql"));
        rule.sql = std::move(sql);
        rule.sql_place = keys_.position(*table.get("sql"));
        BELAY_CHECK(thresholds(table, rule));
        BELAY_TRY(detector, keys_.text(table, "detector", ""));
        if (!detector.empty()) BELAY_CHECK(use_detector(*table.get("detector"), detector, rule));
        BELAY_CHECK(evidence(table, rule));
        return check_names(table, rule);
    }

    Result<> use_detector(const toml::node& node, const std::string& name, Rule& rule) {
        rule.detector = find_detector(name);
        if (rule.detector != nullptr) return {};
        std::vector<std::string_view> known;
        for (const Detector& each : detectors()) known.push_back(each.name);
        auto meant = core::nearest(name, known);
        return keys_.wrong(node, "unknown detector \"{}\"", name)
            .hint(meant ? fmt::format("did you mean \"{}\"?", *meant)
                        : fmt::format("the detectors are {}", fmt::join(known, ", ")));
    }

    Result<> thresholds(const toml::table& table, Rule& rule) {
        BELAY_TRY(section, keys_.section(table, "thresholds"));
        if (section == nullptr) return {};
        for (auto&& [key, value] : *section) {
            if (!is_identifier(key.str()))
                return keys_.wrong_key(key, "a threshold's name is lower case letters, digits and _");
            Threshold threshold{.name = std::string(key.str())};
            if (const auto* facts = value.as_table()) {
                BELAY_CHECK(keys_.check(*facts, kThresholdKeys));
                if (!facts->contains("value"))
                    return keys_.wrong(value, "a threshold needs value")
                        .hint("value = 0.3, unit = \"ratio\"");
                BELAY_TRY(number, keys_.number(*facts, "value", 0, -1e18, 1e18));
                BELAY_TRY(unit, keys_.text(*facts, "unit", ""));
                BELAY_TRY(doc, keys_.text(*facts, "doc", ""));
                threshold.value = number;
                threshold.unit = std::move(unit);
                threshold.doc = std::move(doc);
            } else {
                BELAY_TRY(number, keys_.number_of(value, -1e18, 1e18));
                threshold.value = number;
            }
            for (const RunName& taken : run_names())
                if (taken.name == threshold.name)
                    return keys_.wrong_key(key, "this name says something of the run: choose another");
            rule.thresholds.push_back(std::move(threshold));
        }
        return {};
    }

    Result<> evidence(const toml::table& table, Rule& rule) {
        BELAY_TRY(section, keys_.section(table, "evidence"));
        if (section == nullptr) return {};
        std::vector<std::pair<core::SourcePosition, EvidenceColumn>> columns;
        for (auto&& [key, value] : *section) {
            const auto* facts = value.as_table();
            if (facts == nullptr)
                return keys_.wrong(value, "must be a table, not {}", core::describe(value))
                    .hint("share = { unit = \"ratio\", doc = \"...\" }");
            BELAY_CHECK(keys_.check(*facts, kEvidenceKeys));
            BELAY_TRY(unit, keys_.text(*facts, "unit", ""));
            BELAY_TRY(doc, keys_.text(*facts, "doc", ""));
            columns.push_back(
                {keys_.position(key), {std::string(key.str()), std::move(unit), std::move(doc)}});
        }
        // TOML's tables have no order; the page on which they stand has.
        std::ranges::stable_sort(columns, {},
                                 [](const auto& c) { return std::pair(c.first.line, c.first.column); });
        for (auto& [place, column] : columns) rule.evidence.push_back(std::move(column));
        return {};
    }

    // Every $name is known, every threshold is used.
    Result<> check_names(const toml::table& table, const Rule& rule) {
        std::vector<std::string> used = names_in(rule.sql);
        for (const std::string& name : names_in(rule.applies_when)) used.push_back(name);
        std::vector<std::string_view> known;
        for (const Threshold& threshold : rule.thresholds) known.push_back(threshold.name);
        for (const RunName& name : run_names()) known.push_back(name.name);
        for (const std::string& name : used) {
            if (std::ranges::find(known, name) != known.end()) continue;
            auto meant = core::nearest(name, known);
            return core::bad_input("unknown name \"${}\"", name)
                .at(keys_.place_of("$" + name, rule.place.line))
                .hint(meant ? fmt::format("did you mean \"${}\"?", *meant)
                            : "a name in SQL is one of [rule.thresholds] or of the run");
        }
        const toml::table* section = table["thresholds"].as_table();
        for (const Threshold& threshold : rule.thresholds) {
            if (std::ranges::find(used, threshold.name) != used.end()) continue;
            if (rule.detector != nullptr &&
                std::ranges::find(rule.detector->parameters, threshold.name, &DetectorParameter::name) !=
                    rule.detector->parameters.end())
                continue;
            return core::bad_input("threshold \"{}\" is not used", threshold.name)
                .at(keys_.position(section->find(threshold.name)->first))
                .hint(
                    rule.detector != nullptr
                        ? fmt::format("neither the SQL nor the detector {} asks for it", rule.detector->name)
                        : fmt::format("write ${} in the SQL", threshold.name));
        }
        return {};
    }

    Result<Override> change(const toml::table& table) {
        BELAY_CHECK(keys_.check(table, kOverrideKeys));
        Override out;
        BELAY_TRY(id, keys_.text(table, "id"));
        out.id = std::move(id);
        out.places["id"] = keys_.position(*table.get("id"));
        if (const toml::node* enabled = table.get("enabled")) {
            out.enabled = enabled->value_exact<bool>();
            if (!out.enabled)
                return keys_.wrong(*enabled, "must be true or false, not {}", core::describe(*enabled));
        }
        if (table.contains("severity")) {
            BELAY_TRY(severity, keys_.choice(table, "severity", kSeverityNames, "warning"));
            out.severity = severity_named(severity);
        }
        if (table.contains("min_run")) {
            BELAY_TRY(min_run, keys_.duration(table, "min_run", {}));
            out.min_run = min_run;
        }
        BELAY_TRY(section, keys_.section(table, "thresholds"));
        if (section == nullptr) return out;
        for (auto&& [key, value] : *section) {
            BELAY_TRY(number, keys_.number_of(value, -1e18, 1e18));
            out.thresholds[std::string(key.str())] = number;
            out.places[std::string(key.str())] = keys_.position(key);
        }
        return out;
    }

    core::SourceText source_;
    TomlKeys keys_;
};

}  // namespace

RuleText parse_rules(std::string_view text, const std::string& file) {
    return Reader(text, file).read();
}

}  // namespace belay::findings
