// belay stage retention: which files a policy would purge, when and whose; and their deletion from a signed
// list.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "core/file.h"
#include "core/output.h"
#include "core/progress_display.h"
#include "core/stop_on_signal.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/units.h"
#include "core/user.h"
#include "core/utf8.h"
#include "stage/retention/purge.h"
#include "stage/retention/spared.h"
#include "stage/retention/survey.h"

#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct RetentionOptions {
    std::string directory;
    std::string policy;
    std::string list;
    std::string key;
    std::string apply;
    bool dry_run = false;
    size_t threads = 8;
    double rate = 0;
    bool json = false;
};

constexpr size_t kMostListBytes = size_t{16} << 30;

std::string decimal(uint64_t bytes) {
    return core::format_decimal({bytes});
}

std::string count_text(const stage::FileCount& count) {
    return count.files == 0
               ? "-"
               : fmt::format("{}, {}", core::format_count(count.files, "file"), decimal(count.bytes));
}

std::string quota_text(uint64_t used, const std::optional<uint64_t>& quota) {
    return quota && *quota > 0
               ? fmt::format("{:.0f} %", 100 * static_cast<double>(used) / static_cast<double>(*quota))
               : "-";
}

void print_retention_users(const core::CommandContext& context, const stage::Survey& survey,
                           const stage::RetentionPolicy& policy) {
    const bool has_quota = policy.quota_bytes || policy.quota_inodes;
    std::vector<std::string> header = {"owner", "files", "bytes", "due", "soon", "exempt"};
    if (survey.pressure == stage::Pressure::kPurge) header.emplace_back("pressed out");
    if (has_quota) header.insert(header.end(), {"of bytes", "of inodes"});
    std::vector<std::vector<std::string>> rows;
    for (const auto& [id, user] : survey.counts.users) {
        rows.push_back({user.spared ? user.name + " (spared)" : user.name, std::to_string(user.all.files),
                        decimal(user.all.bytes), count_text(user.due), count_text(user.soon),
                        count_text(user.exempt)});
        if (survey.pressure == stage::Pressure::kPurge) rows.back().push_back(count_text(user.pressed));
        if (has_quota)
            rows.back().insert(rows.back().end(), {quota_text(user.all.bytes, policy.quota_bytes),
                                                   quota_text(user.all.files, policy.quota_inodes)});
    }
    if (!rows.empty()) context.print("\n{}", render_table(header, rows));
}

void print_survey(const core::CommandContext& context, const stage::Survey& survey,
                  const stage::RetentionPolicy& policy) {
    context.print("{}: a file is due {:g} {} after {}\n", core::printable(survey.list.root), policy.days,
                  policy.days == 1 ? "day" : "days", meaning_of(policy.time));
    context.print("in use: {:.0f} % of the bytes, {:.0f} % of the inodes", 100 * survey.occupancy.bytes_share,
                  100 * survey.occupancy.inodes_share);
    if (policy.purge_share)
        context.print("; people are asked to clean up from {:.0f} %, and younger files go from {:.0f} %",
                      100 * *policy.ask_share, 100 * *policy.purge_share);
    context.print("\n");
    print_retention_users(context, survey, policy);
    if (!survey.counts.expiring.empty()) context.print("\n");
    for (const auto& [days, count] : survey.counts.expiring)
        context.print("{:<22} {}\n",
                      days == 0
                          ? "due within a day"
                          : fmt::format("due in {}", core::format_count(static_cast<uint64_t>(days), "day")),
                      count_text(count));
    for (const stage::ExpiringFile& file : survey.counts.soonest)
        context.print("  {:5.1f} days  {}\n", std::floor(10 * file.days) / 10,
                      core::printable(stage::escape_path(file.path)));
    for (const std::string& warning : survey.warnings) context.print("warning: {}\n", warning);
    for (const std::string& note : survey.notes) context.print("note: {}\n", note);
    for (const stage::WalkProblem& problem : survey.walk.problems)
        context.print("note: not read: {}: {}\n", core::printable(stage::escape_path(problem.path)),
                      std::generic_category().message(problem.errno_value));
    if (survey.walk.problem_count > survey.walk.problems.size())
        context.print("note: and {} more\n", survey.walk.problem_count - survey.walk.problems.size());
}

