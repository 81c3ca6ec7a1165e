#include "agent/courier/courier.h"

#include "agent/courier/listen_address.h"
#include "agent/courier/testing.h"
#include "core/deadline.h"
#include "core/fetch/http.h"
#include "observe/allocation_rows.h"
#include "schema/tables/allocation.h"
#include "schema/tables/host.h"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

namespace fs = std::filesystem;
namespace remote = metrics::remote;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A courier in a thread, beside a spool; both of its receivers are functions.
class Couriering {
  public:
    Couriering() {
        std::ofstream(token_) << "secret\n";
        fs::permissions(token_, fs::perms::owner_read);
        auto link = CourierLink::create();
        if (!link) ADD_FAILURE() << link.error().message();
        courier_.emplace(std::move(link->courier));
        sampler_.emplace(std::move(link->sampler));
        start.spool = spool.path();
        start.version = "1.2.3";
        start.from = {testing::session_of().stream(), 0};
        start.interval = start.flush = milliseconds(100);
        options.token_file = token_;
        options.server_interval = milliseconds(50);
    }
    ~Couriering() {
        if (thread_.joinable()) end();
    }

    void run() {
        auto socket = open_listen_socket({.host = "127.0.0.1", .port = 0});
        if (!socket) ADD_FAILURE() << socket.error().message();
        port_ = socket->address.port;
        socket_ = std::move(socket->socket);
        options.listener = socket_.get();
        thread_ = std::thread([this] { ended_ = run_courier(options, start, *courier_, transports()); });
    }
    // Whether it ended as it should.
    bool end() {
        sampler_->say_end();
        thread_.join();
        return ended_.has_value();
    }

    // Asks for a page until it holds the words, at most a minute.
    std::string await_page(const std::string& path, const std::string& words) const {
        core::fetch::HttpClient client({}, core::system_clock());
        const core::Deadline deadline = core::Deadline::after(seconds(60));
        std::string last;
        while (!deadline.is_over()) {
            auto answer =
                client.get({.url = fmt::format("http://127.0.0.1:{}{}", port_, path)}, size_t{1} << 20);
            if (answer) last = answer->body;
            if (last.find(words) != std::string::npos) return last;
            std::this_thread::sleep_for(milliseconds(10));
        }
        ADD_FAILURE() << "\"" << words << "\" does not come within a minute: " << last;
        return last;
    }
    std::vector<int64_t> rows() const {
        std::lock_guard lock(mutex_);
        return rows_;
    }
    size_t metric_requests() const {
        std::lock_guard lock(mutex_);
        return metric_requests_;
    }
    std::vector<Note> notes() { return sampler_->take(); }

    testing::TestSpool spool;
    CourierOptions options;
    CourierStart start;
    bool hangs = false;  // belayd

  private:
    MakeTransport transports() {
        return [this](const fs::path& ca, const std::atomic<bool>* stopped) -> remote::Transport {
            if (ca == "metrics") return [this](const remote::PostRequest&) { return take_metrics(); };
            return
                [this, stopped](const remote::PostRequest& request) { return take_piece(request, *stopped); };
        };
    }
    core::Result<remote::PostAnswer> take_metrics() {
        std::lock_guard lock(mutex_);
        ++metric_requests_;
        return remote::PostAnswer{.status = 204};
    }
    core::Result<remote::PostAnswer> take_piece(const remote::PostRequest& request,
                                                const std::atomic<bool>& stopped) {
        while (hangs && !stopped) std::this_thread::sleep_for(milliseconds(1));
        if (hangs) return core::system_error("stopped").because(core::Cause::kCancelled);
        EXPECT_EQ(request.authorization, "Bearer secret");
        const std::vector<int64_t> events = testing::rows_of(request.body);
        // Behind the last event, or the row of `host` at the beginning.
        const uint64_t next = events.empty() ? 2 : static_cast<uint64_t>(events.back() + 1);
        std::lock_guard lock(mutex_);
        rows_.insert(rows_.end(), events.begin(), events.end());
        return remote::PostAnswer{
            .status = 200,
            .body = fmt::format(R"({{"next_block":{},"new_blocks":1,"known_blocks":0,"stream":"{}"}})", next,
                                stream::to_text({testing::session_of().stream(), next}))};
    }

    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("courier").value();
    fs::path token_ = place_.path() / "token";
    std::optional<CourierEnd> courier_;
    std::optional<SamplerEnd> sampler_;
    core::Descriptor socket_;
    uint16_t port_ = 0;
    mutable std::mutex mutex_;
    std::vector<int64_t> rows_;
    size_t metric_requests_ = 0;
    core::Result<> ended_;
    std::thread thread_;
};

