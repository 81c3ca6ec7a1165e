// Rules and cases from any text: each mistake has a place inside the text, and what is accepted is whole.
#include "findings/cases.h"
#include "findings/rule_reader.h"
#include "findings/sql_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

using namespace belay;

namespace {

void check_place(const core::Error& error, std::string_view text) {
    if (error.kind() != core::ErrorKind::kBadInput || error.message().empty() || !error.position()) abort();
    long lines = 1 + std::count(text.begin(), text.end(), '\n');
    const core::SourcePosition& position = *error.position();
    if (position.line < 1 || position.line > lines + 1 || position.column < 1) abort();
    if (error.render().empty()) abort();
}

void check_rule(const findings::Rule& rule) {
    if (rule.id.empty() || rule.title.empty() || rule.sql.empty() || rule.advice.empty()) abort();
    if (rule.min_coverage < 0 || rule.min_coverage > 1 || rule.min_run < core::Duration::zero()) abort();
    (void)findings::guards_text(rule);
    // Every name is put in, so none is left.
    auto one = [](std::string_view) { return std::optional<std::string>("1"); };
    if (!findings::names_in(findings::substitute(rule.sql, one)).empty()) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    findings::RuleText rules = findings::parse_rules(text, "fuzz.toml");
    for (const core::Error& problem : rules.problems) check_place(problem, text);
    for (const findings::Rule& rule : rules.rules) check_rule(rule);
    for (const findings::Override& change : rules.overrides)
        if (change.id.empty() || !change.places.contains("id")) abort();
    auto cases = findings::parse_cases(text, "fuzz.cases.toml");
    if (!cases) {
        check_place(cases.error(), text);
        return 0;
    }
    for (const findings::Case& spec : *cases)
        if (spec.rule.empty() || spec.name.empty() || spec.fills.empty()) abort();
    return 0;
}
