#include "cli/report_model.h"

#include "cli/diagnosis.h"
#include "core/program.h"
#include "core/tell.h"
#include "findings/engine.h"
#include "report/findings.h"
#include "report/format.h"
#include "report/gpu_report.h"
#include "report/query.h"
#include "score/cpu_score.h"
#include "score/digest_store.h"

#include <algorithm>
#include <iterator>

namespace belay::cli {

namespace {

using core::Result;

constexpr std::string_view kWarning = "belay: warning";  // the report is made all the same

// Of a job without GPUs; empty where nothing is known.
std::string cpu_sentence(const score::JobScore& job) {
    const score::Score& score = job.score;
    if (report::is_missing(score.point) && !(score.high < 100)) return "";
    std::string text = report::is_missing(score.point)
                           ? fmt::format("The saturation score of its CPUs is between {} and {} of 100.",
                                         report::format_score(score.low), report::format_score(score.high))
                           : fmt::format("The saturation score of its CPUs is {} of 100 ({} to {}).",
                                         report::format_score(score.point), report::format_score(score.low),
                                         report::format_score(score.high));
    for (const std::string& line : job.meaning) text += " " + line;
    return text;
}

// What the record lacks is told in the report. Errors: kSystem, of what this machine lacks, which says
// nothing of the record.
core::Result<> note_lost(report::ReportModel& model, std::string_view what, core::Error error) {
    if (error.kind() == core::ErrorKind::kSystem) return std::unexpected(std::move(error).context(what));
    model.coverage.lost.push_back(fmt::format("{}: {}", what, core::in_one_line(error)));
    return {};
}

core::Result<> add_score(record::Archive& archive, report::ReportModel& model, const score::Digest& digest) {
    report::add_gpus(model, digest);
    if (model.gpu) return {};
    auto cpus = score::read_cpu_use(archive);
    if (!cpus) return note_lost(model, "the samples of CPUs", std::move(cpus.error()));
    if (cpus->nodes.empty()) return {};
    const score::JobScore job = score::score_cpus(*cpus);
    model.cpu_score = job.score;
    model.score_sentence = cpu_sentence(job);
    return {};
}

}  // namespace

Result<report::ReportModel> whole_report(record::Archive& archive, const core::CommandContext& context) {
    BELAY_TRY(model, report::build_model(archive));
    auto digest = score::digest_of(archive);
    if (!digest) BELAY_CHECK(note_lost(model, "the samples of GPUs", std::move(digest.error())));
    const score::Digest known = digest ? std::move(*digest) : score::Digest();
    BELAY_CHECK(add_score(archive, model, known));
    auto rules = site_rules(context);
    auto found = rules ? diagnose_record(archive, *rules, &known) : std::unexpected(std::move(rules.error()));
    if (!found) {
        core::Error why = std::move(found.error()).context("the findings are missing");
        core::show_error(kWarning, why);
        model.coverage.lost.push_back(core::in_one_line(why));
        return model;
    }
    for (const core::Error& problem : found->problems) core::show_error(kWarning, problem);
    report::add_findings(model, std::move(*found));
    return model;
}

}  // namespace belay::cli
