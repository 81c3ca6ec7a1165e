// belay score compare: what changed between two records.
#include "cli/commands.h"
#include "cli/record_argument.h"
#include "cli/text_table.h"
#include "score/digest_store.h"
#include "score/json.h"

#include <cmath>
#include <memory>

namespace belay::cli {

namespace {

using core::Result;

Result<score::Digest> digest_of(const std::filesystem::path& record) {
    BELAY_TRY(archive, score::open_record(record));
    BELAY_TRY(digest, score::digest_of(archive));
    if (digest.empty())
        return core::bad_input("{} has no GPUs to compare", record.string())
            .hint("only records with rows in the table gpu are compared");
    return digest;
}

std::string text_of(double value) {
    return std::isnan(value) ? "-" : fmt::format("{:.4g}", value);
}

std::string verdict_of(const score::Change& change) {
    if (std::isnan(change.low)) return "";
    return change.significant ? "changed" : "within noise";
}

}  // namespace

void add_score_compare(core::Application& application) {
    auto command = application.add({
        .name = "score compare",
        .summary = "say what changed between two records, and whether it is more than noise",
        .description = "Compares two jobs: their scores and the parts of the scores. Quantities that are "
                       "known second by second are compared over the steady state, with a 95 % confidence "
                       "interval of the difference; if that interval contains 0, the difference may be "
                       "noise. The interval is computed from the means of blocks of at least 10 s, because "
                       "neighbouring seconds are not independent samples. It covers the variation within "
                       "the two runs. Two runs of the same program can differ by more, so repeat each.",
        .examples = {{"belay score compare before after", "what a change to the data loader improved"}},
    });
    struct Options {
        std::string before;
        std::string after;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("BEFORE", options->before, kRecordArgument)->required();
    command.options()
        .add_option("AFTER", options->after, "directory or job number of the other one")
        ->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(first, find_record(context, options->before));
        BELAY_TRY(second, find_record(context, options->after));
        BELAY_TRY(before, digest_of(first));
        BELAY_TRY(after, digest_of(second));
        const std::vector<score::Change> changes = score::compare(before, after);
        if (options->json) {
            context.print_json(score::to_json(changes));
            return 0;
        }
        std::vector<std::vector<std::string>> rows;
        for (const score::Change& change : changes)
            rows.push_back({change.name, text_of(change.before), text_of(change.after),
                            text_of(change.after - change.before),
                            std::isnan(change.low)
                                ? ""
                                : fmt::format("{} to {}", text_of(change.low), text_of(change.high)),
                            verdict_of(change)});
        context.print("{}", render_table({"", "before", "after", "difference", "95 % interval", ""}, rows));
        return 0;
    });
}

}  // namespace belay::cli
