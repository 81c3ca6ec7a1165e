#include "bench/optimize/checkpoint.h"

#include "core/file.h"
#include "core/hash.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

Checkpoint some_checkpoint() {
    return {.run = R"({"batch":8,"model":"line"})",
            .step = 17,
            .epoch = 3,
            .step_of_epoch = 5,
            .optimizer_steps = 17,
            .parameters = {1, -2.5F, 3},
            .optimizer_state = {0.25F, 0, 1e-30F},
            .buffers = {}};
}

std::string message_of(std::string_view bytes) {
    auto decoded = decode_checkpoint(bytes);
    return decoded ? "" : decoded.error().message();
}

TEST(bench, checkpoint_comes_back_as_it_was) {
    auto directory = *core::TemporaryDirectory::create();
    const auto path = directory.path() / "state";
    const Checkpoint written = some_checkpoint();
    ASSERT_TRUE(write_checkpoint(path, written));
    auto read = read_checkpoint(path);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->run, written.run);
    EXPECT_EQ(read->step, 17);
    EXPECT_EQ(read->epoch, 3);
    EXPECT_EQ(read->step_of_epoch, 5);
    EXPECT_EQ(read->optimizer_steps, 17);
    EXPECT_EQ(read->parameters, written.parameters);
    EXPECT_EQ(read->optimizer_state, written.optimizer_state);
    EXPECT_TRUE(read->buffers.empty());
    EXPECT_EQ(read_checkpoint(directory.path() / "none").error().cause(), core::Cause::kNotFound);
}

TEST(bench, checkpoint_that_is_damaged_anywhere_is_refused) {
    const std::string bytes = encode_checkpoint(some_checkpoint());
    ASSERT_EQ(message_of(bytes), "");
    for (size_t place = 0; place < bytes.size(); ++place) {
        std::string damaged = bytes;
        damaged[place] ^= 4;
        EXPECT_NE(message_of(damaged), "") << place;
        EXPECT_NE(message_of(bytes.substr(0, place)), "") << place;
    }
    EXPECT_EQ(message_of("PK"), "it is not a checkpoint of belay-train");
}

// With a checksum that matches, as a program with a fault would write it.
TEST(bench, checkpoint_with_impossible_sizes_is_refused) {
    auto with_digest = [](std::string bytes) {
        bytes += core::bytes_of(core::sha256(bytes));
        return bytes;
    };
    std::string body = encode_checkpoint(some_checkpoint());
    body.resize(body.size() - 32);
    EXPECT_EQ(message_of(with_digest(body)), "");
    EXPECT_EQ(message_of(with_digest(body + "x")), "the checkpoint goes on for 1 byte behind its end");
    EXPECT_EQ(message_of(with_digest(body.substr(0, body.size() - 8))), "the checkpoint is cut off");
    std::string endless = body;
    endless.replace(endless.size() - 8, 8, std::string(8, '\xff'));
    EXPECT_EQ(message_of(with_digest(endless)), "the checkpoint is cut off");
    std::string facts = body;
    facts.replace(facts.find("\"step\":17"), 9, "\"step\":-1");
    EXPECT_EQ(message_of(with_digest(facts)), "\"step\" of the checkpoint is not a number of steps");
}

}  // namespace
}  // namespace belay::bench
