#include "database/testing/private_postgres.h"

#include "core/text.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <libpq-fe.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace belay::database::testing {

using core::Deadline;
using core::Result;
using core::system_error;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;  // the server refuses to run as root

struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
    void operator()(PGresult* result) const { PQclear(result); }
};

int version_of(const fs::path& bin) {
    return core::parse_number<int>(bin.parent_path().filename().string()).value_or(0);
}

}  // namespace

std::optional<fs::path> PrivatePostgres::programs() {
    std::optional<fs::path> newest;
    std::error_code none;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
        const fs::path bin = version.path() / "bin";
        if (fs::exists(bin / "initdb", none) && (!newest || version_of(bin) > version_of(*newest)))
            newest = bin;
    }
    return newest;
}

Result<std::unique_ptr<PrivatePostgres>> PrivatePostgres::start() {
    auto found = programs();
    if (!found) return system_error("PostgreSQL is not installed").because(core::Cause::kNotFound);
    BELAY_TRY(directory, core::TemporaryDirectory::create("belay-pg"));
    std::unique_ptr<PrivatePostgres> server(new PrivatePostgres(std::move(directory), std::move(*found)));
    BELAY_CHECK(server->initialize());
    BELAY_CHECK(server->start_again());
    return server;
}

PrivatePostgres* PrivatePostgres::shared() {
    static const auto server = programs() ? start().value() : nullptr;
    return server.get();
}

PrivatePostgres::~PrivatePostgres() {
    if (!server_) return;
    (void)server_->kill(SIGCONT);
    (void)server_->kill(SIGQUIT);  // "immediate shutdown"
    (void)server_->wait_for(10s);
}

core::Command PrivatePostgres::command(const std::string& program, std::vector<std::string> arguments) const {
    core::Command command{.argv = {}, .working_directory = directory_.path(), .parent_death_signal = SIGQUIT};
    // To become another user clears the signal of the parent's death.
    if (geteuid() == 0)
        command.argv = {"setpriv",
                        fmt::format("--reuid={}", kNobody),
                        fmt::format("--regid={}", kNobody),
                        "--clear-groups",
                        "--pdeathsig=QUIT",
                        "--"};
    command.argv.push_back((programs_ / program).string());
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    return command;
}

Result<> PrivatePostgres::initialize() {
    if (geteuid() == 0 && chown(directory_.path().c_str(), kNobody, kNobody) != 0)
        return core::errno_error(errno, "cannot give a directory away");
    auto initdb = command("initdb", {"--pgdata=" + (directory_.path() / "data").string(), "--username=belay",
                                     "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"});
    BELAY_CHECK(core::output_of(initdb, {.timeout = 300s}));
    return {};
}

Result<> PrivatePostgres::start_again() {
    // After a kill it does not start before the last of its processes has gone.
    for (auto until = Deadline::after(120s); !until.is_over(); std::this_thread::sleep_for(20ms)) {
        BELAY_TRY(came, comes_up());
        if (came) return {};
    }
    return system_error("PostgreSQL does not start: {}", log());
}

Result<bool> PrivatePostgres::comes_up() {
    BELAY_TRY(output, core::open_file(directory_.path() / "log", O_WRONLY | O_CREAT | O_APPEND));
    const std::string directory = directory_.path().string();
    auto postgres = command(
        "postgres", {"-D", directory + "/data", "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off",
                     "-c", "max_connections=40", "-c", "shared_buffers=16MB", "-c", "lc_messages=C"});
    postgres.stdout_fd = postgres.stderr_fd = output.get();
    BELAY_TRY(process, core::spawn(postgres));
    server_.emplace(std::move(process));
    for (;;) {
        BELAY_TRY(status, server_->wait_for(10ms));
        if (status) return false;
        if (PQping(place().c_str()) == PQPING_OK) return true;
    }
}

std::string PrivatePostgres::log() const {
    auto text = core::read_file(directory_.path() / "log").value_or("");
    return text.substr(text.size() - std::min<size_t>(text.size(), 500));
}

std::string PrivatePostgres::place(const std::string& name) const {
    return fmt::format("host={} user=belay dbname={}", directory_.path().string(), name);
}

Result<> PrivatePostgres::execute(const std::string& sql, const std::string& name) {
    const std::unique_ptr<PGconn, Finish> connection(PQconnectdb(place(name).c_str()));
    const std::unique_ptr<PGresult, Finish> result(PQexec(connection.get(), sql.c_str()));
    const auto status = PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return {};
    return system_error("{}", PQerrorMessage(connection.get()));
}

Result<std::string> PrivatePostgres::create_database(const std::string& more) {
    const std::string name = fmt::format("test_{}_{}", getpid(), ++databases_);
    BELAY_CHECK(execute(fmt::format("CREATE DATABASE {} {}", name, more)));
    return place(name);
}

Result<> PrivatePostgres::kill() {
    // Its children end when they see it gone.
    BELAY_CHECK(server_->end());
    return {};
}

Result<> PrivatePostgres::signal(int number) {
    return server_->kill(number);
}

}  // namespace belay::database::testing
