// belay findings: what went wrong in a job, and the rules that say so.
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/job_end.h"
#include "cli/record_argument.h"
#include "cli/text_table.h"
#include "core/program.h"
#include "core/tell.h"
#include "core/utf8.h"
#include "findings/engine.h"
#include "findings/report_text.h"
#include "score/digest_store.h"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

// Returns the exit status of the worst one, 0 if there is none.
int show_problems(const std::vector<core::Error>& problems) {
    int worst = 0;
    for (const core::Error& problem : problems) worst = std::max(worst, core::show_error("belay", problem));
    return worst;
}

}  // namespace

void add_findings(core::Application& application) {
    auto command = application.add({
        .name = "findings",
        .summary = "say what went wrong in a job, and what to do",
        .description =
            "Evaluates rules on a record and shows what they find, the likely cause first, each with "
            "evidence and advice. A rule is skipped if its data is missing or the run is too short or badly "
            "covered, and --json says why.\n\n"
            "Rules are TOML files; a site adds its own in the directory named by the setting findings.rules. "
            "If a rule has a mistake, its place is shown, and the other rules are still evaluated.",
        .examples = {{"belay findings r", "what went wrong in a recorded job"},
                     {"belay findings 4711", "from the record of job 4711"},
                     {"belay findings r --rules mine.toml", "with rules of your own"}},
        .exit_statuses =
            {{1, "a finding is a warning or critical"},
             {2, "a rule is wrong, or a table is damaged; the other rules were evaluated"},
             {3,
              "the system failed, for instance a disk; rules that do not need what it holds were "
              "evaluated"}},
    });
    struct Options {
        std::string record;
        std::string rules;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, kRecordArgument)->required();
    command.options()
        .add_option("--rules", options->rules, "file or directory of rules, instead of findings.rules")
        ->type_name("PATH");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(record, find_record(context, options->record));
        BELAY_TRY(archive, open_with_job_end(context, record));
        BELAY_TRY(rules, site_rules(context, options->rules));
        BELAY_TRY(report, diagnose_record(archive, rules, nullptr));
        if (!archive.is_whole())
            core::tell("parts of {} are lost, so findings may be missing; belay record info says which",
                       core::printable(record.string()));
        const int problem = show_problems(report.problems);
        if (options->json)
            context.print_json(findings::to_json(report));
        else
            context.print("{}", findings::report_text(report));
        if (problem != 0) return problem;
        return findings::is_healthy(report) ? 0 : 1;
    });
}

void add_findings_list(core::Application& application) {
    auto command = application.add({
        .name = "findings list",
        .summary = "show the rules",
        .description =
            "Shows the rules that come with Belay and those of the site, with what each needs. "
            "--json also shows the thresholds and what each rule explains. The severity is the usual "
            "one: some rules rate what they find by how bad it is.",
        .examples = {{"belay findings list --json", "thresholds, sources and what each rule explains"}},
    });
    struct Options {
        std::string rules;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options()
        .add_option("--rules", options->rules, "file or directory of rules, instead of findings.rules")
        ->type_name("PATH");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(rules, site_rules(context, options->rules));
        const int problem = show_problems(rules.problems);
        if (options->json) {
            context.print_json(findings::rules_json(rules.rules));
        } else {
            std::vector<std::vector<std::string>> rows;
            for (const findings::Rule& rule : rules.rules)
                rows.push_back({rule.id, std::string(findings::severity_name(rule.severity)), rule.title,
                                findings::guards_text(rule)});
            context.print("{}", render_table({"id", "severity", "title", "evaluated when"}, rows));
        }
        return problem;
    });
}

}  // namespace belay::cli
