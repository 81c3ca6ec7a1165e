#include "slurm/scontrol.h"

#include "core/process.h"
#include "core/text.h"
#include "slurm/command.h"
#include "slurm/hostlist.h"

#include <algorithm>
#include <map>

namespace belay::slurm {
namespace {

using core::bad_input;
using core::Result;
using core::system_error;

// Of a value that a user wrote nothing is known: it goes on to the end of its line.
constexpr std::string_view kRestOfLine[] = {"JobName", "Command", "WorkDir",      "StdErr", "StdIn",
                                            "StdOut",  "Comment", "AdminComment", "Extra",  "SystemComment"};

using Record = std::multimap<std::string_view, std::string_view>;

bool is_key(std::string_view word) {
    if (word.empty() || word[0] < 'A' || word[0] > 'Z') return false;
    return std::ranges::all_of(word, [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' ||
               c == '/' || c == '_' || c == '*';
    });
}

// "A=1 B=two words C=" -> A: "1", B: "two words", C: "".
void read_line(std::string_view line, Record& record) {
    std::string_view key;
    size_t value_start = 0;
    size_t at = 0;
    auto finish = [&](size_t end) {
        if (!key.empty()) record.emplace(key, core::trim(line.substr(value_start, end - value_start)));
    };
    while (at < line.size()) {
        size_t end = std::min(line.find(' ', at), line.size());
        size_t equals = line.substr(at, end - at).find('=');
        if (equals != std::string_view::npos && is_key(line.substr(at, equals))) {
            finish(at);
            key = line.substr(at, equals);
            value_start = at + equals + 1;
            if (std::ranges::find(kRestOfLine, key) != std::end(kRestOfLine)) break;
        }
        at = end + 1;
    }
    finish(line.size());
}

std::vector<Record> read_records(std::string_view text) {
    std::vector<Record> records;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = core::trim(text.substr(at, end - at));
        if (line.starts_with("JobId=")) records.emplace_back();
        if (!records.empty()) read_line(line, records.back());
        at = end + 1;
    }
    return records;
}

// The facts of one record, each of which may stand there once.
class Facts {
  public:
    explicit Facts(const Record& record) : record_(record) {}

    // Nothing where there is no such key, no value, or "(null)".
    Result<std::optional<std::string>> text(std::string_view key) const {
        auto [first, last] = record_.equal_range(key);
        if (first == last) return std::nullopt;
        if (std::next(first) != last) {
            return system_error("scontrol: {} stands twice in a record", key)
                .hint("a line break in the job's name or comment can do that");
        }
        std::string_view value = first->second;
        if (value.empty() || value == "(null)") return std::nullopt;
        return std::string(value);
    }

    Result<std::string> required(std::string_view key) const {
        BELAY_TRY(value, text(key));
        if (!value) return system_error("scontrol: no {} in its answer", key);
        return *value;
    }

    Result<std::optional<uint64_t>> number(std::string_view key) const {
        BELAY_TRY(value, text(key));
        if (!value) return std::nullopt;
        auto number = core::parse_number<uint64_t>(*value);
        if (!number) return system_error("scontrol: {}={}: not a whole number", key, *value);
        return number;
    }

    Result<std::optional<core::Time>> time(std::string_view key) const {
        BELAY_TRY(value, text(key));
        if (!value || *value == "Unknown" || *value == "None" || *value == "N/A") return std::nullopt;
        auto time = core::parse_time(*value + "Z");
        if (!time) return system_error("scontrol: {}={}: not a time", key, *value);
        return *time;
    }

