// belay report: what a job did, as a page and as text.
#include "cli/commands.h"
#include "core/file.h"
#include "report/page.h"
#include "report/query.h"
#include "report/terminal.h"

#include <memory>
#include <sys/ioctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using Json = nlohmann::json;

Json number_or_null(double value) {
    return report::is_missing(value) ? Json() : Json(value);
}

// The outcome in numbers. Vetting is null if no protocol was run.
Json summary_json(const report::ReportModel& model, const std::string& page) {
    const auto training = model.training.value_or(report::Training{});
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
            {"report", page.empty() ? Json() : Json(page)}};
}

int terminal_columns() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 100;
}

}  // namespace

void add_report(core::Application& application) {
    auto command = application.add({
        .name = "report",
        .summary = "show what a job did, as a page and as text",
        .description =
            "Prints a summary of the record: outcome, throughput, use of CPU, memory, network and disks per "
            "node, "
            "coverage. With -o it writes the report: one HTML file with everything in it, which opens in any "
            "browser without a network.",
        .examples = {{"belay report r", "a summary in the terminal"},
                     {"belay report r -o report.html", "the page for a browser"}},
    });
    struct Options {
        std::string record;
        std::string page;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, "directory of the record")->required();
    command.options().add_option("-o,--output", options->page, "write the page to FILE")->type_name("FILE");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(archive, record::Archive::open(options->record));
        BELAY_TRY(model, report::build_model(archive));
        if (!options->page.empty())
            BELAY_CHECK(core::replace_file(options->page, report::render_html(model)));
        if (options->json)
            context.print_json(summary_json(model, options->page));
        else if (options->page.empty())
            context.print("{}",
                          report::render_terminal(model, isatty(STDOUT_FILENO) != 0, terminal_columns()));
        else
            context.print("{}\n", options->page);
        return 0;
    });
}

}  // namespace belay::cli
