// Where the nodes of a step meet: every node connects to one of them, the root, which proves and asks for
// proof that the other belongs to the step (handshake.h). Everything is bounded by deadlines; a node that
// stays silent costs the others nothing but the time until then.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "transfer/handshake.h"
#include "transfer/reception.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belay::transfer {

// The ports at which a step's root may listen, the same on all nodes and different for different steps: below
// the range from which Linux takes ports of outgoing connections (32768 to 60999). Several, since each may be
// taken.
std::vector<uint16_t> rendezvous_ports(std::string_view step_name, size_t count = 8);

// What both sides prove themselves for. It names the port, so that somebody who listens at another port of
// the root's node and passes on what he hears is not believed by either.
std::string step_purpose(uint16_t port);

// What the root knows, and what it offers to members that do not know it (handshake.h).
struct StepSecret {
    std::string text;
    std::string offer = {};
};

// The node at which the others meet. One thread; messages arrive while serve() runs.
class Root {
  public:
    // Listens on the first free one of the ports for the ranks 1 … size - 1. Raises the limit of open files
    // as far as it may until it ends. Errors: kSystem.
    static core::Result<Root> open(std::span<const uint16_t> ports, StepSecret secret, uint32_t size,
                                   Patience patience = {});
    Root(Root&&) noexcept;
    Root& operator=(Root&&) noexcept;
    ~Root();

    uint16_t port() const;

    // Called with what a rank sent; types of the transport itself never arrive here.
    using Handler = std::function<void(uint32_t rank, Message message)>;
    // Serves until `done` says so (asked after every event) or the deadline; false at the deadline. It also
    // wakes up when the descriptor that `wake` names can be read: it is asked after `done`, since a pipe that
    // has ended stays readable for ever, and says -1 when there is none (any more). Errors: kSystem if the
    // machine fails, never for what a peer did.
    core::Result<bool> serve(Deadline deadline, const std::function<bool()>& done, const Handler& handler,
                             const std::function<int()>& wake = {});

    // Queues a message for a rank that is connected; false if it is not.
    bool send(uint32_t rank, const Message& message);
    // Serves until all that was queued is sent; false at the deadline. Without a handler, messages that come
    // meanwhile are lost.
    core::Result<bool> flush(Deadline deadline, const Handler& handler = {});

    bool connected(uint32_t rank) const;
    // Why this side hung up on a rank, or how its connection ended; nothing while it stands. Until the rank
    // comes again.
    std::optional<core::Error> refused(uint32_t rank) const;
    // Why nodes may be missing through no fault of their own: lately there was no room for a connection, for
    // want of open files or because strangers took all places. Nothing if all who came were let in.
    std::optional<core::Error> shortage() const;
    // Whether that will not change any more: all files that this process may open are connections of nodes.
    bool is_full() const;
    // Addresses as this connection sees them, numeric; empty if the rank is not connected.
    std::string address_of(uint32_t rank) const;
    std::string own_address_toward(uint32_t rank) const;

  private:
    struct State;
    explicit Root(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Joins the step as `rank`: tries the ports at the address again and again until the root answers or the
// deadline is there. Errors: kSystem, with the reason of the last tries that the deadline did not cut short;
// what failed on this node or was refused there outweighs that other ports did not answer.
core::Result<Channel> join(const std::string& address, std::span<const uint16_t> ports,
                           const SecretOf& secret_of, uint32_t rank, Deadline deadline);

// For those who decide which node speaks: kUnreachable where the root does not answer, or answers
// no more. What failed on this node, or was not understood, keeps its cause.
core::Error link_error(core::Error error);

struct ClockOffset {
    double seconds = 0;     // the root's clock minus this node's
    double round_trip = 0;  // of the probe it comes from; the offset is off by at most half of it
};
// As NTP does it: of several probes, the one with the shortest round trip counts (RFC 5905, section 8 and
// 10).
core::Result<ClockOffset> measure_clock_offset(Channel& root, int probes, Deadline deadline);
// From the four times of one probe, in seconds: sent here, received there, sent there, received here.
ClockOffset clock_offset(double t0, double t1, double t2, double t3);

}  // namespace belay::transfer