  private:
    const Record& record_;
};

// "ada(1000)" -> the name and the number. A name that the machine does not know stands as "nobody"-like text
// or a number.
Result<> read_user(const Facts& facts, ScontrolJob& job) {
    BELAY_TRY(user, facts.required("UserId"));
    size_t open = user.rfind('(');
    if (open == std::string::npos || !user.ends_with(')'))
        return system_error("scontrol: UserId={}: not NAME(ID)", user);
    job.uid = core::parse_number<uint64_t>(std::string_view(user).substr(open + 1, user.size() - open - 2));
    job.user = user.substr(0, open);
    return {};
}

Result<> read_times(const Facts& facts, ScontrolJob& job) {
    BELAY_TRY(submit, facts.time("SubmitTime"));
    if (!submit) return system_error("scontrol: no SubmitTime in its answer");
    BELAY_TRY(start, facts.time("StartTime"));
    BELAY_TRY(end, facts.time("EndTime"));
    job.submit = *submit;
    if (job.state == "PENDING") return {};
    job.start = start;
    job.end = end;
    return {};
}

// "00:10:00", "2-01:00:00"; nothing for "UNLIMITED" and other words.
Result<std::optional<core::Duration>> read_time_limit(const Facts& facts) {
    BELAY_TRY(text, facts.text("TimeLimit"));
    if (!text || text->find(':') == std::string::npos) return std::nullopt;
    std::string_view rest = *text;
    int64_t days = 0;
    if (const size_t dash = rest.find('-'); dash != std::string_view::npos) {
        days = core::parse_number<int64_t>(rest.substr(0, dash)).value_or(-1);
        rest.remove_prefix(dash + 1);
    }
    int64_t seconds = 0;
    const auto parts = core::split(rest, ':');
    for (std::string_view part : parts) {
        const auto number = core::parse_number<int64_t>(part);
        if (!number || *number < 0 || *number > 99 || parts.size() != 3 || days < 0 || days > 36'500)
            return system_error("scontrol: TimeLimit={}: not a time", *text);
        seconds = seconds * 60 + *number;
    }
    return std::chrono::seconds(days * 86'400 + seconds);
}

constexpr std::pair<std::string_view, std::string_view> kMemoryKeys[] = {{"MinMemoryNode", "a node"},
                                                                         {"MinMemoryCPU", "a CPU"}};

Result<> read_request(const Facts& facts, ScontrolJob& job) {
    BELAY_TRY(limit, read_time_limit(facts));
    job.time_limit = limit;
    for (const auto& [key, per] : kMemoryKeys) {
        BELAY_TRY(text, facts.text(key));
        const auto size = text ? parse_memory(*text) : std::nullopt;
        if (size && size->bytes > 0) job.memory = MemoryRequest{*size, per};
    }
    return {};
}

Result<ScontrolJob> read_job(const Record& record) {
    Facts facts(record);
    ScontrolJob job;
    BELAY_TRY(job_id, facts.number("JobId"));
    BELAY_TRY(array_job_id, facts.number("ArrayJobId"));
    BELAY_TRY(array_task, facts.text("ArrayTaskId"));
    BELAY_TRY(name, facts.text("JobName"));
    BELAY_TRY(account, facts.text("Account"));
    BELAY_TRY(partition, facts.text("Partition"));
    BELAY_TRY(state, facts.required("JobState"));
    BELAY_TRY(reason, facts.text("Reason"));
    BELAY_TRY(restarts, facts.number("Restarts"));
    BELAY_TRY(node_list, facts.text("NodeList"));
    if (!job_id) return system_error("scontrol: no JobId in its answer");
    job.job_id = *job_id;
    job.array_job_id = array_job_id;
    if (array_task) job.array_task = core::parse_number<uint64_t>(*array_task);  // "2-3%2" stands for several
    job.name = name.value_or("");
    job.account = std::move(account);
    job.partition = std::move(partition);
    job.state = std::move(state);
    if (reason != "None") job.reason = std::move(reason);
    job.restarts = restarts.value_or(0);
    auto nodes = expand(node_list.value_or(""), "NodeList");
    if (!nodes)
        return std::unexpected(std::move(nodes.error())
                                   .as(core::ErrorKind::kSystem)
                                   .context(fmt::format("scontrol: NodeList={}", *node_list)));
    job.nodes = std::move(*nodes);
    BELAY_CHECK(read_user(facts, job));
    BELAY_CHECK(read_times(facts, job));
    BELAY_CHECK(read_request(facts, job));
    BELAY_TRY(exit, facts.text("ExitCode"));
    if (exit && job.is_over()) BELAY_CHECK(read_exit(*exit, "scontrol", job));
    return job;
}

}  // namespace

Result<std::vector<ScontrolJob>> parse_scontrol_jobs(std::string_view text) {
    std::vector<ScontrolJob> jobs;
    for (const Record& record : read_records(text)) {
        BELAY_TRY(job, read_job(record));
        jobs.push_back(std::move(job));
    }
    return jobs;
}

Result<ScontrolJob> query_job(uint64_t job_id, core::Duration timeout) {
    BELAY_TRY(output, run_slurm_command({"scontrol", "show", "job", std::to_string(job_id)}, timeout));
    if (!output.status.success()) {
        if (output.err.find("Invalid job id") != std::string::npos) {
            return bad_input("job {}: Slurm does not know it", job_id)
                .because(core::Cause::kNotFound)
                .hint("it forgets a job some minutes after its end (MinJobAge)");
        }
        return failed_command(fmt::format("scontrol show job {}", job_id), output);
    }
    BELAY_TRY(jobs, parse_scontrol_jobs(output.out));
    std::optional<ScontrolJob> found;
    for (ScontrolJob& job : jobs) {
        // Several records belong to one array, or are made up by line breaks in a job's name.
        bool expected = jobs.size() == 1 ? job.job_id == job_id : job.array_job_id == job_id;
        if (!expected)
            return system_error("scontrol show job {}: its answer is about job {}", job_id, job.job_id);
        if (job.job_id == job_id) found = std::move(job);
    }
    if (!found) return system_error("scontrol show job {}: the job is not in its answer", job_id);
    return *std::move(found);
}

Result<std::optional<std::string>> parse_scontrol_node_address(std::string_view text) {
    Record record;
    for (std::string_view line : core::split(text, '\n')) read_line(core::trim(line), record);
    return Facts(record).text("NodeAddr");
}

Result<std::optional<std::string>> query_node_address(const std::string& node,
                                                      const core::Deadline& deadline) {
    BELAY_TRY(output, run_slurm_command({"scontrol", "show", "node", node}, deadline.left()));
    // That it does not know the node stands in its output; where it could not ask Slurm, nothing does.
    if (!output.status.success() && core::trim(output.out).empty())
        return failed_command(fmt::format("scontrol show node {}", node), output);
    return parse_scontrol_node_address(output.out);
}

}  // namespace belay::slurm
