#include "server/belayd/daemon.h"

#include "core/host_name.h"
#include "core/log.h"
#include "http/server/server.h"
#include "server/api/block_routes.h"
#include "server/api/http_families.h"
#include "server/api/job_routes.h"
#include "server/api/people_routes.h"
#include "server/api/service_routes.h"
#include "server/belayd/daemon_families.h"
#include "server/belayd/daemon_parts.h"
#include "server/belayd/query.h"
#include "server/keeper/history_sources.h"
#include "server/keeper/housekeeping.h"
#include "server/keeper/job_keeper.h"
#include "server/live/feed.h"
#include "server/login/authenticator.h"
#include "server/login/login_routes.h"
#include "server/login/token_routes.h"
#include "server/state/job_store.h"
#include "server/state/schema.h"
#include "slurm/auth_info.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <poll.h>
#include <stop_token>
#include <sys/signalfd.h>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr core::Duration kStartWait = std::chrono::minutes(1);
constexpr core::Duration kGrace = std::chrono::seconds(10);
// A site's nodes and readers; many of them may be behind one address.
constexpr size_t kMostConnections = 16'384, kMostConnectionsOfPeer = 1024, kMostWaiting = 4096;
constexpr core::Duration kFeedInterval = std::chrono::seconds(1);
constexpr core::Duration kHouseInterval = std::chrono::minutes(1);
constexpr core::Duration kQueryTime = std::chrono::seconds(60);

// Signals that end it, as a descriptor; blocked before any thread is begun, so in all of them.
Result<core::Descriptor> block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    core::Descriptor descriptor(signalfd(-1, &signals, SFD_CLOEXEC));
    if (!descriptor) return core::errno_error(errno, "cannot wait for signals");
    return descriptor;
}

void wait_for_signal(const core::Descriptor& signals) {
    pollfd waiting{.fd = signals.get(), .events = POLLIN, .revents = 0};
    while (poll(&waiting, 1, -1) < 0 && errno == EINTR) {
    }
}

bool is_stopped_within(const std::stop_token& stop, core::Duration time) {
    std::mutex mutex;
    std::condition_variable_any waiting;
    std::unique_lock lock(mutex);
    return waiting.wait_for(lock, stop, time, [&] { return stop.stop_requested(); }) || stop.stop_requested();
}

class Daemon {
  public:
    Daemon(const DaemonOptions& options, database::Database database, std::unique_ptr<Intake> intake,
           std::unique_ptr<History> history, RecordStore records, AskedSlurm slurm)
        : options_(options),
          database_(std::move(database)),
          intake_(std::move(intake)),
          history_(std::move(history)),
          records_(std::move(records)),
          accounts_(database_),
          names_(names_of_machine(options)),
          provider_(provider_of(options)),
          authenticator_(database_, authenticator_options(), core::system_clock()),
          login_(database_, authenticator_, {.url = options.url, .provider = provider_},
                 core::system_clock()),
          tokens_(database_, authenticator_, {}, core::system_clock()),
          gate_({.database = &database_,
                 .identity = [](const http::Request& request) { return identity_in(request); },
                 .accounts = [this] { return accounts_.get(); }}),
          keeper_({.database = &database_,
                   .intake = intake_.get(),
                   .sources = sources_in(*history_),
                   .records = &records_,
                   .hub = &hub_,
                   .slurm = slurm.sources},
                  keeper_options(slurm.cluster)) {}

    Result<> run(const core::Descriptor& signals, const std::function<void(const std::string&)>& ready) {
        BELAY_TRY(router, make_router());
        BELAY_TRY(http_options, make_http_options());
        BELAY_TRY(server, http::Server::start(std::move(http_options), std::move(router)));
        server_ = &server;
        keeper_.start();
        feeder_ = std::jthread([this](const std::stop_token& stop) { feed(stop); });
        housekeeper_ = std::jthread([this](const std::stop_token& stop) { keep_house(stop); });
        const bool is_v6 = server.address().find(':') != std::string::npos;
        ready(fmt::format("{}://{}{}{}:{}", options_.uses_tls ? "https" : "http", is_v6 ? "[" : "",
                          server.address(), is_v6 ? "]" : "", server.port()));
        wait_for_signal(signals);
        server.stop(kGrace);
        feeder_ = {};
        housekeeper_ = {};
        keeper_.stop();
        server_ = nullptr;
        return {};
    }

