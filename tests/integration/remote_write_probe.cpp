// What tests/integration/remote_write asks of a receiver of metrics:
//   remote_write_probe send URL [CREDENTIALS [CA]]    sends the samples, trying again until they are delivered or refused;
//                                                     prints how many were delivered and how many refused
//   remote_write_probe compare BASE [CREDENTIALS]     what PromQL makes of them is what the samples say; prints how many
//                                                     numbers were compared
// CREDENTIALS is a file with USER:PASSWORD, or - for none; CA a file of authorities.
#include "core/deadline.h"
#include "core/fetch/http.h"
#include "core/json.h"
#include "core/text.h"
#include "metrics/remote/credentials.h"
#include "metrics/remote/http_post.h"
#include "metrics/remote/sender.h"
#include "metrics/remote/stale.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace belay {
namespace {

using core::bad_input;
using core::Result;
using namespace std::chrono_literals;
namespace remote = metrics::remote;

constexpr int64_t kBegin = 1'700'000'000;  // seconds
constexpr int64_t kInterval = 10;
constexpr int64_t kTicks = 720;
constexpr int64_t kSilence = 35;  // seconds after which a series has ended

struct Value {
    int64_t second;
    double value;
};
struct Expected {
    metrics::Labels labels;
    std::vector<Value> values;
    bool ends = false;  // before the others
};

constexpr const char* kMetric = "belay_probe_watts";

// The same each time. What is stored is decimal, so the values have few digits.
std::vector<Expected> expected_series() {
    std::mt19937_64 random(7);
    std::vector<Expected> all{{{{"node", "n1"}, {"device", "GPU-1"}}, {}},
                              {{{"node", "n1"}, {"device", "GPU-2"}}, {}},
                              {{{"node", "n2"}, {"device", "hostile \"\\\n{}, \xc3\xa9 \xff"}}, {}},
                              {{{"node", "n2"}, {"device", "ends"}}, {}, true}};
    for (Expected& one : all)
        for (int64_t tick = 0; tick < (one.ends ? kTicks / 2 : kTicks); ++tick)
            one.values.push_back(
                {kBegin + tick * kInterval, static_cast<double>(random() % 1'000'000) / 1000 - 300});
    return all;
}

core::Time time_at(int64_t second) {
    return core::time_from_nanoseconds(second * 1'000'000'000);
}

// In pushes of a minute, as an agent would, each followed by the markers of series that have ended.
Result<> push_all(remote::Sender& sender) {
    const std::vector<Expected> all = expected_series();
    remote::StaleTracker tracker{std::chrono::seconds(kSilence)};
    for (int64_t begin = kBegin; begin < kBegin + kTicks * kInterval; begin += 60) {
        metrics::Family family{.name = kMetric, .unit = "watts", .help = "made up"};
        for (const Expected& one : all)
            for (const Value& value : one.values)
                if (value.second >= begin && value.second < begin + 60)
                    family.samples.push_back({one.labels, value.value, time_at(value.second)});
        const std::vector families{family};
        BELAY_TRY(series, remote::series_of(families, time_at(begin), {{"cluster", "probe"}}));
        BELAY_CHECK(sender.push(series, remote::metadata_of(families)));
        tracker.saw(series);
        BELAY_CHECK(sender.push(tracker.ended(time_at(begin + 50))));
    }
    return {};
}

Result<std::string> send(std::span<const std::string> words) {
    const std::string credentials = words.size() > 1 && words[1] != "-" ? words[1] : "";
    remote::SenderOptions options{
        .url = words[0], .batch = {.samples = 17}, .first_delay = 100ms, .longest_delay = 1s};
    options.user_agent = "belay-probe";
    options.tell = [](const std::string& message) { fmt::print(stderr, "{}\n", message); };
    if (!credentials.empty())
        options.authorization = [=] {
            return remote::read_authorization(credentials, remote::CredentialKind::kBasic);
        };
    remote::Sender sender(options, remote::http_post({.ca_file = words.size() > 2 ? words[2] : ""}),
                          core::system_clock());
    BELAY_CHECK(push_all(sender));
    const core::Deadline deadline = core::Deadline::after(60s);
    while (auto next = sender.send_due()) {
        if (deadline.is_over()) return bad_input("gave up");
        core::system_clock().sleep_until(core::system_clock().monotonic() + *next);
    }
    return fmt::format("{} delivered, {} refused", sender.counts().delivered, sender.counts().refused);
}

class Receiver {
  public:
    explicit Receiver(std::span<const std::string> words)
        : base_(words[0]), client_({}, core::system_clock()) {
        if (words.size() > 1 && words[1] != "-") credentials_ = words[1];
    }

    Result<std::string> get(const std::string& path) {
        core::fetch::HttpRequest request{.url = base_ + path};
        if (!credentials_.empty()) {
            BELAY_TRY(authorization,
                      remote::read_authorization(credentials_, remote::CredentialKind::kBasic));
            request.authorization = authorization;
        }
        BELAY_TRY(answer, client_.get(request, 1 << 20));
        if (!answer.success()) return bad_input("{} answers {}: {}", path, answer.status, answer.body);
        return answer.body;
    }

    // The numbers that a query gives at a time, as the receiver writes them.
    Result<std::vector<std::string>> ask(const std::string& query, int64_t second) {
        BELAY_TRY(body, get(fmt::format("/api/v1/query?nocache=1&time={}&query={}", second,
                                        core::fetch::url_encode(query))));
        auto json = core::parse_json(body);
        if (!json.is_object() || json.value("status", "") != "success")
            return bad_input("{}: {}", query, body);
        std::vector<std::string> numbers;
        for (const auto& one : json["data"]["result"]) numbers.push_back(one["value"][1].get<std::string>());
        return numbers;
    }

  private:
    std::string base_;
    std::string credentials_;
    core::fetch::HttpClient client_;
};

std::string selector(const Expected& one) {
    std::string text = fmt::format("{}{{cluster=\"probe\"", kMetric);
    for (const auto& [name, value] : metrics::identity_of(one.labels)) {
        text += fmt::format(",{}=\"", name);
        for (char c : value)
            text += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        text += '"';
    }
    return text + "}";
}

struct Function {
    const char* name;
    double (*of)(std::span<const double>);
    double tolerance;  // relative
};
// VictoriaMetrics keeps decimal digits, of which fifteen or so are right.
constexpr Function kFunctions[] = {
    {"min_over_time", [](std::span<const double> values) { return std::ranges::min(values); }, 1e-14},
    {"max_over_time", [](std::span<const double> values) { return std::ranges::max(values); }, 1e-14},
    {"count_over_time", [](std::span<const double> values) { return static_cast<double>(values.size()); }, 0},
    // Receivers add up in an order of their own.
    {"avg_over_time",
     [](std::span<const double> values) {
         double sum = 0;
         for (double value : values) sum += value;
         return sum / static_cast<double>(values.size());
     },
     1e-12},
};

// Windows end between two samples, so that nobody has to say which end is inside.
Result<int> compare_window(Receiver& receiver, const Expected& one, int64_t end, int64_t seconds) {
    std::vector<double> values;
    for (const Value& value : one.values)
        if (value.second > end - seconds && value.second <= end) values.push_back(value.value);
    for (const Function& function : kFunctions) {
        const std::string query = fmt::format("{}({}[{}s])", function.name, selector(one), seconds);
        BELAY_TRY(numbers, receiver.ask(query, end));
        if (numbers.size() != (values.empty() ? 0 : 1))
            return bad_input("{} at {}: {} answers", query, end, numbers.size());
        if (values.empty()) continue;
        const double wanted = function.of(values);
        auto got = core::parse_number<double>(numbers[0]);
        if (!got || !(std::abs(*got - wanted) <= function.tolerance * std::abs(wanted)))
            return bad_input("{} at {}: {}, but the samples say {}", query, end, numbers[0], wanted);
    }
    return static_cast<int>(std::size(kFunctions));
}

// A series that has ended is gone at once, and not only when its last value is too old.
Result<int> compare_end(Receiver& receiver, const Expected& one) {
    const int64_t last = one.values.back().second;
    BELAY_TRY(before, receiver.ask(selector(one), last + kSilence - 1));
    BELAY_TRY(after, receiver.ask(selector(one), last + kSilence + 1));
    const size_t wanted = one.ends ? 0 : 1;
    if (before.size() != 1 || after.size() != wanted)
        return bad_input("{}: {} answers before its end, {} after it", selector(one), before.size(),
                         after.size());
    return 2;
}

Result<std::string> compare(std::span<const std::string> words) {
    Receiver receiver(words);
    BELAY_CHECK(receiver.get("/internal/force_flush"));
    int compared = 0;
    for (const Expected& one : expected_series()) {
        for (int64_t seconds : {60, 600, 3600})
            for (int64_t end = kBegin + 605; end <= kBegin + kTicks * kInterval; end += 1200) {
                BELAY_TRY(count, compare_window(receiver, one, end, seconds));
                compared += count;
            }
        BELAY_TRY(count, compare_end(receiver, one));
        compared += count;
    }
    return fmt::format("{} compared", compared);
}

Result<std::string> answer(std::span<const std::string> words) {
    if (words.size() >= 2 && words.size() <= 4 && words[0] == "send") return send(words.subspan(1));
    if (words.size() >= 2 && words.size() <= 3 && words[0] == "compare") return compare(words.subspan(1));
    return bad_input("wrong usage");
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    auto text = belay::answer(words);
    if (!text) {
        fmt::print(stderr, "{}", text.error().render("remote_write_probe"));
        return 1;
    }
    fmt::print("{}\n", *text);
}
