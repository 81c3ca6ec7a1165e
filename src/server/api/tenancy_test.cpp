// Every route of jobs, by every way of naming one, asked by people who may and may not see it: 80 projects, 2,000 users, on both
// engines. A miss is an answer about a job to somebody who may not see it, or none to somebody who may.
#include "database/testing/fixture.h"
#include "http/server/testing/server.h"
#include "server/api/job_routes.h"
#include "server/api/people_routes.h"
#include "server/api/tenancy_site.h"
#include "server/api/tenancy_ways.h"
#include "server/state/job_store.h"
#include "server/state/schema.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::server {
namespace {

using database::soon;
using http::testing::Answer;
using testing::Does;
using testing::kLink;
using testing::kShareProject;
using testing::kWays;
using testing::make_site;
using testing::Site;
using testing::SiteUser;
using testing::Way;

constexpr size_t kJobs = 1500;
constexpr std::string_view kUserHeader = "x-test-user";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    return text;
}

std::string fill_in(std::string_view text, const Job& job) {
    std::string filled = replaced(std::string(text), "{}", job.key);
    filled = replaced(std::move(filled), "#", std::to_string(job.id));
    filled = replaced(std::move(filled), "~", job.key.substr(job.key.rfind('-') + 1));
    return replaced(std::move(filled), "@", job.user);
}

std::string request_of(const Way& way, const Job& job, const std::string& user) {
    std::string request = std::string(way.method) + " " + fill_in(way.target, job) +
                          " HTTP/1.1\r\nHost: localhost\r\n" + std::string(kUserHeader) + ": " + user +
                          "\r\n" + fill_in(way.more, job);
    if (!way.body.empty() || way.method == "PUT" || way.method == "POST")
        request += "Content-Length: " + std::to_string(way.body.size()) + "\r\n";
    return request + "\r\n" + std::string(way.body);
}

// What an answer may hold only where the job is visible: its name, its nodes, its owner as a value, or its record.
bool speaks_of(const Answer& answer, const Job& job) {
    return answer.body.find('"' + job.name + '"') != std::string::npos ||
           answer.body.find("secret-of-" + job.key) != std::string::npos;
}

class Tenancy : public database::OnEngine {
  protected:
    void SetUp() override {
        OnEngine::SetUp();
        if (IsSkipped()) return;
        site_ = make_site(kJobs, 20261129);
        database_ = std::make_unique<database::Database>(open_state(place(), soon()).value());
        ASSERT_TRUE(replace_accounts(*database_, site_.rows(), soon()));
        const core::Time now = core::system_clock().now();
        const auto put = database_->write(soon(), [&](database::Transaction& transaction) -> core::Result<> {
            for (const Job& job : site_.jobs) {
                BELAY_CHECK(put_job(transaction, job, now));
                BELAY_TRY(shared, set_sharing(transaction, job.key, {job.sharing, false}, now));
                EXPECT_TRUE(shared);
            }
            return {};
        });
        ASSERT_TRUE(put) << put.error().render();
        tree_ = std::make_shared<const AccountTree>(load_accounts(*database_, soon()).value());
        std::ofstream(record_.path() / "record.json") << "secret";
        begin();
    }

    void begin() {
        gate_ = std::make_unique<Gate>(
            GateParts{.database = database_.get(),
                      .identity = [this](const http::Request& request) -> http::Checked<Identity> {
                          return identity_of_request(request);
                      },
                      .accounts = [this] { return tree_; }});
        auto secret = [](const Job& job) { return "{\"secret\":\"secret-of-" + job.key + "\"}"; };
        JobRecords records = {
            .record = [this](const Job&) -> core::Result<std::filesystem::path> { return record_.path(); },
            .answer = [secret](const Job& job, std::string_view) -> core::Result<std::string> {
                return secret(job);
            },
            .query = [secret](const Job& job, const std::string&) -> core::Result<std::string> {
                return secret(job);
            },
            .erase = [](const Job&) -> core::Result<> { return {}; }};
        std::vector<http::Route> routes = job_routes(*gate_, std::move(records), hub_);
        std::ranges::move(people_routes(*gate_), std::back_inserter(routes));
        http::Options options = http::testing::local_options();
        // Readers of events that have gone are noticed when something is sent to them.
        options.limits.heartbeat_interval = std::chrono::milliseconds(100);
        options.limits.connections_per_peer = options.limits.connections;
        options.authenticate = [](const http::Request& request) -> http::Task<http::Checked<http::Identity>> {
            co_return http::Checked<http::Identity>(
                http::Identity{std::string(request.headers.find(kUserHeader).value_or(""))});
        };
        server_.emplace(http::testing::start_server(std::move(routes), std::move(options)));
    }

