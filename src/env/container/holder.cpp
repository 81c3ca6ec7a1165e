#include "env/container/holder.h"

#include "core/activity.h"
#include "core/file.h"
#include "core/program.h"
#include "core/text.h"
#include "env/container/entrypoint.h"
#include "env/container/holder_link.h"
#include "env/container/mount_flags.h"
#include "env/container/namespaces.h"
#include "env/container/notice.h"
#include "env/container/root_files.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace belay::env {

using core::Error;
using core::Result;
namespace fs = std::filesystem;

namespace {

// Leaves out what need not be there, and tells files from directories.
Result<> look_for_sources(std::vector<Bind>& binds) {
    std::optional<Error> failure;
    std::erase_if(binds, [&](Bind& bind) {
        if (failure) return false;
        struct stat status{};
        core::note_activity("look for", bind.source);
        if (stat(bind.source.c_str(), &status) == 0) {
            bind.is_file = !bind.squashfs && !S_ISDIR(status.st_mode);
            return false;
        }
        const bool is_absent = errno == ENOENT || errno == ENOTDIR;
        if (bind.if_present && is_absent) return true;
        failure =
            core::errno_error(errno, fmt::format("cannot mount {} on {}", bind.source, bind.destination))
                .error();
        if (is_absent)
            failure = std::move(*failure).hint(
                "it exists where the environment was read: does it exist on all nodes?");
        return false;
    });
    if (failure) return std::unexpected(std::move(*failure));
    return {};
}

// One that waits in the kernel is left behind.
void end_init(pid_t init) {
    auto process = core::adopt_child(init);
    if (process)
        (void)process->end();
    else
        kill(init, SIGKILL);
}

class Holder {
  public:
    explicit Holder(int link) : link_(link) {}

    // Returns the process that is in the new container.
    Result<pid_t> build(const ContainerPlan& plan) {
        BELAY_TRY(identity, enter_own_namespaces());
        BELAY_TRY(scratch, mount_scratch(plan.overlay_size));
        scratch_ = scratch;
        BELAY_TRY(server, mount_squashfs(plan.image_file, scratch / "image"));
        servers_.push_back(std::move(server));
        BELAY_CHECK(
            mount_overlay(scratch / "image", scratch / "written", scratch / "work", scratch / "root"));
        std::vector<std::string> squashfs_paths;
        for (const Bind& bind : plan.binds) {
            if (!bind.squashfs) continue;
            fs::path target = scratch / fmt::format("squashfs{}", squashfs_paths.size());
            BELAY_TRY(another, mount_squashfs(bind.source, target));
            servers_.push_back(std::move(another));
            squashfs_paths.push_back(target.string());
        }
        BELAY_CHECK(tell_part(link_, HolderPart::kUser));
        BELAY_CHECK(name_user(scratch / "root", identity.user, identity.group));
        ContainerPlan here = plan;
        BELAY_CHECK(tell_part(link_, HolderPart::kSources));
        BELAY_CHECK(look_for_sources(here.binds));
        const std::vector<MountFlags> wanted_flags = flags_of(here.binds);
        BELAY_CHECK(tell_part(link_, HolderPart::kCreate));
        // Tasks shall see /sys whole, not with our files over a part of it.
        for (Bind& bind : here.binds)
            if (bind.source == "/sys") bind.source = (scratch / "sys").string();
        if (!plan.entrypoint.empty()) {
            BELAY_CHECK(offer_entry(scratch / "entry"));
            here.binds.push_back(
                {(scratch / "entry").string(), kEntryDirectory, {"bind", "nosuid", "nodev"}});
        }
        BELAY_CHECK(core::make_directories(scratch / "bundle"));
        BELAY_CHECK(core::replace_file(
            scratch / "bundle" / "config.json",
            oci_config(here, (scratch / "root").string(), squashfs_paths, identity.user, identity.group)));
        BELAY_CHECK(show_one_cgroup_version());
        BELAY_TRY(init, create());
        if (auto set = set_mount_flags(init, wanted_flags, kHolderTimes.flags); !set) {
            end_init(init);
            return std::unexpected(std::move(set.error()));
        }
        return init;
    }

