#include "database/postgres_link.h"

#include "core/process.h"
#include "core/text.h"
#include "database/postgres_error.h"

#include <cerrno>
#include <chrono>
#include <libpq-fe.h>
#include <optional>
#include <poll.h>
#include <utility>
#include <vector>

namespace belay::database {

using core::Cause;
using core::Deadline;
using core::Error;
using core::Result;
using core::system_error;

namespace {

constexpr core::Duration kLongestConnecting = std::chrono::seconds(30);
constexpr int kOldestServer = 120000;  // 12.0, as PQserverVersion counts

// A server stops what it does for us when we are gone; those before 14 have no such setting.
constexpr const char* kSessionSql =
    "SET standard_conforming_strings = on;"
    "SELECT set_config(name, '1000', false) FROM pg_settings WHERE name = 'client_connection_check_interval'";

// libpq looks into these where a place does not say it, and would ask the name service by itself.
constexpr std::pair<const char*, const char*> kVariables[] = {{"host", "PGHOST"}, {"hostaddr", "PGHOSTADDR"}};

// A network that swallows everything is noticed after half a minute also where nobody waits with a deadline. Encryption by
// GSSAPI would ask a Kerberos server while it connects.
constexpr std::pair<const char*, const char*> kUnlessSaid[] = {{"gssencmode", "disable"},
                                                               {"keepalives_idle", "30"},
                                                               {"keepalives_interval", "10"},
                                                               {"tcp_user_timeout", "30000"}};

void say_nothing(void*, const char*) {}

std::string first_line_of(const char* text) {
    std::string_view all = core::trim(text != nullptr ? text : "");
    return std::string(core::trim(all.substr(0, all.find('\n'))));
}

bool is_error(const PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

}  // namespace

void ClearPostgres::operator()(PGconn* connection) const {
    PQfinish(connection);
}
void ClearPostgres::operator()(PGresult* result) const {
    PQclear(result);
}

PostgresServer::PostgresServer(const Place& place, const std::string& application)
    : name_(place.name), settings_(place.settings) {
    const bool says_where =
        settings_.contains("host") || settings_.contains("hostaddr") || settings_.contains("service");
    for (const auto& [keyword, variable] : kVariables)
        if (auto value = core::environment_variable(variable); value && !says_where)
            settings_[keyword] = *value;
    for (const auto& [keyword, value] : kUnlessSaid) settings_.emplace(keyword, value);
    settings_.emplace("application_name", application);
    settings_["client_encoding"] = "UTF8";
}

Result<PostgresSettings> PostgresServer::settings(const Deadline& deadline) {
    return core::with_context(
        with_addresses(settings_, [&](const std::string& host) { return lookup_.addresses(host, deadline); }),
        name_);
}

Result<PostgresLink> PostgresLink::open(PostgresServer& server, const Deadline& deadline) {
    const Deadline until = deadline.but_within(kLongestConnecting);
    BELAY_TRY(settings, server.settings(until));
    std::vector<const char*> keywords, values;
    for (const auto& [keyword, value] : settings) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    PostgresLink link(PQconnectStartParams(keywords.data(), values.data(), 0));
    if (link.get() == nullptr)
        return system_error("{}: out of memory", server.name()).because_of_errno(ENOMEM);
    PQsetErrorVerbosity(link.get(), PQERRORS_VERBOSE);  // refusal_of
    PQsetNoticeProcessor(link.get(), &say_nothing, nullptr);
    BELAY_CHECK(link.connect(server.name(), until));
    BELAY_CHECK(link.check_server(server.name()));
    if (PQsetnonblocking(link.get(), 1) != 0) return std::unexpected(link.lost());
    BELAY_CHECK(link.execute(kSessionSql, until));
    return link;
}

Result<> PostgresLink::connect(const std::string& name, const Deadline& deadline) {
    // libpq(5): the first wait is for writing.
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (PQstatus(get()) != CONNECTION_BAD && status != PGRES_POLLING_OK &&
           status != PGRES_POLLING_FAILED) {
        if (!wait_for(status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline))
            return system_error("{}: no answer in the time allowed", name).because(Cause::kUnreachable);
        status = PQconnectPoll(get());
    }
    if (PQstatus(get()) == CONNECTION_OK) return {};
    const Refusal refusal = refusal_of(PQerrorMessage(get()));
    Error error = postgres_error(refusal.sqlstate, name, refusal.why);
    if (PQconnectionNeedsPassword(get()) != 0)
        return std::unexpected(std::move(error).because(Cause::kDenied));
    // No server spoke, or it spoke of nothing that we know.
    if (error.cause() == Cause::kOther) error = std::move(error).because(Cause::kUnreachable);
    return std::unexpected(std::move(error));
}

Result<> PostgresLink::check_server(const std::string& name) const {
    if (PQserverVersion(get()) < kOldestServer)
        return core::bad_input("{}: the server is PostgreSQL {}", name,
                               PQparameterStatus(get(), "server_version"))
            .hint("use PostgreSQL 12 or newer");
    const char* encoding = PQparameterStatus(get(), "server_encoding");
    if (encoding == nullptr || std::string_view(encoding) != "UTF8")
        return core::bad_input("{}: texts of this database are {}, not UTF8", name,
                               encoding != nullptr ? encoding : "of an unknown encoding")
            .hint("make it with ENCODING 'UTF8' TEMPLATE template0");
    return {};
}

Result<short> PostgresLink::wait_for(short events, const Deadline& deadline) {
    for (;;) {
        pollfd entry{PQsocket(get()), events, 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready > 0) return entry.revents;
        if (ready < 0 && errno != EINTR) {
            is_broken_ = true;
            return core::errno_error(errno, "PostgreSQL: cannot wait for the server");
        }
        if (deadline.is_over()) {
            is_broken_ = true;
            return system_error("PostgreSQL: no answer in the time allowed").because(Cause::kTimedOut);
        }
    }
}

Result<> PostgresLink::consume() {
    if (PQconsumeInput(get()) == 0) return std::unexpected(lost());
    return {};
}

Error PostgresLink::lost() {
    is_broken_ = true;
    return postgres_error("08006", "PostgreSQL", first_line_of(PQerrorMessage(get())));  // connection_failure
}

Result<> PostgresLink::send(int sent, const Deadline& deadline) {
    last_sqlstate_.clear();
    if (is_broken_ || sent == 0) return std::unexpected(lost());
    for (;;) {
        const int left = PQflush(get());
        if (left == 0) return {};
        if (left < 0) return std::unexpected(lost());
        // A server that waits for us to read would not read either.
        BELAY_TRY(ready, wait_for(POLLIN | POLLOUT, deadline));
        if ((ready & POLLIN) != 0) BELAY_CHECK(consume());
    }
}

Result<PostgresResult> PostgresLink::next(const Deadline& deadline) {
    if (is_broken_) return std::unexpected(lost());
    while (PQisBusy(get()) != 0) {
        BELAY_CHECK(wait_for(POLLIN, deadline));
        BELAY_CHECK(consume());
    }
    return PostgresResult(PQgetResult(get()));
}

Result<> PostgresLink::finish(const Deadline& deadline) {
    std::optional<Error> first;
    for (;;) {
        auto result = next(deadline);
        if (!result && !first) first = std::move(result.error());
        if (!result || !*result) break;
        if (is_error(result->get()) && !first) first = error_of(result->get());
    }
    if (first) return std::unexpected(std::move(*first));
    return {};
}

Result<> PostgresLink::execute(const std::string& sql, const Deadline& deadline) {
    BELAY_CHECK(send(is_broken_ ? 0 : PQsendQuery(get(), sql.c_str()), deadline));
    return finish(deadline);
}

Error PostgresLink::error_of(const PGresult* result) {
    const char* code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    last_sqlstate_ = code != nullptr ? code : "";
    if (last_sqlstate_.empty() && PQstatus(get()) == CONNECTION_BAD) return lost();
    const char* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const bool is_fatal = severity != nullptr && std::string_view(severity) != "ERROR";
    if (is_fatal || ends_connection(last_sqlstate_)) is_broken_ = true;
    const char* why = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return postgres_error(last_sqlstate_, "PostgreSQL",
                          why != nullptr ? why : first_line_of(PQresultErrorMessage(result)));
}

bool PostgresLink::is_idle() {
    if (is_broken_ || PQtransactionStatus(get()) != PQTRANS_IDLE) return false;
    // Of itself a server says that it goes, and then closes.
    constexpr int kMostReads = 16;
    for (int reads = 0; reads < kMostReads; ++reads) {
        pollfd entry{PQsocket(get()), POLLIN, 0};
        if (poll(&entry, 1, 0) <= 0) return true;
        if (PQconsumeInput(get()) == 0) break;
        PQisBusy(get());  // takes what has come apart
    }
    return false;
}

bool PostgresLink::is_in_sound_transaction() const {
    return !is_broken_ && PQtransactionStatus(get()) == PQTRANS_INTRANS;
}

}  // namespace belay::database
