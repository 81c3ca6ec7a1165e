// The pages of docs/ name every rule, table, column, detector and parameter there is.
#include "core/file.h"
#include "findings/catalogue.h"
#include "findings/detect/detector.h"
#include "findings/macros.h"
#include "findings/prepare.h"
#include "findings/prepared_tables.h"
#include "schema/schema.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::findings {
namespace {

using testing::HasSubstr;

std::string page(const char* name) {
    auto text = core::read_file(std::string(BELAY_DOCS_DIRECTORY) + "/" + name);
    EXPECT_TRUE(text) << text.error().message();
    return text.value_or("");
}
std::string code(std::string_view name) {
    return fmt::format("`{}`", name);
}

// That page is made of the declarations.
bool is_in_the_reference(const std::string& name) {
    const auto is_it = [&](const schema::Table* table) { return table->name == name; };
    return std::ranges::any_of(schema::gpu_digest_tables(), is_it) ||
           std::ranges::any_of(schema::kept_series_tables(), is_it);
}

TEST(findings, the_page_lists_every_rule_with_its_severity) {
    std::string text = page("findings.md");
    const RuleSet rules = load_rules(builtin_files()).value();
    for (const Rule& rule : rules.rules)
        EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` | {} | {} |", rule.id, severity_name(rule.severity),
                                                rule.title)));
}

TEST(findings, the_page_names_every_table_and_column) {
    std::string text = page("formats/findings-rule.md");
    for (const PreparedTable& table : prepared_tables()) {
        EXPECT_THAT(text, HasSubstr(fmt::format("**`{}`**", table.name)));
        if (is_in_the_reference(table.name)) continue;
        for (const PreparedColumn& column : table.columns)
            EXPECT_THAT(text,
                        HasSubstr(fmt::format("| `{}` | {} | {} |", column.name, column.unit, column.doc)))
                << table.name;
    }
    for (const RunName& name : run_names()) EXPECT_THAT(text, HasSubstr(fmt::format("`${}`", name.name)));
    for (const Macro& macro : macros())
        EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` | {} |", macro.head, macro.doc)));
}

TEST(findings, the_page_names_every_detector_with_its_parameters) {
    std::string text = page("formats/findings-rule.md");
    for (const Detector& detector : detectors()) {
        EXPECT_THAT(text, HasSubstr(fmt::format("**`{}`** finds {}", detector.name, detector.doc)));
        for (const DetectorParameter& parameter : detector.parameters)
            EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` | {} | {:g} | {} |", parameter.name,
                                                    parameter.unit, parameter.default_value, parameter.doc)))
                << detector.name;
        for (std::string_view column : detector.gives) EXPECT_THAT(text, HasSubstr(code(column)));
    }
}

}  // namespace
}  // namespace belay::findings
