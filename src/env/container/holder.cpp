#include "env/container/holder.h"

#include "core/text.h"
#include "env/container/entrypoint.h"
#include "env/container/namespaces.h"
#include "env/container/notice.h"
#include "env/container/root_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::env {

using core::Result;
namespace fs = std::filesystem;

namespace {

Result<> look_for_sources(std::vector<Bind>& binds) {
    std::erase_if(binds,
                  [](const Bind& bind) { return bind.if_present && access(bind.source.c_str(), F_OK) != 0; });
    for (const Bind& bind : binds) {
        if (access(bind.source.c_str(), F_OK) == 0) continue;
        return core::system_error("cannot mount {} on {}: {}", bind.source, bind.destination,
                                  std::generic_category().message(errno))
            .hint("it was there where the environment was read: is it on all nodes?");
    }
    return {};
}

class Holder {
  public:
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
        BELAY_CHECK(name_user(scratch / "root", identity.user, identity.group));
        ContainerPlan here = plan;
        BELAY_CHECK(look_for_sources(here.binds));
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
        return create();
    }

    // Returns the variables that the entrypoint has set or changed.
    Result<core::Environment> enter(const ContainerPlan& plan, const core::Environment& variables, pid_t init,
                                    int link) {
        if (plan.entrypoint.empty()) return core::Environment();
        BELAY_TRY(entered,
                  run_entrypoint(plan.entrypoint, variables, plan.workdir, init, scratch_ / "entry", link));
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
                                    {.timeout = kCreateTime}));
        if (!output.status.success())
            return core::system_error("crun cannot make the container: {}",
                                      core::trim(output.err.empty() ? output.status.describe() : output.err));
        BELAY_TRY(text, core::read_file(pid_file));
        auto pid = core::parse_number<pid_t>(core::trim(text));
        if (!pid) return core::system_error("crun left \"{}\" for a process id", text);
        return *pid;
    }

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
        (void)core::write_all(descriptors.notices.get(), line, "notices");
    };
    std::vector<pollfd> waiting = {{.fd = descriptors.watched.get(), .events = POLLIN, .revents = 0}};
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

Result<HolderReply> make_ready(Holder& holder, const ContainerPlan& plan, const core::Environment& variables,
                               int link) {
    BELAY_TRY(init, holder.build(plan));
    BELAY_TRY(changed, holder.enter(plan, variables, init, link));
    return HolderReply{.init = init, .error = {}, .variables = std::move(changed)};
}

// Whatever else is open belongs to the tasks: their end, and slurmstepd's, must be seen by others.
void close_all_but(std::array<int, 3> kept) {
    std::ranges::sort(kept);
    int next = STDERR_FILENO + 1;
    for (int fd : kept) {
        if (fd > next) close_range(static_cast<unsigned>(next), static_cast<unsigned>(fd) - 1, 0);
        next = std::max(next, fd + 1);
    }
    close_range(static_cast<unsigned>(next), ~0U, 0);
}

// What a program in the foreground gets from the terminal is not for its holder.
void step_aside() {
    prctl(PR_SET_NAME, "belay-holder");
    setsid();
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
        std::signal(signal, SIG_IGN);
    std::signal(SIGIO, SIG_DFL);
    std::signal(SIGCHLD, SIG_DFL);
    if (auto quiet = core::open_file("/dev/null", O_RDWR)) {
        dup2(quiet->get(), STDIN_FILENO);
        dup2(quiet->get(), STDOUT_FILENO);
        dup2(quiet->get(), STDERR_FILENO);
    }
}

}  // namespace

std::string encode(const HolderReply& reply) {
    if (!reply.error) {
        std::string text = fmt::format("ok {}", reply.init);
        for (const auto& [name, value] : reply.variables) text += fmt::format("{}{}={}", '\0', name, value);
        return text;
    }
    return fmt::format("error {}\n{}\n{}", reply.error->exit_status(), reply.error->message(),
                       reply.error->hint_text());
}

Result<HolderReply> decode_holder_reply(std::string_view text) {
    if (text.starts_with("ok ")) {
        auto words = core::split(text.substr(3), '\0');
        if (auto pid = core::parse_number<pid_t>(words.at(0)); pid && *pid > 0) {
            words.erase(words.begin());
            return HolderReply{.init = *pid, .error = {}, .variables = variables_of(words)};
        }
    }
    if (text.starts_with("error ")) {
        // The message may have several lines (what crun says), the hint is the last.
        size_t first = text.find('\n');
        size_t last = text.rfind('\n');
        if (first != std::string_view::npos && last > first) {
            auto kind =
                text.substr(6, first - 6) == "2" ? core::ErrorKind::kBadInput : core::ErrorKind::kSystem;
            core::Error error(kind, std::string(text.substr(first + 1, last - first - 1)));
            if (last + 1 < text.size()) error = std::move(error).hint(text.substr(last + 1));
            return HolderReply{.init = -1, .error = std::move(error)};
        }
    }
    return core::system_error("the container's holder ended without a word")
        .hint("look for a process that was killed for want of memory: dmesg");
}

void run_holder(const ContainerPlan& plan, const core::Environment& variables,
                HolderDescriptors descriptors) {
    step_aside();
    close_all_but({descriptors.link.get(), descriptors.watched.get(), descriptors.notices.get()});
    Holder holder;
    int link = descriptors.link.get();
    Result<HolderReply> ready = make_ready(holder, plan, variables, link);
    bool told =
        core::write_all(link, encode(ready ? *ready : HolderReply{.error = ready.error()}), "link") && ready;
    shutdown(link, SHUT_WR);
    if (told) {
        std::vector<pollfd> joined = {{.fd = link, .events = POLLIN, .revents = 0}};
        wait_for(joined);
        kill(ready->init, SIGKILL);
        waitpid(ready->init, nullptr, 0);
        watch(holder, descriptors);
    }
    holder.close();
    _exit(0);
}

}  // namespace belay::env
