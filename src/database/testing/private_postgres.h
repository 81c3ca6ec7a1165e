// A PostgreSQL of a test's own: in a temporary directory, on a Unix socket only, as another user where the test is root.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "core/process.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::database::testing {

class PrivatePostgres {
  public:
    // Where its programs are; nothing where it is not installed.
    static std::optional<std::filesystem::path> programs();
    // One that takes connections. Errors: kSystem, with the end of its log.
    static core::Result<std::unique_ptr<PrivatePostgres>> start();
    // The one of this process, started when it is first asked for; null where PostgreSQL is not installed.
    static PrivatePostgres* shared();
    PrivatePostgres(const PrivatePostgres&) = delete;
    PrivatePostgres& operator=(const PrivatePostgres&) = delete;
    ~PrivatePostgres();

    // As libpq takes it.
    std::string place(const std::string& name = "postgres") const;
    // A new database; its place. `more` goes on after CREATE DATABASE NAME.
    core::Result<std::string> create_database(const std::string& more = "ENCODING 'UTF8' TEMPLATE template0");
    // Runs SQL that the portable subset has no words for.
    core::Result<> execute(const std::string& sql, const std::string& name = "postgres");

    // SIGKILL, and a new start. Errors: as of start.
    core::Result<> kill();
    core::Result<> start_again();
    // Connections that are there go on while the server itself stands still.
    core::Result<> signal(int number);

  private:
    PrivatePostgres(core::TemporaryDirectory directory, std::filesystem::path programs)
        : directory_(std::move(directory)), programs_(std::move(programs)) {}
    core::Command command(const std::string& program, std::vector<std::string> arguments) const;
    core::Result<> initialize();
    core::Result<bool> comes_up();
    std::string log() const;

    core::TemporaryDirectory directory_;
    std::filesystem::path programs_;
    std::optional<core::Process> server_;
    int databases_ = 0;
};

}  // namespace belay::database::testing
