#include "observe/fabric/retry_handlers.h"

#include "observe/fabric/testing.h"

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace belay::observe::fabric {
namespace {

using namespace testing;
using namespace std::chrono_literals;

// Handlers below a directory, which have as long as they need unless a test says otherwise.
class Asked {
  public:
    Asked()
        : handlers_({.run = root_.run(),
                     .on_event = [this](const stream::Event& event) { events_.push_back(event); },
                     .retry = 600s}) {}

    // As cxi_rh writes a counter.
    void write(std::string_view device, std::string_view file, std::string_view line) const {
        root_.write(fs::path("run/cxi") / device / file, std::string(line) + "\n");
    }
    // A file whose opening hangs, as one does whose daemon does not answer: a pipe without a writer.
    void hang(std::string_view device) const {
        const fs::path path = root_.run() / "cxi" / device / "spt_timeouts";
        fs::remove(path);
        fs::create_directories(path.parent_path());
        ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    }
    void ask(const std::vector<std::string>& devices, core::Duration wait = 600s) {
        const core::Result<> asked = handlers_.ask(devices, wait);
        EXPECT_TRUE(asked.has_value());
    }
    std::optional<int64_t> value(std::string_view device, std::string_view column) const {
        stream::Batch rows(schema::kFabric);
        rows.add_row(at_second(1), "n1");
        handlers_.set(device, rows);
        return integer(rows, 0, column);
    }
    const std::vector<stream::Event>& events() const { return events_; }
    RetryHandlers& handlers() { return handlers_; }

  private:
    FabricRoot root_;
    std::vector<stream::Event> events_;
    RetryHandlers handlers_;
};

TEST(observe_fabric, retry_handlers_tell_their_counters) {
    Asked asked;
    int64_t next = 1;
    for (const RetryCounter& counter : kRetryCounters)
        asked.write("cxi0", counter.file, std::to_string(next++));
    asked.write("cxi1", "nacks", "2147483647");
    asked.ask({"cxi0", "cxi1"});
    next = 1;
    for (const RetryCounter& counter : kRetryCounters)
        EXPECT_EQ(asked.value("cxi0", schema::kFabric.columns[counter.column].name), next++) << counter.file;
    EXPECT_EQ(asked.value("cxi1", "retry_nacks_total"), 2147483647);
    EXPECT_EQ(asked.value("cxi1", "retry_request_timeouts_total"), std::nullopt);
    EXPECT_EQ(asked.value("cxi2", "retry_nacks_total"), std::nullopt);
    asked.write("cxi0", "nacks", "77");
    asked.ask({"cxi0", "cxi1"});
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), 77);
    EXPECT_TRUE(asked.events().empty());
}

TEST(observe_fabric, without_retry_handlers_no_process_is_started) {
    Asked asked;
    asked.ask({"cxi0"});
    EXPECT_EQ(asked.handlers().child(), -1);
    asked.write("cxi0", "nacks", "1");
    asked.ask({});
    EXPECT_EQ(asked.handlers().child(), -1);
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), std::nullopt);
}

TEST(observe_fabric, hostile_retry_counters_are_null) {
    Asked asked;
    for (std::string_view wrong : {"-2147483648", "", "one", "99999999999999999999999999", "1 1"}) {
        asked.write("cxi0", "nacks", wrong);
        asked.ask({"cxi0"});
        EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), std::nullopt) << wrong;
    }
    asked.write("cxi0", "nacks", "5");
    asked.ask({"cxi0"});
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), 5);
}

TEST(observe_fabric, a_retry_handler_that_hangs_is_told_once_and_waited_for_by_nobody) {
    Asked asked;
    asked.write("cxi0", "nacks", "1");
    asked.hang("cxi0");
    asked.ask({"cxi0"}, 0s);
    EXPECT_NE(asked.handlers().child(), -1);
    EXPECT_TRUE(asked.events().empty()) << "it may answer until the next look";
    asked.ask({"cxi0"}, 0s);
    ASSERT_EQ(asked.events().size(), 1u);
    EXPECT_EQ(asked.events()[0].kind.name(), "collector_failed");
    EXPECT_EQ(asked.events()[0].subject, "fabric");
    EXPECT_EQ(asked.events()[0].device, "cxi0");
    EXPECT_EQ(asked.handlers().child(), -1) << "it is not asked for a while";
    asked.ask({"cxi0"});
    EXPECT_EQ(asked.events().size(), 1u);
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), std::nullopt);
}

TEST(observe_fabric, one_retry_handler_that_hangs_hides_no_other) {
    Asked asked;
    asked.hang("cxi0");
    asked.write("cxi1", "nacks", "4");
    asked.ask({"cxi0", "cxi1"}, 0s);
    EXPECT_EQ(asked.value("cxi1", "retry_nacks_total"), std::nullopt) << "it stands behind the other";
    asked.ask({"cxi0", "cxi1"});
    EXPECT_EQ(asked.value("cxi1", "retry_nacks_total"), 4);
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), std::nullopt);
    ASSERT_EQ(asked.events().size(), 1u);
    EXPECT_EQ(asked.events()[0].device, "cxi0");
}

TEST(observe_fabric, adapters_come_and_go) {
    Asked asked;
    asked.write("cxi0", "nacks", "1");
    asked.write("cxi1", "nacks", "2");
    asked.ask({"cxi0"});
    asked.ask({"cxi0", "cxi1"});
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), 1);
    EXPECT_EQ(asked.value("cxi1", "retry_nacks_total"), 2);
    asked.ask({"cxi1"});
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), std::nullopt);
    EXPECT_EQ(asked.value("cxi1", "retry_nacks_total"), 2);
}

TEST(observe_fabric, a_reader_of_retry_handlers_that_dies_is_replaced) {
    Asked asked;
    asked.write("cxi0", "nacks", "1");
    asked.ask({"cxi0"});
    const pid_t before = asked.handlers().child();
    ASSERT_GT(before, 0);
    kill(before, SIGKILL);
    asked.write("cxi0", "nacks", "2");
    for (int i = 0; i < 6000 && asked.value("cxi0", "retry_nacks_total") != 2; ++i) asked.ask({"cxi0"});
    EXPECT_EQ(asked.value("cxi0", "retry_nacks_total"), 2);
    EXPECT_NE(asked.handlers().child(), before);
}

}  // namespace
}  // namespace belay::observe::fabric
