#include "findings/catalogue.h"

#include "core/file.h"
#include "core/text.h"
#include "findings/detect/detector.h"
#include "findings/engine.h"
#include "findings/prepare.h"

#include <algorithm>
#include <set>
#include <system_error>

// rules/*.toml, embedded
#define BELAY_RULE_FILE(name) extern "C" const char belay_rules_##name[], belay_rules_##name##_end[];
BELAY_RULE_FILE(cpu)
BELAY_RULE_FILE(data)
BELAY_RULE_FILE(failure)
BELAY_RULE_FILE(gpu)
BELAY_RULE_FILE(hardware)
BELAY_RULE_FILE(io)
BELAY_RULE_FILE(memory)
BELAY_RULE_FILE(process)
BELAY_RULE_FILE(progress)
BELAY_RULE_FILE(record)

namespace belay::findings {

using core::Error;
using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kCases = ".cases.toml";

Error bad_rule(const core::SourcePosition& place, std::string message, std::string_view hint = {}) {
    Error error = Error(core::ErrorKind::kBadInput, std::move(message)).at(place);
    return hint.empty() ? error : std::move(error).hint(hint);
}

Rule* find_rule(std::vector<Rule>& rules, std::string_view id) {
    auto found = std::ranges::find(rules, id, &Rule::id);
    return found != rules.end() ? &*found : nullptr;
}

void apply(const Override& change, RuleSet& set) {
    Rule* rule = find_rule(set.rules, change.id);
    if (rule == nullptr) {
        std::vector<std::string_view> known;
        for (const Rule& each : set.rules) known.push_back(each.id);
        auto meant = core::nearest(change.id, known);
        set.problems.push_back(bad_rule(
            change.places.at("id"), fmt::format("there is no rule \"{}\"", change.id),
            meant ? fmt::format("did you mean \"{}\"?", *meant) : "\"belay findings list\" shows them"));
        return;
    }
    if (change.severity) rule->severity = *change.severity;
    if (change.min_run) rule->min_run = *change.min_run;
    for (const auto& [name, value] : change.thresholds) {
        auto found = std::ranges::find(rule->thresholds, name, &Threshold::name);
        if (found != rule->thresholds.end()) {
            found->value = value;
            continue;
        }
        std::vector<std::string_view> known;
        for (const Threshold& each : rule->thresholds) known.push_back(each.name);
        auto meant = core::nearest(name, known);
        set.problems.push_back(bad_rule(change.places.at(name),
                                        fmt::format("rule {} has no threshold \"{}\"", rule->id, name),
                                        meant ? fmt::format("did you mean \"{}\"?", *meant)
                                              : fmt::format("it has {}", fmt::join(known, ", "))));
    }
    if (change.enabled == false)
        std::erase_if(set.rules, [&](const Rule& each) { return each.id == change.id; });
}

// What stands in braces in a summary must be known where it is told.
Result<> check_summary(const Rule& rule) {
    std::vector<std::string_view> known = {"node", "device", "entities"};
    for (const EvidenceColumn& evidence : rule.evidence) known.push_back(evidence.name);
    const std::string_view summary = rule.summary;
    for (size_t open = summary.find('{'); open != summary.npos; open = summary.find('{', open + 1)) {
        const size_t close = summary.find('}', open);
        if (close == summary.npos) break;
        const std::string_view name = summary.substr(open + 1, close - open - 1);
        if (std::ranges::find(known, name) == known.end())
            return core::bad_input("summary names {{{}}}, which is not among the rule's evidence", name)
                .at(rule.place)
                .hint(fmt::format("it may name {}", fmt::join(known, ", ")));
    }
    return {};
}

// The SQL of a rule against the empty tables, and its columns against what is made of them.
Result<> check_sql(record::Archive& empty, const Run& run, const Rule& rule) {
    auto where = [&](Result<std::vector<std::string>> columns,
                     std::string_view what) -> Result<std::vector<std::string>> {
        if (columns) return columns;
        return std::unexpected(std::move(columns.error())
                                   .as(core::ErrorKind::kBadInput)
                                   .context(what)
                                   .at(rule.sql_place)
                                   .hint("docs/formats/findings-rule.md names the tables and columns"));
    };
    for (const std::string& table : rule.needs)
        if (!run.rows.contains(table))
            return core::bad_input("needs names \"{}\", which is not a table", table)
                .at(rule.place)
                .hint("docs/formats/findings-rule.md names the tables");
    if (!rule.applies_when.empty())
        BELAY_CHECK(where(empty.columns_of(with_values(rule, rule.applies_when, run)), "applies_when"));
    BELAY_TRY(columns, where(empty.columns_of(with_values(rule, rule.sql, run)), "sql"));
    if (rule.detector != nullptr) {
        for (std::string_view needed : rule.detector->needs)
            if (std::ranges::find(columns, needed) == columns.end())
                return core::bad_input("the detector {} needs a column \"{}\"", rule.detector->name, needed)
                    .at(rule.sql_place)
                    .hint(fmt::format("its columns are {}", fmt::join(rule.detector->needs, ", ")));
        columns.assign(rule.detector->gives.begin(), rule.detector->gives.end());
        columns.insert(columns.end(), {"start", "end", "node", "device", "task"});
    }
    for (const EvidenceColumn& evidence : rule.evidence)
        if (std::ranges::find(columns, evidence.name) == columns.end())
            return core::bad_input("there is no column \"{}\" to show as evidence", evidence.name)
                .at(rule.place)
                .hint(fmt::format("the columns are {}", fmt::join(columns, ", ")));
    return check_summary(rule);
}

}  // namespace