Result<int> run_retention_report(const core::CommandContext& context, const RetentionOptions& options) {
    if (options.directory.empty() || options.policy.empty())
        return core::bad_input("DIR and --policy are needed for a report")
            .hint("belay stage retention DIR --policy FILE");
    if (options.rate < 0)
        return core::bad_input("--rate {:g}: is negative", options.rate)
            .hint("write calls per second, or 0 for no limit");
    if (options.list.empty() != options.key.empty())
        return core::bad_input("--list and --key go together: a list is signed with the key");
    BELAY_TRY(text, core::read_file(options.policy, size_t{1} << 20));
    BELAY_TRY(policy, stage::parse_retention_policy(text, options.policy));
    std::string key;
    if (!options.list.empty()) {
        BELAY_TRY(read, stage::read_key(options.key));
        key = std::move(read);
        BELAY_CHECK(core::check_output(options.list));
    }
    core::ProgressDisplay display(core::system_clock());
    display.start("reading the tree", core::ProgressUnit::items("names"));
    const core::StopOnSignal stop;
    BELAY_CHECK(core::with_context(stage::find_spared(policy), core::printable(options.policy)));
    auto surveyed = stage::survey(options.directory, policy,
                                  {.threads = options.threads,
                                   .most_calls_per_second = options.rate,
                                   .now = core::system_clock().now(),
                                   .with_list = !options.list.empty(),
                                   .stop = stop.flag(),
                                   .progress = [&](uint64_t looked) { display.update(looked); }});
    display.finish();
    if (!surveyed) return std::unexpected(std::move(surveyed.error()));
    const stage::Survey& survey = *surveyed;
    if (!options.list.empty()) {
        BELAY_CHECK(core::write_output(options.list, stage::sign_list(survey.list, key), 0600));
        // Whoever deletes by the list may never see the report.
        for (const std::string& warning : survey.warnings) core::tell("warning: {}", warning);
    }
    if (options.json) {
        context.print_json(to_json(survey, policy));
        return 0;
    }
    print_survey(context, survey, policy);
    if (options.list.empty())
        context.print("Nothing was deleted: this is a report.\n");
    else
        context.print("{}: {}. Nothing was deleted; to do it: belay stage retention --apply {} --key {}\n",
                      core::printable(options.list), core::format_count(survey.list.entries.size(), "file"),
                      core::printable(options.list), core::printable(options.key));
    return 0;
}

nlohmann::ordered_json purge_json(const stage::PurgeList& list, const stage::PurgeReport& report,
                                  bool dry_run) {
    nlohmann::ordered_json kept = nlohmann::ordered_json::array();
    for (const stage::KeptFile& file : report.kept)
        kept.push_back({{"path", stage::escape_path(file.path)}, {"why", file.why}, {"failed", file.failed}});
    return {{"root", stage::escape_path(list.root)},
            {"dry_run", dry_run},
            {"listed", list.entries.size()},
            {"deleted", {{"files", report.deleted_files}, {"bytes", report.deleted_bytes}}},
            {"gone", report.gone},
            {"kept", kept}};
}