// A file of the spool with a row of `host`, as block number `first` + 1.
void put_host_row(const testing::TestSpool& spool, uint64_t first, double load) {
    stream::Batch batch(schema::kHost);
    batch.add_row(testing::kBegan, "n1");
    batch.set(column(schema::kHost, "load_1m"), load);
    std::string bytes = stream::encode_head(testing::session_of(first));
    for (const stream::RowsPayload& part : stream::encode_rows(batch))
        bytes += stream::encode_rows_block(part, 1);
    std::ofstream(spool.file_of(first)) << bytes;
}

TEST(agent_courier, a_courier_brings_everything_to_where_it_is_wanted) {
    Couriering couriering;
    couriering.options.server = "http://127.0.0.1:1";
    couriering.options.remote_write = "http://127.0.0.1:1/write";
    couriering.options.remote_write_ca = "metrics";
    couriering.start.restarts = 3;
    put_host_row(couriering.spool, 0, 0.75);
    couriering.spool.put(3, 6);
    couriering.run();
    couriering.await_page("/metrics", "belay_node_load_1m{node=\"n1\"} 0.75\n");
    couriering.await_page("/healthz", "ok\n");
    const std::string page =
        couriering.await_page("/metrics", "belay_agent_shipped_pieces_total{node=\"n1\"} 2\n");
    EXPECT_THAT(page, HasSubstr("belay_agent_info{node=\"n1\",version=\"1.2.3\"} 1\n"));
    EXPECT_THAT(page, HasSubstr("belay_agent_courier_restarts_total{node=\"n1\"} 3\n"));
    EXPECT_THAT(page, HasSubstr("belay_agent_server_up{node=\"n1\"} 1\n"));
    EXPECT_THAT(couriering.await_page("/metrics", "outcome=\"delivered\"}"),
                HasSubstr("remote_write_waiting"));
    couriering.spool.put(7, 9);  // written last
    EXPECT_TRUE(couriering.end());
    EXPECT_THAT(couriering.rows(), ElementsAre(3, 4, 5, 7, 8));
    EXPECT_GT(couriering.metric_requests(), 0U);
    uint64_t read_to = 0;
    for (const Note& note : couriering.notes())
        if (note.kind == NoteKind::kReadTo) read_to = static_cast<uint64_t>(*note.value);
    EXPECT_EQ(read_to, 9U);
}

TEST(agent_courier, a_server_that_hangs_holds_up_neither_metrics_nor_the_end) {
    Couriering couriering;
    couriering.options.server = "http://127.0.0.1:1";
    couriering.options.last_word = milliseconds(1);
    couriering.hangs = true;
    put_host_row(couriering.spool, 0, 0.25);
    couriering.run();
    couriering.await_page("/metrics", "belay_node_load_1m{node=\"n1\"} 0.25\n");
    EXPECT_TRUE(couriering.end());
}

TEST(agent_courier, a_courier_that_begins_later_knows_what_still_holds) {
    Couriering couriering;
    stream::Batch shares(schema::kAllocation);
    observe::add_allocation(shares, testing::kBegan, "n1",
                            {.job_id = 7, .step_id = "0", .from = testing::kBegan}, std::nullopt,
                            std::nullopt);
    couriering.start.now.push_back(shares);
    couriering.start.from.next_block = 2;
    put_host_row(couriering.spool, 0, 0.25);
    put_host_row(couriering.spool, 2, 0.5);
    couriering.run();
    EXPECT_THAT(couriering.await_page("/metrics", "belay_node_load_1m{node=\"n1\"} 0.5\n"),
                HasSubstr("belay_job_info{node=\"n1\",job_id=\"7\",step_id=\"0\"} 1\n"));
    EXPECT_TRUE(couriering.end());
}

TEST(agent_courier, a_courier_without_its_spool_ends_with_an_error) {
    Couriering couriering;
    fs::rename(couriering.spool.path(), couriering.spool.path().string() + ".away");
    couriering.run();
    EXPECT_FALSE(couriering.end());
    fs::rename(couriering.spool.path().string() + ".away", couriering.spool.path());
}

}  // namespace
}  // namespace belay::agent