  private:
    AuthenticatorOptions authenticator_options() const {
        std::vector<std::shared_ptr<IdentityProvider>> providers;
        if (provider_) providers.push_back(provider_);
        return {.hosts = names_,
                .staff = options_.staff,
                .providers = std::move(providers),
                .decode_munge = decode_by_munge(slurm::munge_socket_of_slurm()),
                .user_name = name_of_user};
    }
    KeeperOptions keeper_options(const std::string& cluster) const {
        KeeperOptions options{.name = fmt::format("{} on {}", options_.name, core::host_name()),
                              .cluster = cluster,
                              .slurm_interval = options_.slurm_interval};
        options.follow.grace = options_.record_delay;
        return options;
    }
    Result<http::Options> make_http_options() {
        BELAY_TRY(tls, tls_of(options_, names_));
        http::Options options;
        options.address = options_.listen.address;
        options.port = options_.listen.port;
        options.tls = std::move(tls);
        options.hosts = names_;
        options.threads = options_.threads;
        options.worker_threads = options_.workers;
        options.limits.connections = kMostConnections;
        options.limits.connections_per_peer = kMostConnectionsOfPeer;
        options.most_waiting_jobs = kMostWaiting;
        options.authenticate = authenticator_.for_server();
        return options;
    }

    // By the belayd that follows jobs alone: only it knows that what is packed was followed.
    void keep_house(const std::stop_token& stop) {
        Housekeeping house({.database = &database_, .history = history_.get()}, {});
        while (!is_stopped_within(stop, kHouseInterval)) {
            if (!keeper_.counts().has_caught_up) continue;
            const auto round = house.round();
            if (!round) core::log_warning("pack blocks: {}", round.error().headline());
            for (const std::string& removed : round ? round->removed : std::vector<std::string>())
                core::log_info("removed {}", removed);
        }
    }

    // Of running jobs that somebody reads.
    std::vector<LiveJob> live_jobs() {
        std::vector<LiveJob> jobs;
        for (const std::string& key : hub_.jobs_with_readers()) {
            const auto job = find_job(database_, key, gate_.deadline());
            if (!job || !*job || (*job)->phase == RecordPhase::kErased) continue;
            jobs.push_back({.key = key,
                            .cluster = (*job)->cluster,
                            .nodes = (*job)->nodes,
                            .from = (*job)->start.value_or((*job)->first_seen)});
        }
        return jobs;
    }
    void feed(const std::stop_token& stop) {
        LiveFeed feed(*intake_, hub_, core::system_clock());
        while (!is_stopped_within(stop, kFeedInterval))
            if (const auto done = feed.round(live_jobs()); !done)
                core::log_warning("feed events: {}", done.error().headline());
    }

