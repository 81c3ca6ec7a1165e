// belay findings test: do rules fire on the cases that stand beside them?
#include "cli/commands.h"
#include "cli/text_table.h"
#include "findings/cases.h"
#include "findings/catalogue.h"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;
using findings::Case;

struct Tested {
    Case spec;
    std::string why;  // empty: passed
};

// The built-in rules are evaluated too: what must fire has to come before them.
Result<findings::RuleSet> rules_beside(const std::string& path) {
    BELAY_TRY(files, findings::site_files(path));
    std::ranges::move(findings::builtin_files(), std::back_inserter(files));
    BELAY_TRY(rules, findings::load_rules(files));
    // A rule of the same id as one that comes with Belay is taken for a new version of it here.
    std::erase_if(rules.problems, [](const core::Error& problem) {
        return problem.position() && problem.position()->file.starts_with("belay:");
    });
    return rules;
}

nlohmann::ordered_json tested_json(const std::vector<Tested>& tested) {
    auto out = nlohmann::ordered_json::array();
    for (const Tested& each : tested)
        out.push_back({{"rule", each.spec.rule},
                       {"case", each.spec.name},
                       {"fires", each.spec.fires},
                       {"ok", each.why.empty()},
                       {"why", each.why}});
    return out;
}

}  // namespace

void add_findings_test(core::Application& application) {
    auto command = application.add({
        .name = "findings test",
        .summary = "test rules against their cases",
        .description =
            "RULES is a file of rules, such as site.toml, whose cases are in site.cases.toml in the same "
            "directory; or a directory with such files. A case makes small tables from expressions and says "
            "whether its rule must fire. If it must, its finding must also come first.",
        .examples = {{"belay findings test site.toml", "the cases of site.cases.toml"}},
        .exit_statuses = {{1, "a rule does not do what a case says"}},
    });
    struct Options {
        std::string path;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RULES", options->path, "file or directory of rules")->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(rules, rules_beside(options->path));
        for (const core::Error& problem : rules.problems) fmt::print(stderr, "{}", problem.render());
        BELAY_TRY(cases, findings::load_cases(options->path));
        if (cases.empty())
            return core::bad_input("{}: no cases", options->path)
                .hint("the cases of NAME.toml belong in NAME.cases.toml, in the same directory");
        std::vector<Tested> tested;
        for (const Case& spec : cases) {
            BELAY_TRY(result, findings::run_case(spec, rules));
            tested.push_back({spec, result.why});
        }
        auto failed = std::ranges::count_if(tested, [](const Tested& each) { return !each.why.empty(); });
        if (options->json) {
            context.print_json(tested_json(tested));
        } else {
            std::vector<std::vector<std::string>> rows;
            for (const Tested& each : tested)
                rows.push_back({each.spec.rule, each.spec.name, each.spec.fires ? "fires" : "silent",
                                each.why.empty() ? "ok" : each.why});
            context.print("{}{} of {} cases passed\n",
                          render_table({"rule", "case", "must be", "result"}, rows),
                          tested.size() - static_cast<size_t>(failed), tested.size());
        }
        if (!rules.problems.empty()) return static_cast<int>(core::ErrorKind::kBadInput);
        return failed == 0 ? 0 : static_cast<int>(core::ErrorKind::kNegative);
    });
}

}  // namespace belay::cli