std::vector<RuleFile> builtin_files() {
#define BELAY_BUILTIN(name) {"belay:" #name ".toml", {belay_rules_##name, belay_rules_##name##_end}, true}
    return {BELAY_BUILTIN(failure),  BELAY_BUILTIN(progress), BELAY_BUILTIN(process), BELAY_BUILTIN(data),
            BELAY_BUILTIN(io),       BELAY_BUILTIN(cpu),      BELAY_BUILTIN(memory),  BELAY_BUILTIN(gpu),
            BELAY_BUILTIN(hardware), BELAY_BUILTIN(record)};
}

Result<std::vector<RuleFile>> site_files(const fs::path& path) {
    std::vector<fs::path> paths;
    BELAY_TRY(type, core::type_of_file(path));
    if (type == fs::file_type::directory) {
        BELAY_TRY(found, core::files_with_suffix(path, ".toml"));
        paths = std::move(found);
        std::erase_if(paths, [](const fs::path& each) { return each.string().ends_with(kCases); });
    } else if (type != fs::file_type::not_found) {
        paths.push_back(path);
    }
    std::vector<RuleFile> files;
    for (const fs::path& each : paths) {
        BELAY_TRY(text, core::read_file(each, size_t{1} << 20));
        files.push_back({each.string(), std::move(text)});
    }
    return files;
}

Result<RuleSet> load_rules(std::span<const RuleFile> files, const record::QueryLimits& limits) {
    RuleSet set;
    std::vector<Override> overrides;
    std::set<std::string, std::less<>> ours;
    for (const RuleFile& file : files) {
        RuleText read = parse_rules(file.text, file.name);
        std::ranges::move(read.problems, std::back_inserter(set.problems));
        std::ranges::move(read.overrides, std::back_inserter(overrides));
        for (Rule& rule : read.rules) {
            if (const Rule* other = find_rule(set.rules, rule.id); other != nullptr)
                set.problems.push_back(bad_rule(
                    rule.place, fmt::format("there is a rule \"{}\" already, in {}", rule.id, other->source),
                    "give it another id, or change that one by an [[override]]"));
            else {
                if (file.is_ours) ours.insert(rule.id);
                set.rules.push_back(std::move(rule));
            }
        }
    }
    for (const Override& change : overrides) apply(change, set);
    // Each of ours is evaluated by its cases in every build; to look at its SQL again would cost each command
    // 0.3 s.
    if (ours.size() == set.rules.size()) return set;
    BELAY_TRY(empty, record::Archive::in_memory(limits));
    BELAY_TRY(run, prepare(empty, {}));
    std::erase_if(set.rules, [&](const Rule& rule) {
        if (ours.contains(rule.id)) return false;
        Result<> checked = check_sql(empty, run, rule);
        if (!checked) set.problems.push_back(std::move(checked.error()));
        return !checked;
    });
    return set;
}

}  // namespace belay::findings
