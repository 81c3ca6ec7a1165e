// belay report: what a job did, as a page and as text.
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/job_end.h"
#include "cli/record_argument.h"
#include "cli/report_model.h"
#include "core/file.h"
#include "core/output.h"
#include "core/terminal.h"
#include "report/page.h"
#include "report/pdf/pdf.h"
#include "report/terminal.h"
#include "score/digest_store.h"

#include <filesystem>
#include <memory>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using Json = nlohmann::json;

constexpr size_t kColumnsOfAFile = 100;

Json number_or_null(double value) {
    return report::is_missing(value) ? Json() : Json(value);
}

// The outcome in numbers. Vetting is null if no protocol was run.
Json summary_json(const report::ReportModel& model, const std::string& page, const std::string& pdf) {
    const auto training = model.training.value_or(report::Training{});
    const score::Score unknown{
        .point = report::kMissing, .low = report::kMissing, .high = report::kMissing, .shares = {}};
    const score::Score score = model.gpu ? model.gpu->score.score : model.cpu_score.value_or(unknown);
    Json findings = Json::array();
    if (model.findings)
        for (const findings::Finding& one : model.findings->findings) findings.push_back(one.id);
    return {{"target_reached", training.target_reached ? Json(*training.target_reached) : Json()},
            {"nodes", model.nodes.size()},
            {"ranks", model.ranks > 0 ? Json(model.ranks) : Json()},
            {"epochs", number_or_null(training.epochs)},
            {"metric", number_or_null(training.final_metric)},
            {"seconds", number_or_null(model.seconds)},
            {"vetting", model.vetting.empty() ? Json() : Json(model.vetting)},
            {"outcome", model.job.outcome},
            {"seconds_to_target", number_or_null(training.seconds_to_target)},
            {"throughput", number_or_null(training.throughput_mean)},
            {"throughput_unit", training.throughput_unit},
            {"coverage", number_or_null(model.coverage.total)},
            {"score", number_or_null(score.point)},
            {"score_low", number_or_null(score.low)},
            {"score_high", number_or_null(score.high)},
            {"findings", model.findings ? findings : Json()},
            {"report", page.empty() ? Json() : Json(page)},
            {"pdf", pdf.empty() ? Json() : Json(pdf)}};
}

// A report must not take the place of the other, or of what it is made from.
core::Result<> check_outputs(const std::filesystem::path& record, const std::string& page,
                             const std::string& pdf) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path own = fs::weakly_canonical(record, ignored);
    for (const std::string& file : {page, pdf}) {
        if (file.empty()) continue;
        const fs::path place = fs::weakly_canonical(file, ignored);
        const fs::path inside = place.lexically_relative(own);
        if (inside.empty()) continue;  // what cannot be looked at is refused when it is written
        const bool is_part = inside == "record.json" || *inside.begin() == "tables" ||
                             inside.begin()->native().starts_with("segments");
        if (is_part) return core::bad_input("{} is a part of the record", file).hint("choose another name");
    }
    if (!page.empty() && !pdf.empty() &&
        fs::weakly_canonical(page, ignored) == fs::weakly_canonical(pdf, ignored))
        return core::bad_input("page and PDF cannot both be written to {}", page)
            .hint("choose another name for one of them");
    return {};
}

}  // namespace

void add_report(core::Application& application) {
    auto command = application.add({
        .name = "report",
        .summary = "show what a job did, as a page and as text",
        .description = "Prints a summary of the record: outcome, throughput, use of CPU, memory, network and "
                       "disks per node, coverage; the saturation score of its GPUs, and what the rules "
                       "found. With -o it writes the report: one HTML file with everything in it, which "
                       "opens in any browser without a network. With --pdf it writes it for printing; "
                       "--proposal makes that two pages for a proposal that asks for resources.",
        .examples = {{"belay report r", "a summary in the terminal"},
                     {"belay report 4711", "from the record of job 4711"},
                     {"belay report r -o report.html", "the page for a browser"},
                     {"belay report r --pdf proposal.pdf --proposal", "two pages for a proposal"}},
    });
    struct Options {
        std::string record;
        std::string page;
        std::string pdf;
        bool proposal = false;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, kRecordArgument)->required();
    command.options().add_option("-o,--output", options->page, "write the page to FILE")->type_name("FILE");
    auto* pdf =
        command.options().add_option("--pdf", options->pdf, "write the report as PDF")->type_name("FILE");
    command.options()
        .add_flag("--proposal", options->proposal, "the PDF is two pages for a resource proposal")
        ->needs(pdf);
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(record, find_record(context, options->record));
        BELAY_CHECK(check_outputs(record, options->page, options->pdf));
        BELAY_TRY(archive, open_with_job_end(context, record));
        BELAY_TRY(model, whole_report(archive, context));
        if (!options->pdf.empty()) {
            BELAY_TRY(bytes, options->proposal ? report::render_proposal(model) : report::render_pdf(model));
            BELAY_CHECK(core::write_output(options->pdf, bytes));
        }
        if (!options->page.empty())
            BELAY_CHECK(core::write_output(options->page, report::render_html(model)));
        if (options->json)
            context.print_json(summary_json(model, options->page, options->pdf));
        else if (options->page.empty() && options->pdf.empty())
            context.print("{}", report::render_terminal(model, core::shows_colour(STDOUT_FILENO),
                                                        static_cast<int>(core::terminal_columns(
                                                            STDOUT_FILENO, kColumnsOfAFile))));
        else
            for (const std::string& file : {options->page, options->pdf})
                if (!file.empty()) context.print("{}\n", file);
        return 0;
    });
}

}  // namespace belay::cli
