#include "slurm/sacct.h"

#include "core/text.h"
#include "slurm/command.h"
#include "slurm/hostlist.h"

#include <algorithm>

namespace belay::slurm {

namespace {

using core::Result;
using core::system_error;

constexpr std::string_view kBy = " by ";
constexpr std::string_view kOutOfMemory = "OUT_OF_MEMORY";
constexpr int64_t kMostMinutes = 60LL * 24 * 36'500;

using Texts = std::vector<std::string_view>;

// "CANCELLED by 1000".
Result<> read_state(std::string_view text, JobEnd& job) {
    const size_t by = text.find(kBy);
    job.state = text.substr(0, by);
    if (job.state.empty()) return system_error("sacct: no State in its answer");
    if (by != std::string_view::npos)
        job.cancelled_by = core::parse_number<uint64_t>(text.substr(by + kBy.size()));
    return {};
}

Result<std::optional<core::Time>> read_time(std::string_view name, std::string_view text) {
    if (text.empty() || text == "Unknown" || text == "None") return std::nullopt;
    auto time = core::parse_time(std::string(text) + "Z");
    if (!time) return system_error("sacct: {}={}: not a time", name, text);
    return *time;
}

Result<> read_submit(std::string_view text, JobEnd& job) {
    BELAY_TRY(submit, read_time("Submit", text));
    if (!submit) return system_error("sacct: no Submit in its answer");
    job.submit = *submit;
    return {};
}

Result<> read_start(std::string_view text, JobEnd& job) {
    BELAY_TRY(start, read_time("Start", text));
    job.start = start;
    return {};
}

Result<> read_end(std::string_view text, JobEnd& job) {
    BELAY_TRY(end, read_time("End", text));
    job.end = end;
    return {};
}

// Minutes; "UNLIMITED" and "Partition_Limit" are none that is known.
Result<> read_time_limit(std::string_view text, JobEnd& job) {
    const auto minutes = core::parse_number<int64_t>(text);
    if (minutes && *minutes > 0 && *minutes <= kMostMinutes) job.time_limit = std::chrono::minutes(*minutes);
    return {};
}

// "200M" for all of the job, before version 21.08 "100Mn" a node and "100Mc" a CPU.
Result<> read_memory(std::string_view text, JobEnd& job) {
    constexpr std::pair<std::string_view, std::string_view> kEnds[] = {
        {"n", "a node"}, {"c", "a CPU"}, {"", ""}};
    for (const auto& [end, per] : kEnds) {
        if (!text.ends_with(end)) continue;
        const auto size = parse_memory(text.substr(0, text.size() - end.size()));
        if (size && size->bytes > 0) job.memory = MemoryRequest{*size, per};
        break;
    }
    return {};
}

Result<> read_nodes(std::string_view text, JobEnd& job) {
    if (text == "None assigned" || text == "Unknown") return {};
    auto nodes = expand(text, "NodeList");
    if (!nodes)
        return std::unexpected(std::move(nodes.error())
                                   .as(core::ErrorKind::kSystem)
                                   .context(fmt::format("sacct: NodeList={}", text)));
    job.nodes = std::move(*nodes);
    return {};
}

Result<> read_cluster(std::string_view text, JobEnd& job) {
    if (!text.empty()) job.cluster = text;
    return {};
}

Result<> read_uid(std::string_view text, JobEnd& job) {
    job.uid = core::parse_number<uint64_t>(text);
    return {};
}

Result<> read_exit_code(std::string_view text, JobEnd& job) {
    return text.empty() || !job.is_over() ? Result<>() : read_exit(text, "sacct", job);
}

void take_most_memory(std::string_view text, JobEnd& job) {
    const auto size = parse_memory(text);
    if (size && size->bytes > 0) job.most_memory = std::max(job.most_memory.value_or(*size), *size);
}

Result<> read_most_memory(std::string_view text, JobEnd& job) {
    take_most_memory(text, job);
    return {};
}

Result<> read_id(std::string_view text, JobEnd& job) {
    const auto id = core::parse_number<uint64_t>(text);
    if (!id) return system_error("sacct: JobIDRaw={}: not a number", text);
    job.job_id = *id;
    return {};
}

// What sacct is asked for, each known to every version since 20.11. None holds what a user wrote.
struct Field {
    std::string_view name;
    Result<> (*read)(std::string_view, JobEnd&);
};
constexpr Field kFields[] = {{"JobIDRaw", read_id},
                             {"Cluster", read_cluster},
                             {"UID", read_uid},
                             {"State", read_state},
                             {"ExitCode", read_exit_code},
                             {"Submit", read_submit},
                             {"Start", read_start},
                             {"End", read_end},
                             {"TimelimitRaw", read_time_limit},
                             {"ReqMem", read_memory},
                             {"MaxRSS", read_most_memory},
                             {"NodeList", read_nodes}};

consteval size_t field(std::string_view name) {
    const auto* found = std::ranges::find(kFields, name, &Field::name);
    if (found == std::end(kFields)) throw "unknown field";
    return static_cast<size_t>(found - std::begin(kFields));
}
constexpr size_t kIdField = field("JobIDRaw");
constexpr size_t kStateField = field("State");
constexpr size_t kMostMemoryField = field("MaxRSS");

Result<JobEnd> read_run(const Texts& texts) {
    JobEnd job;
    for (size_t i = 0; i < texts.size(); ++i) BELAY_CHECK(kFields[i].read(texts[i], job));
    return job;
}

// "7.batch", "7.0": after the run that they belong to.
bool is_step(const Texts& texts) {
    return texts[kIdField].find('.') != std::string_view::npos;
}

void add_step(const Texts& texts, JobEnd& run) {
    take_most_memory(texts[kMostMemoryField], run);
    if (texts[kStateField] == kOutOfMemory && !run.out_of_memory_step)
        run.out_of_memory_step = texts[kIdField].substr(texts[kIdField].find('.') + 1);
}

}  // namespace

std::string sacct_fields() {
    std::string names;
    for (const Field& each : kFields) names += (names.empty() ? "" : ",") + std::string(each.name);
    return names;
}

Result<std::vector<JobEnd>> parse_sacct(std::string_view text) {
    std::vector<JobEnd> runs;
    for (std::string_view line : core::split(text, '\n')) {
        if (core::trim(line).empty()) continue;
        const Texts texts = core::split(line, '|');
        if (texts.size() != std::size(kFields))
            return system_error("sacct: a line with {} fields in place of {}: {}", texts.size(),
                                std::size(kFields), line.substr(0, 200));
        if (is_step(texts)) {
            if (!runs.empty()) add_step(texts, runs.back());
            continue;
        }
        BELAY_TRY(run, read_run(texts));
        runs.push_back(std::move(run));
    }
    return runs;
}

Result<std::vector<JobEnd>> query_accounted_runs(uint64_t job_id, core::Duration timeout) {
    BELAY_TRY(output, run_slurm_command({"sacct", "--noheader", "--parsable2", "--noconvert", "--duplicates",
                                         "--format=" + sacct_fields(), fmt::format("--jobs={}", job_id)},
                                        timeout));
    if (!output.status.success()) return failed_command(fmt::format("sacct --jobs={}", job_id), output);
    BELAY_TRY(runs, parse_sacct(output.out));
    // Of an array's id, sacct shows all tasks.
    std::erase_if(runs, [&](const JobEnd& run) { return run.job_id != job_id; });
    return runs;
}

}  // namespace belay::slurm