    // Users are known once, not by a query for each request.
    http::Checked<Identity> identity_of_request(const http::Request& request) {
        const std::string name = request.identity ? request.identity->name : "";
        const std::lock_guard lock(mutex_);
        auto known = identities_.find(name);
        if (known == identities_.end()) {
            auto identity = identity_of(*database_, name, soon());
            if (!identity) return std::unexpected(refusal_of(identity.error(), "identity"));
            identity->is_staff = std::ranges::any_of(
                site_.users, [&](const SiteUser& user) { return user.name == name && user.is_staff; });
            known = identities_.emplace(name, std::move(*identity)).first;
        }
        Identity identity = known->second;
        if (scope_) identity.scope = *scope_;
        return identity;
    }

    // Events have no end: their head says whether they are given.
    Answer ask(const Way& way, const Job& job, const std::string& user) {
        http::testing::RawClient client(server_->port());
        EXPECT_TRUE(client.send(request_of(way, job, user)));
        if (way.target.find("/events") == std::string_view::npos)
            return client.read_answer(way.method == "HEAD");
        Answer answer;
        const std::string head = client.read_some();
        answer.status = head.starts_with("HTTP/1.1 200") ? 200 : head.starts_with("HTTP/1.1 404") ? 404 : 0;
        return answer;
    }

    Site site_;
    std::unique_ptr<database::Database> database_;
    std::shared_ptr<const AccountTree> tree_;
    std::unique_ptr<Gate> gate_;
    LiveHub hub_;
    core::TemporaryDirectory record_ = core::TemporaryDirectory::create().value();
    std::mutex mutex_;
    std::map<std::string, Identity> identities_;
    std::optional<Scope> scope_;
    std::optional<http::Server> server_;
};

// People to whom a job may or may not be visible: its owner, a few of its project and above, staff, and strangers.
std::vector<SiteUser> askers_of(const Site& site, const Job& job, std::mt19937& random) {
    std::vector<SiteUser> askers;
    const auto add_named = [&](const std::string& name) {
        const auto user = std::ranges::find(site.users, name, &SiteUser::name);
        if (user != site.users.end()) askers.push_back(*user);
    };
    add_named(job.user);
    std::string project = job.account;
    while (!project.empty()) {
        for (const auto* people : {&site.members, &site.managers})
            if (const auto names = people->find(project); names != people->end() && !names->second.empty())
                add_named(*std::next(names->second.begin(),
                                     static_cast<ptrdiff_t>(random() % names->second.size())));
        const auto parent = site.parents.find(project);
        project = parent == site.parents.end() ? "" : parent->second;
    }
    for (int i = 0; i < 3; ++i) askers.push_back(site.users[random() % site.users.size()]);
    askers.push_back({"nobody-known"});
    return askers;
}

TEST_P(Tenancy, no_way_shows_a_job_to_somebody_who_may_not_see_it) {
    std::mt19937 random(1);
    size_t seen = 0, hidden = 0, changed = 0;
    for (size_t round = 0; round < 20; ++round) {
        const Job& job = site_.jobs[random() % site_.jobs.size()];
        for (const SiteUser& user : askers_of(site_, job, random)) {
            const bool is_visible = site_.is_visible(job, user);
            for (const Way& way : kWays) {
                if (way.does == Does::kChange && site_.may_change(job, user))
                    continue;  // by a test of its own
                const Answer answer = ask(way, job, user.name);
                const std::string who =
                    user.name + ", " + std::string(way.name) + ", " + job.key + " of " + job.user;
                ASSERT_NE(answer.status, 0) << who;
                if (way.does == Does::kChange) {
                    EXPECT_EQ(answer.status, is_visible ? 403 : 404) << who;
                    ++changed;
                } else if (!is_visible) {
                    EXPECT_GE(answer.status, 400) << who;
                    EXPECT_NE(answer.status, 403) << who;
                    EXPECT_FALSE(speaks_of(answer, job)) << who;
                    ++hidden;
                } else {
                    // Of the tricks some are refused; the plain routes give what they have.
                    const bool is_plain = &way - kWays.data() < 18;
                    EXPECT_TRUE(!is_plain || answer.status == 200) << who << answer.body;
                    ++seen;
                }
            }
        }
    }
    EXPECT_GT(seen, 500u);
    EXPECT_GT(hidden, 1000u);
    EXPECT_GT(changed, 200u);
}

