#include "agent/program.h"

#include "agent/agent.h"
#include "agent/outward_options.h"
#include "core/manual.h"
#include "core/units.h"
#include "stream/cursor.h"

#include <memory>

namespace belay::agent {

using core::bad_input;
using core::Result;

namespace {

struct Words {
    AgentOptions options;
    std::string spool;
    core::Duration length{};
    core::ByteSize file_size{16 << 20};
    core::ByteSize spool_size{1 << 30};
    OutwardWords outward;
};

Result<> check_name(std::string_view option, const std::string& name) {
    if (name.size() <= stream::kMaxStreamName) return {};
    return bad_input("{}: a name has at most {} bytes", option, stream::kMaxStreamName);
}

Result<int> run(Words words) {
    AgentOptions& options = words.options;
    if (words.spool.empty()) return bad_input("--spool: is an empty name");
    if (options.node && options.node->empty()) return bad_input("--node: is an empty name");
    BELAY_CHECK(check_name("--node", options.node.value_or("")));
    BELAY_CHECK(check_name("--cluster", options.cluster));
    options.spool = words.spool;
    if (words.length.count() > 0) options.length = words.length;
    options.limits.file_bytes = words.file_size.bytes;
    options.limits.spool_bytes = words.spool_size.bytes;
    BELAY_CHECK(take_outward_options(words.outward, options));
    BELAY_CHECK(run_agent(options));
    return 0;
}

void add_agent(core::Application& application) {
    auto command = application.add({
        .name = "",
        .summary = "sample a node for all jobs that run on it",
        .description =
            "Samples this node once a second and writes what it sees into files of DIR, until it "
            "gets SIGTERM: CPU, memory, network, file systems and GPUs of the node, faults in the "
            "kernel's log, the processes of each step of Slurm, and which step had which part of "
            "the node from when to when.\n\n"
            "`belay record cut DIR --job ID` makes the record of a job from it.\n\n"
            "It runs as root or as an ordinary user, without configuration. A user who is not "
            "root sees that other users' steps run, and what their processes use, but not which "
            "GPUs they hold. DIR is made if it does not exist, for its owner alone. Its oldest "
            "files are removed when all take more than --spool-size.\n\n"
            "With --server it sends the spool to belayd, each block again until belayd has it on its "
            "disk; what belayd cannot take waits in the spool, also over a restart of the agent. With "
            "--listen it shows the newest values as metrics (OpenMetrics or Prometheus' text), and with "
            "--remote-write it sends all values to a receiver of metrics. All of this is done in a "
            "process of its own: a server that hangs delays no sample.",
        .examples =
            {{"belay-agent --spool /var/spool/belay --cluster alps", "sample until SIGTERM comes"},
             {"belay-agent --spool s --for 30s --interval 100ms", "sample for half a minute"},
             {"belay-agent --spool /var/spool/belay --cluster alps --server https://belayd.example.org "
              "--token-file /etc/belay/agent.token",
              "sample, and send what was sampled to belayd"},
             {"belay-agent --spool /var/spool/belay --listen :9101", "sample, and let Prometheus scrape"}},
        .bounds_own_waits = true,
    });
    auto words = std::make_shared<Words>();
    command.options()
        .add_option("--spool", words->spool, "directory for the spool; made if it does not exist")
        ->required()
        ->type_name("DIR");
    command.duration("--interval", words->options.interval, "time between two samples");
    command.duration("--flush", words->options.flush,
                     "time between two writes to disk; a crash loses at most this much");
    command.duration("--for", words->length, "end after this time");
    command.options()
        .add_option("--node", words->options.node,
                    "name of this node in Slurm; only steps on a node of this name count. Default: the name "
                    "of the machine, and all steps on it")
        ->type_name("NAME");
    command.options()
        .add_option("--cluster", words->options.cluster,
                    "name of the cluster, as written to the stream; steps of another cluster do not count")
        ->type_name("NAME");
    command.size("--file-size", words->file_size, "size at which a new file is started");
    command.duration("--file-time", words->options.limits.file_time,
                     "time after which a new file is started");
    command.size("--spool-size", words->spool_size, "limit of the space that all files in DIR take together");
    command.duration("--wait", words->options.wait,
                     "longest wait for one call on a file of DIR; ten times that to flush data to the disk");
    add_outward_options(command, words->outward);
    command.run([words](const core::CommandContext&) { return run(*words); });
}

void add_manual(core::Application& application) {
    auto command = application.add({
        .name = "_man",
        .summary = "write the manual page into a directory",
        .hidden = true,
    });
    auto directory = std::make_shared<std::string>();
    command.options().add_option("DIR", *directory, "where to write; made if it does not exist")->required();
    command.run([directory](const core::CommandContext& context) -> Result<int> {
        BELAY_CHECK(core::write_manual(context.application().model(), BELAY_VERSION, *directory));
        return 0;
    });
}

}  // namespace

core::ApplicationPage application_page() {
    return {.name = "belay-agent",
            .summary = "sample a node for all jobs that run on it",
            .description = {},
            .version = BELAY_VERSION};
}

void add_commands(core::Application& application) {
    add_agent(application);
    add_manual(application);
}

}  // namespace belay::agent
