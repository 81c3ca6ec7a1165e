// Every way of asking for a job, for tests of who sees what: routes, and tricks by which somebody might get around them.
#pragma once

#include <array>
#include <string_view>

namespace belay::server::testing {

// What a request does with a job.
enum class Does { kSee, kChange };

// One way of asking for a job. The braces stand for its key, "#" for its number.
struct Way {
    std::string_view name, method, target;
    Does does = Does::kSee;
    std::string_view body = "", more = "";
};

constexpr std::string_view kSql = R"({"sql":"SELECT 1"})";
constexpr std::string_view kLink = R"({"hours":1,"once":false})";
constexpr std::string_view kShareProject = R"({"sharing":"project","last_words":true})";
constexpr std::array kWays = {
    Way{"the job", "GET", "/api/v1/jobs/{}"},
    Way{"the job by its number", "GET", "/api/v1/jobs/#"},
    Way{"its head", "HEAD", "/api/v1/jobs/{}"},
    Way{"the score", "GET", "/api/v1/jobs/{}/score"},
    Way{"the score by number", "GET", "/api/v1/jobs/#/score"},
    Way{"the findings", "GET", "/api/v1/jobs/{}/findings"},
    Way{"the findings by number", "GET", "/api/v1/jobs/#/findings"},
    Way{"the summary", "GET", "/api/v1/jobs/{}/summary"},
    Way{"the report", "GET", "/api/v1/jobs/{}/report"},
    Way{"the report by number", "GET", "/api/v1/jobs/#/report"},
    Way{"the head of the report", "HEAD", "/api/v1/jobs/{}/report"},
    Way{"the record", "GET", "/api/v1/jobs/{}/record"},
    Way{"the record by number", "GET", "/api/v1/jobs/#/record"},
    Way{"the head of the record", "HEAD", "/api/v1/jobs/{}/record"},
    Way{"the events", "GET", "/api/v1/jobs/{}/events"},
    Way{"the events from a number on", "GET", "/api/v1/jobs/{}/events", Does::kSee, "",
        "Last-Event-ID: 0\r\n"},
    Way{"a query", "POST", "/api/v1/jobs/{}/query", Does::kSee, kSql},
    Way{"a query by number", "POST", "/api/v1/jobs/#/query", Does::kSee, kSql},
    Way{"sharing", "PUT", "/api/v1/jobs/{}/sharing", Does::kChange, kShareProject},
    Way{"sharing by number", "PUT", "/api/v1/jobs/#/sharing", Does::kChange, kShareProject},
    Way{"erasing", "DELETE", "/api/v1/jobs/{}", Does::kChange},
    Way{"a link", "POST", "/api/v1/jobs/{}/links", Does::kSee, kLink},
    Way{"a link by number", "POST", "/api/v1/jobs/#/links", Does::kSee, kLink},
    // Tricks: the server must take these for the routes above, or for nothing.
    Way{"a name of the owner in the URL", "GET", "/api/v1/jobs/{}?user=@"},
    Way{"a role in the URL", "GET", "/api/v1/jobs/{}?role=staff&is_staff=1"},
    Way{"a header of a proxy", "GET", "/api/v1/jobs/{}", Does::kSee, "",
        "X-Forwarded-User: @\r\nX-Remote-User: @\r\n"},
    Way{"another URL in a header", "GET", "/api/v1/jobs/{}", Does::kSee, "",
        "X-Original-URL: /healthz\r\nX-Rewrite-URL: /healthz\r\n"},
    Way{"another method in a header", "GET", "/api/v1/jobs/{}", Does::kSee, "",
        "X-HTTP-Method-Override: OPTIONS\r\n"},
    Way{"a cookie of the owner", "GET", "/api/v1/jobs/{}", Does::kSee, "",
        "Cookie: user=@; __Host-belay=@\r\n"},
    Way{"an address of this machine in a header", "GET", "/api/v1/jobs/{}", Does::kSee, "",
        "X-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\n"},
    Way{"letters as escapes", "GET", "/api/v1/jobs/%61lps-#-0-~"},
    Way{"escapes twice", "GET", "/api/v1/jobs/%2561lps-#-0-~"},
    Way{"a slash at the end", "GET", "/api/v1/jobs/{}/"},
    Way{"two slashes", "GET", "/api/v1//jobs/{}"},
    Way{"a way up", "GET", "/api/v1/jobs/x/../{}"},
    Way{"a parameter of the path", "GET", "/api/v1/jobs/{};x=1"},
    Way{"a blank behind", "GET", "/api/v1/jobs/{}%20"},
    Way{"a NUL behind", "GET", "/api/v1/jobs/{}%00"},
    Way{"capitals", "GET", "/api/v1/jobs/ALPS-#-0-~"},
    Way{"a number with zeros before", "GET", "/api/v1/jobs/00#"},
    Way{"a number with a sign", "GET", "/api/v1/jobs/+#"},
    Way{"SQL for a key", "GET", "/api/v1/jobs/x'%20OR%20job_key='{}"},
    Way{"a pattern for a key", "GET", "/api/v1/jobs/alps-#-0-%25"},
    Way{"an absolute target", "GET", "http://localhost/api/v1/jobs/{}"},
    Way{"another route behind", "GET", "/api/v1/jobs/{}/score/../../{}/record"},
    Way{"a file of the record", "GET", "/api/v1/jobs/{}/record/record.json"},
};

}  // namespace belay::server::testing
