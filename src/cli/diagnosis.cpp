#include "cli/diagnosis.h"

#include "core/program.h"
#include "findings/catalogue.h"
#include "findings/prepare.h"
#include "findings/series_store.h"
#include "report/plot_store.h"
#include "report/query.h"
#include "score/digest_query.h"
#include "score/digest_store.h"
#include "score/digest_tables.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace belay::cli {

using core::Result;

namespace {

record::QueryLimits limits_of(const core::Configuration& configuration) {
    return {.time = configuration.duration("query.time"), .memory = configuration.size("query.memory")};
}

}  // namespace

Result<findings::RuleSet> site_rules(const core::CommandContext& context, const std::string& given) {
    BELAY_TRY(configuration, context.configuration());
    std::vector<findings::RuleFile> files = findings::builtin_files();
    const std::string& path = given.empty() ? configuration.text("findings.rules") : given;
    BELAY_TRY(site, findings::site_files(path));
    if (site.empty() && !given.empty()) {
        std::error_code ignored;
        const bool is_there = std::filesystem::exists(given, ignored);
        return core::bad_input("{} {}", given, is_there ? "has no rules" : "does not exist")
            .hint("name a file of rules, or a directory with *.toml files");
    }
    std::ranges::move(site, std::back_inserter(files));
    return findings::load_rules(files, limits_of(configuration));
}

Result<record::Archive> open_for_queries(const core::CommandContext& context,
                                         const std::filesystem::path& record) {
    BELAY_TRY(configuration, context.configuration());
    return score::open_record(record, limits_of(configuration));
}

namespace {

// The tables of GPUs for the rules: those that the record keeps, or of `digest`, or of its samples. Why they
// have no rows, where GPUs cannot be read.
findings::PrepareGpus gpu_tables(const score::Digest* digest, std::optional<core::Error>& unread) {
    return [digest, &unread](record::Archive& into) -> Result<> {
        auto attached = score::attach_digest(into);
        if (attached && *attached) return {};
        score::Digest own;
        if (digest == nullptr) {
            if (!attached && into.is_thrown_away(schema::kGpu.name))
                unread = std::move(attached.error());  // there are no samples to fall back on
            else if (auto read = score::read_digest(into))
                own = std::move(*read);
            else
                unread = std::move(read.error());
        }
        for (const stream::Batch& batch : score::digest_tables(digest != nullptr ? *digest : own))
            BELAY_CHECK(into.add(batch.table(), batch));
        return {};
    };
}

}  // namespace

Result<findings::Report> diagnose_record(record::Archive& archive, const findings::RuleSet& rules,
                                         const score::Digest* digest) {
    std::optional<core::Error> unread;
    BELAY_TRY(report, findings::diagnose(archive, rules, gpu_tables(digest, unread)));
    if (unread && std::ranges::find(report.problems, *unread) == report.problems.end())
        report.problems.push_back(std::move(*unread));
    return report;
}

namespace {

Result<> keep_digest_of(const std::filesystem::path& record) {
    BELAY_CHECK(score::keep_digest(record));
    return {};
}

Result<> keep_series_of(const std::filesystem::path& record) {
    BELAY_TRY(archive, score::open_record(record));
    std::optional<core::Error> unread;
    BELAY_CHECK(findings::keep_series(archive, record, gpu_tables(nullptr, unread)));
    if (unread) return std::unexpected(std::move(*unread));
    return {};
}

Result<> keep_plots_of(const std::filesystem::path& record) {
    BELAY_TRY(archive, score::open_record(record));
    return report::keep_plots(archive, record);
}

// What rules and a report ask is asked once, of what was made before.
Result<> keep_answers_of(const std::filesystem::path& record) {
    BELAY_TRY(archive, score::open_record(record));
    std::optional<core::Error> unread;
    BELAY_CHECK(findings::prepare(archive, gpu_tables(nullptr, unread)));
    if (unread) return std::unexpected(std::move(*unread));  // an answer without them would stay
    BELAY_CHECK(report::measure(archive));
    BELAY_TRY(claim, record::claim_record(record));
    return record::keep_answers(claim, archive);
}

struct Made {
    Result<> (*keep)(const std::filesystem::path& record);
    std::string_view what;
};
constexpr Made kMade[] = {
    {keep_digest_of, "the digest of its GPUs is not kept"},
    {keep_series_of, "the series of its hosts are not kept"},
    {keep_plots_of, "the plots of its nodes are not kept"},
    {keep_answers_of, "what a report asks of all samples is not kept"},
};

}  // namespace

void keep_made_tables(const std::filesystem::path& record) {
    for (const Made& made : kMade)
        if (auto kept = made.keep(record); !kept)
            core::show_error("belay: warning", std::move(kept.error()).context(made.what));
}

Result<std::optional<core::Error>> add_series_tables(record::Archive& archive) {
    std::optional<core::Error> unread;
    BELAY_CHECK(findings::add_series(archive, gpu_tables(nullptr, unread)));
    return unread;
}

}  // namespace belay::cli