Result<int> run_retention_apply(const core::CommandContext& context, const RetentionOptions& options) {
    if (options.key.empty()) return core::bad_input("--apply needs --key, with which the list was signed");
    if (!options.directory.empty() || !options.policy.empty() || !options.list.empty())
        return core::bad_input("--apply takes the directory from the list")
            .hint("leave DIR, --policy and --list out");
    BELAY_TRY(key, stage::read_key(options.key));
    BELAY_TRY(type, core::type_of_file(options.apply));
    if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found)
        return core::bad_input("{} is not a regular file, which a list is", core::printable(options.apply));
    BELAY_TRY(text, core::read_file(options.apply, kMostListBytes));
    BELAY_TRY(list, stage::read_signed_list(text, key, options.apply));
    core::ProgressDisplay display(core::system_clock());
    display.start(options.dry_run ? "checking" : "deleting", core::ProgressUnit::items("files"),
                  list.entries.size());
    const core::StopOnSignal stop;
    BELAY_TRY(report, stage::purge(list, {.dry_run = options.dry_run,
                                          .now = core::system_clock().now(),
                                          .stop = stop.flag(),
                                          .progress = [&](uint64_t done) { display.update(done); }}));
    display.finish();
    const bool has_failed =
        std::ranges::any_of(report.kept, [](const stage::KeptFile& file) { return file.failed; });
    if (options.json) {
        context.print_json(purge_json(list, report, options.dry_run));
        return has_failed ? 1 : 0;
    }
    for (const stage::KeptFile& file : report.kept)
        context.print("kept: {}: {}\n", core::printable(stage::escape_path(file.path)),
                      core::printable(file.why));
    context.print("{} {} of {}, {}; {} gone already, {} kept\n", options.dry_run ? "would delete" : "deleted",
                  report.deleted_files, core::format_count(list.entries.size(), "file"),
                  decimal(report.deleted_bytes), report.gone, report.kept.size());
    return has_failed ? 1 : 0;
}

}  // namespace

void add_stage_retention(core::Application& application) {
    auto command = application.add({
        .name = "stage retention",
        .summary = "say which files a policy would purge, when, and whose",
        .description = "Reads a tree and a policy (TOML: how old, by which time, watermarks, exemptions), "
                       "and reports by owner what is due, what expires within the next days, "
                       "and what is exempt. Sizes are what files take on the file system, as quotas count "
                       "them; a list and "
                       "what is said of a deletion have the sizes of contents. Nothing is deleted, and no "
                       "time of a file is changed. It warns "
                       "where a policy may list more than is meant: by a pattern of \"exempt\" that matches "
                       "nothing, by old times of new files, by a clock that may be wrong.\n\n"
                       "--list writes what is due, and what the watermarks press out, into a list that is "
                       "signed with a key. --apply deletes "
                       "from such a list: each file is looked at again, and one whose inode, "
                       "owner, size or times are not those of the list, or that is not old enough now, is "
                       "kept and named. No link is "
                       "followed, no other file system is entered, and directories stay.\n\n"
                       "The key is a file of 16 bytes at least that only you can read: (umask 077 && head -c "
                       "32 /dev/urandom > key).",
        .examples = {{"belay stage retention /scratch --policy purge.toml", "the report"},
                     {"belay stage retention /scratch --policy purge.toml --list due.list --key key",
                      "and a list of what is due"},
                     {"belay stage retention --apply due.list --key key --dry-run",
                      "what of it would be deleted now"}},
        .exit_statuses = {{1, "with --apply: a file could not be deleted"}},
        .ends_in_order = true,
    });
    auto options = std::make_shared<RetentionOptions>();
    command.options().add_option("DIR", options->directory, "the directory to report on");
    command.options().add_option("--policy", options->policy, "what to purge")->type_name("FILE");
    command.options().add_option("--list", options->list, "write what is due into FILE")->type_name("FILE");
    command.options()
        .add_option("--key", options->key, "sign the list, or check its signature, with the key in FILE")
        ->type_name("FILE");
    command.options().add_option("--apply", options->apply, "delete what is in this list")->type_name("LIST");
    command.options().add_flag("--dry-run", options->dry_run,
                               "with --apply: check each file and delete none");
    add_threads(command, options->threads, "threads that read the tree");
    command.options()
        .add_option("--rate", options->rate, "at most N calls to the file system a second; 0: no limit")
        ->type_name("N");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) {
        return options->apply.empty() ? run_retention_report(context, *options)
                                      : run_retention_apply(context, *options);
    });
}

}  // namespace belay::cli
