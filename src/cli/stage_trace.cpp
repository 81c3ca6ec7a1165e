// belay stage trace: which jobs read data.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "core/file.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/utf8.h"
#include "stage/trace/trace.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::printable;
using core::Result;
using Json = nlohmann::ordered_json;

struct TraceArguments {
    std::string data;
    std::vector<std::string> places;
    bool json = false;
};

Json to_json(const stage::TraceReport& report) {
    Json jobs = Json::array();
    for (const stage::TracedJob& job : report.jobs) {
        Json readings = Json::array();
        for (const stage::Reading& reading : job.readings)
            readings.push_back({{"kind", reading.kind},
                                {"data", reading.where},
                                {"nodes", reading.nodes},
                                {"first", core::format_time(reading.first)}});
        jobs.push_back({{"job", job.job.id ? Json(*job.job.id) : Json()},
                        {"cluster", job.job.cluster},
                        {"user", job.job.user},
                        {"name", job.job.name},
                        {"record", job.record.string()},
                        {"record_owner", job.owner},
                        {"readings", std::move(readings)}});
    }
    Json unread = Json::array();
    for (const stage::UnreadRecord& one : report.unread)
        unread.push_back({{"record", one.record.string()}, {"why", core::in_one_line(one.error)}});
    return {{"records", report.records}, {"jobs", std::move(jobs)}, {"unread", std::move(unread)}};
}

std::string words_of(const stage::Reading& reading) {
    return fmt::format("{} {}", reading.kind == "data_staged" ? "staged" : "read", printable(reading.where));
}

void print(const core::CommandContext& context, const stage::TracedData& data,
           const stage::TraceReport& report) {
    std::vector<std::vector<std::string>> rows;
    for (const stage::TracedJob& job : report.jobs)
        for (const stage::Reading& reading : job.readings) {
            const std::string id = record::id_text(job.job);
            const std::string user = job.owner == job.job.user
                                         ? job.job.user
                                         : fmt::format("{}, says {}", job.job.user, job.owner);
            rows.push_back({id.empty() ? "-" : id, printable(user), core::format_time(reading.first),
                            std::to_string(reading.nodes.size()), words_of(reading),
                            printable(job.record.string())});
        }
    if (!rows.empty())
        context.print("{}", render_table({"job", "user", "since", "nodes", "what", "record"}, rows));
    for (const stage::UnreadRecord& one : report.unread)
        context.print("not read: {}: {}\n", printable(one.record.string()),
                      printable(core::in_one_line(one.error)));
    context.print("{}: {} of {} records\n", printable(data.words), report.jobs.size(), report.records);
}

Result<int> run(const core::CommandContext& context, const TraceArguments& options) {
    BELAY_TRY(data, stage::find_data(options.data));
    std::vector<std::filesystem::path> places(options.places.begin(), options.places.end());
    if (places.empty()) {
        BELAY_TRY(here, core::current_directory());
        places.push_back(std::move(here));
    }
    BELAY_TRY(report, stage::trace(data, places));
    if (options.json)
        context.print_json(to_json(report));
    else
        print(context, data, report);
    return 0;
}

}  // namespace

void add_stage_trace(core::Application& application) {
    auto command = application.add({
        .name = "stage trace",
        .summary = "list the jobs that read data",
        .description = "Looks through the records of jobs for those that read DATA: a shard, an image, their "
                       "directory, the directory that was packed, or "
                       "a name, address, licence or revision as manifests hold it. The records say what "
                       "`srun --stage` brought to the nodes, and which "
                       "directories a process had shards or images open in: recorders look at the processes "
                       "of their job every ten samples, so that a file "
                       "that is open for a moment only may be missed. Loose files are not traced.",
        .examples = {{"belay stage trace /scratch/train --records /project/records",
                      "who used this data set"},
                     {"belay stage trace CC-BY-NC-4.0 --records /project/records",
                      "jobs on data of this licence"}},
    });
    auto options = std::make_shared<TraceArguments>();
    command.options()
        .add_option("DATA", options->data, "a shard, a directory, or words of a manifest's source")
        ->required();
    command.options()
        .add_option("--records", options->places,
                    "look for records beneath DIR (default: the current directory)")
        ->type_name("DIR");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run(context, *options); });
}

}  // namespace belay::cli