    BlockReceiver block_receiver() {
        return {.accept = [this](const Upload& upload) -> Result<Accepted> {
                    BELAY_TRY(accepted, intake_->accept(upload));
                    keeper_.saw(accepted);
                    return accepted;
                },
                .may_bring =
                    [](const http::Request& request, std::string_view, std::string_view node) {
                        const auto caller = caller_in(request);
                        return caller && !caller->node.empty() &&
                               (caller->node == kAllNodes || caller->node == node);
                    }};
    }
    Result<fs::path> record_of(const Job& job) const {
        BELAY_TRY(has, records_.has(job.key));
        if (!has)
            return core::bad_input("the record of this job is not there").because(core::Cause::kNotFound);
        BELAY_TRY(place, records_.path_of(job.key));
        return place / kRecordName;
    }
    JobRecords job_records() {
        return {.record = [this](const Job& job) { return record_of(job); },
                .answer = [this](const Job& job, std::string_view file) -> Result<std::string> {
                    BELAY_TRY(record, record_of(job));
                    return core::read_file(record.parent_path() / file);
                },
                .query = [this](const Job& job, const std::string& sql) -> Result<std::string> {
                    BELAY_TRY(record, record_of(job));
                    return query_record(belay_program(), record, sql, {.time = kQueryTime});
                },
                .erase = [this](const Job& job) -> Result<> {
                    BELAY_TRY(was_there, records_.erase(job.key));
                    (void)was_there;
                    return {};
                }};
    }
    ServiceFacts service_facts() {
        return {.checks = {{"state",
                            [this] {
                                return database_.read(
                                    gate_.deadline(), [](database::Transaction& transaction) -> Result<> {
                                        BELAY_TRY(row, transaction.query_row("SELECT count(*) FROM setting"));
                                        (void)row;
                                        return {};
                                    });
                            }},
                           {"blocks",
                            [this]() -> Result<> {
                                BELAY_TRY(facts, intake_->directory().facts());
                                (void)facts;
                                return {};
                            }}},
                .families = [this] { return families(); }};
    }
    std::vector<metrics::Family> families() const {
        const http::Server* server = server_;
        std::vector<metrics::Family> families =
            http_families(server != nullptr ? server->metrics() : http::Metrics());
        for (metrics::Family& family : daemon_families({.keeper = keeper_.counts(),
                                                        .event_readers = hub_.readers(),
                                                        .block_places = intake_->places()}))
            families.push_back(std::move(family));
        return families;
    }
    std::vector<http::Route> routes() {
        std::vector<http::Route> routes = job_routes(gate_, job_records(), hub_);
        routes.push_back(block_route(block_receiver()));
        for (std::vector<http::Route> more : {people_routes(gate_), login_.routes(), tokens_.routes()})
            std::ranges::move(more, std::back_inserter(routes));
        return routes;
    }
    Result<http::Router> make_router() {
        const http::ApiInfo info{
            .title = "belayd", .version = BELAY_VERSION, .description = "Job records of a Slurm cluster."};
        BELAY_TRY(all, with_service_routes(routes(), service_facts(), info));
        return http::Router::create(std::move(all));
    }

    const DaemonOptions& options_;
    database::Database database_;
    std::unique_ptr<Intake> intake_;
    std::unique_ptr<History> history_;
    RecordStore records_;
    LiveHub hub_;
    KnownAccounts accounts_;
    std::vector<std::string> names_;
    std::shared_ptr<IdentityProvider> provider_;
    Authenticator authenticator_;
    LoginRoutes login_;
    TokenRoutes tokens_;
    Gate gate_;
    JobKeeper keeper_;
    std::jthread feeder_, housekeeper_;
    std::atomic<http::Server*> server_ = nullptr;
};

}  // namespace

Result<database::Database> open_data_state(const DaemonOptions& options, const core::Deadline& deadline) {
    BELAY_TRY(directory, core::Directory::make_guarded(options.data, 0700));
    (void)directory;
    return open_state(options.database, deadline, {.connections = options.workers, .application = "belayd"});
}

Result<> run_daemon(const DaemonOptions& options, const std::function<void(const std::string&)>& ready) {
    BELAY_TRY(signals, block_signals());
    BELAY_TRY(database, open_data_state(options, core::Deadline::after(kStartWait)));
    BELAY_TRY(intake, Intake::open(options.data / "blocks", options.name, {}));
    BELAY_TRY(history, History::open(options.data / "packed", *intake));
    BELAY_TRY(records, RecordStore::open(options.data / "records", {.belay = belay_program()}));
    BELAY_TRY(slurm, slurm_of(options));
    auto daemon = std::make_unique<Daemon>(options, std::move(database), std::move(intake),
                                           std::move(history), std::move(records), std::move(slurm));
    return daemon->run(signals, ready);
}

}  // namespace belay::server
