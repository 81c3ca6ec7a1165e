// Prints what belay_slurm understands, for the tests that compare it with Slurm itself:
//   slurm_print hostlists < EXPRESSIONS   per line its names, TAB, its short form; "error" if it is refused
//   slurm_print job ID                    what scontrol says about a job
//   slurm_print facts                     what the environment says about this task
#include "core/text.h"
#include "core/time.h"
#include "slurm/hostlist.h"
#include "slurm/job.h"
#include "slurm/scontrol.h"

#include <iostream>
#include <string>

#include <fmt/ranges.h>

using namespace belay;

namespace {

int fail(const core::Error& error) {
    std::cerr << error.render("slurm_print");
    return error.exit_status();
}

int print_hostlists() {
    for (std::string line; std::getline(std::cin, line);) {
        auto names = slurm::expand(line);
        if (!names) {
            fmt::print("error\n");
            continue;
        }
        auto folded = slurm::compress(*names);
        if (!folded) return fail(folded.error());
        fmt::print("{}\t{}\n", fmt::join(*names, " "), *folded);
    }
    return 0;
}

int print_job(std::string_view text) {
    auto id = core::parse_number<uint64_t>(text);
    if (!id) return 2;
    auto job = slurm::query_job(*id);
    if (!job) return fail(job.error());
    fmt::print("id={} state={} user={} nodes={} submit={} start={} restarts={} task={} name={}\n",
               job->job_id, job->state, job->user, fmt::join(job->nodes, ","), core::format_time(job->submit),
               job->start ? core::format_time(*job->start) : "-", job->restarts.value_or(0),
               job->array_task ? std::to_string(*job->array_task) : "-", job->name);
    return 0;
}

int print_facts() {
    auto facts = slurm::read_task_facts(slurm::process_environment());
    if (!facts) return fail(facts.error());
    if (!*facts) {
        fmt::print("outside\n");
        return 0;
    }
    auto number = [](std::optional<uint64_t> value) { return value ? std::to_string(*value) : "-"; };
    const slurm::TaskFacts& f = **facts;
    fmt::print(
        "id={} cluster={} user={} task={} nodes={} step={} step_nodes={} rank={}/{} local={} node={}:{}\n",
        f.job_id, f.cluster.value_or("-"), f.user.value_or("-"), number(f.array_task),
        fmt::join(f.job_nodes, ","), number(f.step_id), fmt::join(f.step_nodes, ","), number(f.rank),
        number(f.task_count), number(f.local_rank), number(f.node_rank), f.node.value_or("-"));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::string_view verb = argc > 1 ? argv[1] : "";
    if (verb == "hostlists") return print_hostlists();
    if (verb == "job" && argc == 3) return print_job(argv[2]);
    if (verb == "facts") return print_facts();
    return 2;
}
