// belay record import gssr, jobreport: recordings of other tools as job records.
#include "cli/build_facts.h"
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "core/program.h"
#include "core/progress_display.h"
#include "core/utf8.h"
#include "record/import/import.h"
#include "score/digest_store.h"

#include <algorithm>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

struct Options {
    std::string source;
    std::string record;
    std::vector<int64_t> gpus;
    std::string model;
    bool json = false;
};

using Import = core::Result<record::Imported> (*)(const record::ImportOptions&);

core::Result<record::Imported> import_with_progress(Import import, const Options& options) {
    core::ProgressDisplay display(core::system_clock());
    bool started = false;
    return import({.source = options.source,
                   .record = options.record,
                   .gpus = options.gpus,
                   .model = options.model,
                   .now = core::system_clock().now(),
                   .version = std::string(kVersion),
                   .progress = [&](uint64_t done, uint64_t total) {
                       if (!started) display.start("reading samples", core::ProgressUnit::bytes(), total);
                       started = true;
                       display.update(done);
                   }});
}

void print_json(const core::CommandContext& context, const Options& options,
                const record::Imported& imported) {
    nlohmann::json warnings = nlohmann::json::array();
    nlohmann::json notes = nlohmann::json::array();
    for (const record::Defect& defect : imported.defects)
        (defect.is_warning ? warnings : notes).push_back(defect.sentence());
    context.print_json(nlohmann::json{{"record", options.record},
                                      {"rows", imported.rows},
                                      {"nodes", imported.nodes},
                                      {"devices", imported.devices},
                                      {"aggregates_only", imported.aggregates_only},
                                      {"warnings", std::move(warnings)},
                                      {"notes", std::move(notes)}});
}

void print_defects(const core::CommandContext& context, const std::vector<record::Defect>& defects) {
    std::map<std::string_view, size_t> more;  // of each kind, beside the first
    std::vector<const record::Defect*> firsts;
    for (const record::Defect& defect : defects) {
        auto [found, is_first] = more.try_emplace(defect.kind, 0);
        if (is_first)
            firsts.push_back(&defect);
        else
            ++found->second;
    }
    std::ranges::stable_partition(firsts, [](const record::Defect* defect) { return defect->is_warning; });
    for (const record::Defect* first : firsts) {
        size_t others = more[first->kind];
        context.print("{}: {}{}\n", first->is_warning ? "warning" : "note",
                      core::printable(first->sentence()),
                      others > 0 ? fmt::format(" ({} more like this)", others) : "");
    }
    if (firsts.size() < defects.size())
        context.print("all of them are in the record's table event, of kind import\n");
}

void print_text(const core::CommandContext& context, const Options& options,
                const record::Imported& imported) {
    context.print("{}: {} samples of {} GPUs on {} nodes\n", options.record, imported.rows, imported.devices,
                  imported.nodes);
    if (imported.aggregates_only) context.print("aggregates only: no score can be computed from them\n");
    print_defects(context, imported.defects);
}

void add_import(core::Application& application, core::CommandPage page, Import import) {
    page.exit_statuses = {{0, "the record was made, whatever was wrong with the recording"},
                          {2, "SRC is not such a recording, or DIR is not empty"}};
    auto command = application.add(std::move(page));
    auto options = std::make_shared<Options>();
    command.options().add_option("SRC", options->source, "directory of the recording")->required();
    command.options()
        .add_option("-o,--output", options->record, "directory of the record; must not exist or be empty")
        ->required()
        ->type_name("DIR");
    command.options()
        .add_option(
            "--gpu", options->gpus,
            "number of a GPU that the job held on each node, once for each; default: all that were recorded")
        ->type_name("N");
    command.options()
        .add_option("--model", options->model,
                    "name of the GPUs as nvidia-smi shows it, by which the score finds their ceilings; "
                    "recordings do not have it")
        ->type_name("NAME");
    command.json(options->json);
    command.run([options, import](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(imported, import_with_progress(import, *options));
        keep_made_tables(options->record);
        if (options->json)
            print_json(context, *options, imported);
        else
            print_text(context, *options, imported);
        return 0;
    });
}

}  // namespace

void add_record_import_gssr(core::Application& application) {
    add_import(
        application,
        {.name = "record import gssr",
         .summary = "make a record from a recording of gssr",
         .description =
             "Reads the directory of CSV files that gssr-record writes (OUT/CLUSTER_JOB, or an older OUT), "
             "or the directory of JSON files of gssr 0.3, and makes a sealed job record with one sample per "
             "row. Known defects of these recordings are corrected or treated as missing, never taken for "
             "measurements; each one found is an event of kind \"import\" in the record.\n\n"
             "Nodes are called proc_N by the rank that recorded them, since gssr-record keeps no names of "
             "nodes.",
         .examples = {{"belay record import gssr gssr_report/alps_4711 -o r --model \"NVIDIA GH200 120GB\"",
                       "make the record r"},
                      {"belay record import gssr report_4711 -o r --gpu 0 --gpu 1",
                       "for a job that held two of the GPUs of each node"}}},
        record::import_gssr);
}

void add_record_import_jobreport(core::Application& application) {
    add_import(application,
               {.name = "record import jobreport",
                .summary = "make a record from a summary of jobreport",
                .description = "Reads a directory that jobreport wrote. It holds only aggregates, from which "
                               "no score can be computed: the record has the job, its devices, when they "
                               "were held, and one event of kind \"jobreport\" for each GPU.",
                .examples = {{"belay record import jobreport jobreport_4711 -o r", "make the record r"}}},
               record::import_jobreport);
}

}  // namespace belay::cli