    // Returns the variables that the entrypoint has set or changed.
    Result<core::Environment> enter(const ContainerPlan& plan, const core::Environment& variables,
                                    pid_t init) {
        if (plan.entrypoint.empty()) return core::Environment();
        BELAY_CHECK(tell_part(link_, HolderPart::kEntrypoint));
        BELAY_TRY(entered,
                  run_entrypoint(plan.entrypoint, variables, plan.workdir, init, scratch_ / "entry", link_));
        entered_ = std::move(entered.process);
        std::erase_if(entered.variables, [&](const auto& entry) {
            auto had = variables.find(entry.first);
            return had != variables.end() && had->second == entry.second;
        });
        return std::move(entered.variables);
    }

    // Ends what serves the mounts, what the entrypoint has started and what crun has left.
    void close() {
        entered_.reset();
        servers_.clear();
        end_descendants();
    }

    const std::vector<core::Process>& servers() const { return servers_; }

    // Whether tasks have used up what they may write.
    bool is_full() const {
        struct statfs facts{};
        return statfs(scratch_.c_str(), &facts) == 0 && facts.f_bavail == 0;
    }

  private:
    // `crun create` leaves a process of its own in the new namespaces, which waits to be started. It never
    // is: tasks join it.
    Result<pid_t> create() {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        fs::path pid_file = scratch_ / "pid";
        BELAY_TRY(program, core::find_program("crun", own_programs_environment().at("PATH")));
        // crun makes a temporary file; killed meanwhile, it would leave it in /tmp.
        core::Environment environment = own_programs_environment();
        environment["_LIBCONTAINER_STATEDIR"] = scratch_.string();
        BELAY_TRY(output, core::run({.argv = {program.string(), "--cgroup-manager=disabled", "--root",
                                              (scratch_ / "state").string(), "create", "--pid-file",
                                              pid_file.string(), "--bundle", (scratch_ / "bundle").string(),
                                              "container"},
                                     .environment = environment},
                                    {.timeout = kHolderTimes.create}));
        if (!output.status.success())
            return core::system_error("crun cannot make the container: {}",
                                      core::trim(output.err.empty() ? output.status.describe() : output.err));
        BELAY_TRY(text, core::read_file(pid_file));
        auto pid = core::parse_number<pid_t>(core::trim(text));
        if (!pid) return core::system_error("crun left \"{}\" for a process id", text);
        return *pid;
    }

    int link_;
    fs::path scratch_;
    std::vector<core::Process> servers_;
    std::optional<core::Process> entered_;
};

constexpr int kFullnessMilliseconds = 250;

// False if nothing came in time.
bool wait_for(std::vector<pollfd>& waiting, int milliseconds = -1) {
    for (;;) {
        int ready = poll(waiting.data(), waiting.size(), milliseconds);
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

// Until nobody needs the container any more; tells of what its tasks could not understand.
void watch(const Holder& holder, const HolderDescriptors& descriptors) {
    auto tell = [&](Notice notice) {
        std::string line = fmt::format("{}{}\n", kNoticePrefix, kNoticeTexts[notice]);
        (void)core::write_all(descriptors.notices, line, "notices");
    };
    std::vector<pollfd> waiting = {{.fd = descriptors.watched, .events = POLLIN, .revents = 0}};
    for (const core::Process& server : holder.servers())
        waiting.push_back({.fd = server.pidfd(), .events = POLLIN, .revents = 0});
    bool full = false;
    while (waiting[0].revents == 0) {
        if (!wait_for(waiting, full ? -1 : kFullnessMilliseconds) && holder.is_full()) {
            full = true;
            tell(kFilesFull);
        }
        for (size_t i = 1; i < waiting.size(); ++i) {
            if (waiting[i].revents == 0) continue;
            waiting[i] = {.fd = -1, .events = 0, .revents = 0};
            tell(kImageGone);
        }
    }
}

Result<HolderReply> make_ready(Holder& holder, const ContainerPlan& plan,
                               const core::Environment& variables) {
    BELAY_TRY(init, holder.build(plan));
    BELAY_TRY(changed, holder.enter(plan, variables, init));
    return HolderReply{.init = init, .variables = std::move(changed)};
}

}  // namespace

void run_holder(const ContainerPlan& plan, const core::Environment& variables,
                const HolderDescriptors& descriptors) {
    Holder holder(descriptors.link);
    auto ready = core::without_exceptions([&] { return make_ready(holder, plan, variables); });
    bool told = tell_reply(descriptors.link, ready) && ready;
    if (told) {
        std::vector<pollfd> joined = {{.fd = descriptors.link, .events = POLLIN, .revents = 0}};
        wait_for(joined);
        end_init(ready->init);
        watch(holder, descriptors);
    }
    holder.close();
}

}  // namespace belay::env