TEST_P(Tenancy, a_list_has_all_that_one_may_see_and_nothing_else) {
    std::mt19937 random(2);
    std::vector<SiteUser> askers;
    for (int i = 0; i < 25; ++i) askers.push_back(site_.users[random() % site_.users.size()]);
    for (const auto& [project, names] : site_.managers)
        if (askers.size() < 35 && !names.empty()) askers.push_back({*names.begin(), false});
    for (const SiteUser& asked : askers) {
        const SiteUser user = *std::ranges::find(site_.users, asked.name, &SiteUser::name);
        std::set<std::string> expected, listed;
        for (const Job& job : site_.jobs)
            if (site_.is_visible(job, user)) expected.insert(job.key);
        std::string cursor;
        for (int page = 0; page < 100; ++page) {
            http::testing::RawClient client(server_->port());
            const Answer answer =
                client.ask("GET /api/v1/jobs?limit=97&cursor=" + cursor + " HTTP/1.1\r\nHost: localhost\r\n" +
                           std::string(kUserHeader) + ": " + user.name + "\r\n\r\n");
            ASSERT_EQ(answer.status, 200) << answer.body;
            const auto body = nlohmann::json::parse(answer.body);
            for (const auto& job : body.at("jobs"))
                EXPECT_TRUE(listed.insert(job.at("key")).second) << "twice";
            if (body.at("next").is_null()) break;
            cursor = body.at("next");
        }
        EXPECT_EQ(listed, expected) << user.name;
    }
}

TEST_P(Tenancy, conditions_narrow_a_list_and_never_widen_it) {
    std::mt19937 random(3);
    const auto escaped = [](const std::string& text) {
        return replaced(replaced(text, "%", "%25"), " ", "%20");
    };
    for (int round = 0; round < 40; ++round) {
        const Job& job = site_.jobs[random() % site_.jobs.size()];
        const SiteUser& user = site_.users[random() % site_.users.size()];
        const bool is_visible = site_.is_visible(job, user);
        for (const std::string& condition :
             {"user=" + job.user, "account=" + job.account, "node=" + job.nodes.front(), "name=" + job.name,
              std::string("name=train-"), std::string("state=RUNNING"), std::string("name=%25"),
              std::string("name=_"), "user=" + escaped("x' OR '1'='1"),
              "account=" + escaped("x' UNION SELECT * FROM token --"),
              std::string("since=2020-01-01T00:00:00Z"), std::string("until=2100-01-01T00:00:00Z")}) {
            http::testing::RawClient client(server_->port());
            const Answer answer =
                client.ask("GET /api/v1/jobs?limit=1000&" + condition + " HTTP/1.1\r\nHost: localhost\r\n" +
                           std::string(kUserHeader) + ": " + user.name + "\r\n\r\n");
            ASSERT_EQ(answer.status, 200) << condition << answer.body;
            for (const auto& listed : nlohmann::json::parse(answer.body).at("jobs")) {
                const auto known =
                    std::ranges::find(site_.jobs, listed.at("key").get<std::string>(), &Job::key);
                ASSERT_NE(known, site_.jobs.end());
                EXPECT_TRUE(site_.is_visible(*known, user))
                    << condition << " shows " << known->key << " to " << user.name;
            }
            EXPECT_TRUE(is_visible || !speaks_of(answer, job)) << condition;
        }
    }
}

TEST_P(Tenancy, a_token_for_one_job_shows_no_other_and_an_expired_one_nothing) {
    const Job& job = site_.jobs[7];
    const auto other = std::ranges::find_if(
        site_.jobs, [&](const Job& one) { return one.user == job.user && one.key != job.key; });
    constexpr Way kShow{"the job", "GET", "/api/v1/jobs/{}"};
    constexpr Way kShare{"sharing", "PUT", "/api/v1/jobs/{}/sharing", Does::kChange, kShareProject};
    const core::Time now = core::system_clock().now();
    scope_ = Scope{.may_change = false, .job = job.key, .expires = now + std::chrono::hours(1)};
    EXPECT_EQ(ask(kShow, job, job.user).status, 200);
    EXPECT_EQ(ask(kShare, job, job.user).status, 403);
    ASSERT_NE(other, site_.jobs.end());
    EXPECT_EQ(ask(kShow, *other, job.user).status, 404);
    scope_->expires = now - std::chrono::seconds(1);
    EXPECT_EQ(ask(kShow, job, job.user).status, 404);
    scope_.reset();
    EXPECT_EQ(ask(kShare, job, job.user).status, 200);
}

