// What the nodes of a step tell each other while they are vetted: JSON in the bodies of transfer's messages.
// What failed is in it as core/error_codec.h carries it, in hexadecimal digits.
#pragma once

#include "core/error.h"
#include "transfer/rendezvous.h"
#include "vet/runner.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::vet {

enum : uint8_t {
    kReport = transfer::kFirstFreeType,  // member → root, once
    kPairOrder,                          // root → member: test the bandwidth with a partner now
    kPairAnswer,                         // member → root
    kVerdict,                            // root → member, once, the last
    kFailure,                            // member → root, instead of its report: core/error_codec.h
};

struct Report {
    uint64_t digest = 0;     // of the protocol
    uint16_t data_port = 0;  // where it listens for partners
    NodeResults results = {};
    // The root's clock minus its own, where the protocol compares clocks.
    std::optional<core::Result<transfer::ClockOffset>> clock = {};
};

struct PairOrder {
    std::string name;     // the same on both sides, different for every test
    bool listen = false;  // or connect, to the address below
    std::string address = {};
    uint16_t port = 0;
    core::Duration duration{};
    int streams = 1;
};

struct PairAnswer {
    std::string name;
    core::Result<double> bytes_per_second = 0;  // that this side received
};

std::string encode(const Report& report);
std::string encode(const PairOrder& order);
std::string encode(const PairAnswer& answer);

// Errors: kSystem for anything else. `checks` is how many the protocol has.
core::Result<Report> decode_report(std::string_view body, size_t checks);
core::Result<PairOrder> decode_pair_order(std::string_view body);
core::Result<PairAnswer> decode_pair_answer(std::string_view body);

// What the nodes are told at the end. What is the same for all is put into words once: a step may have
// thousands of nodes.
class VerdictMessages {
  public:
    // `verdicts` must outlive this. Of the nodes that did not pass, `refused` are told to everybody, with the
    // checks that refused them.
    explicit VerdictMessages(const Verdicts& verdicts, size_t refused = 64);
    // With all checks of that node itself.
    std::string for_rank(size_t rank) const;

  private:
    const Verdicts& verdicts_;
    std::string common_;
};
// The node's own verdict comes first.
core::Result<Verdicts> decode_verdict(std::string_view body);

}  // namespace belay::vet