TEST_P(Tenancy, what_was_erased_is_there_for_nobody) {
    const Job& job = site_.jobs[11];
    constexpr Way kErase{"erasing", "DELETE", "/api/v1/jobs/{}", Does::kChange};
    EXPECT_EQ(ask(kErase, job, job.user).status, 204);
    const auto staff = std::ranges::find_if(site_.users, &SiteUser::is_staff);
    for (const Way& way : kWays)
        for (const std::string& user : {job.user, staff->name}) {
            const Answer answer = ask(way, job, user);
            EXPECT_GE(answer.status, 400) << way.name;
            EXPECT_FALSE(speaks_of(answer, job)) << way.name;
        }
    EXPECT_EQ(database::number_of(*database_, "SELECT count(*) FROM audit"), 0);
}

TEST_P(Tenancy, what_staff_sees_is_written_down) {
    const auto staff = std::ranges::find_if(site_.users, &SiteUser::is_staff);
    const auto job = std::ranges::find_if(site_.jobs, [&](const Job& one) {
        return one.user != staff->name && !site_.is_managed_by(one.account, staff->name) &&
               one.sharing == Sharing::kOwner;
    });
    ASSERT_NE(job, site_.jobs.end());
    EXPECT_EQ(ask(kWays[0], *job, staff->name).status, 200);
    EXPECT_EQ(database::number_of(
                  *database_, "SELECT count(*) FROM audit WHERE who = ? AND job_key = ? AND owner_name = ?",
                  {staff->name, job->key, job->user}),
              1);
    EXPECT_EQ(ask(kWays[0], *job, job->user).status, 200);
    EXPECT_EQ(database::number_of(*database_, "SELECT count(*) FROM audit"), 1);
}

TEST_P(Tenancy, what_is_kept_of_a_person_and_who_looked_is_not_everybodys) {
    const auto get = [this](const std::string& target, const std::string& user) {
        http::testing::RawClient client(server_->port());
        return client.ask("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(kUserHeader) +
                          ": " + user + "\r\n\r\n");
    };
    const auto staff = std::ranges::find_if(site_.users, &SiteUser::is_staff);
    const Job& job = site_.jobs[3];
    const std::string own = "/api/v1/users/" + job.user + "/export";
    const Answer exported = get(own, job.user);
    EXPECT_EQ(exported.status, 200) << exported.body;
    EXPECT_NE(exported.body.find(job.key), std::string::npos);
    EXPECT_EQ(get(own, "nobody-known").status, 404);
    EXPECT_EQ(get("/api/v1/users//export", job.user).status, 400);
    EXPECT_EQ(get(own, staff->name).status, 200);
    EXPECT_EQ(get("/api/v1/audit", job.user).status, 404);
    const Answer audit = get("/api/v1/audit?who=" + staff->name, staff->name);
    ASSERT_EQ(audit.status, 200) << audit.body;
    EXPECT_EQ(nlohmann::json::parse(audit.body).at("entries").back().at("what"),
              "GET /api/v1/users/{user}/export");
}

TEST_P(Tenancy, links_are_made_within_bounds) {
    const Job& job = site_.jobs[5];
    const auto made = [&](std::string_view body) {
        return ask({"a link", "POST", "/api/v1/jobs/{}/links", Does::kSee, body}, job, job.user);
    };
    const Answer link = made(kLink);
    ASSERT_EQ(link.status, 201) << link.body;
    EXPECT_TRUE(nlohmann::json::parse(link.body).at("path").get<std::string>().starts_with("/auth/link/"));
    for (const char* body :
         {"{}", "[]", "x", R"({"hours":0})", R"({"hours":99999})", R"({"hours":18446744073709551615})",
          R"({"hours":1.5})", R"({"hours":1,"once":1})"})
        EXPECT_EQ(made(body).status, 400) << body;
}

INSTANTIATE_TEST_SUITE_P(server_api, Tenancy,
                         ::testing::Values(database::Engine::kSqlite, database::Engine::kPostgres),
                         [](const auto& engine) {
                             return engine.param == database::Engine::kSqlite ? "sqlite" : "postgres";
                         });

}  // namespace
}  // namespace belay::server
