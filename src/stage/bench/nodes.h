// Several nodes that measure a file system at once: they begin each part together, and the first one gets
// what all measured.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "transfer/members.h"
#include "transfer/rendezvous.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

struct BenchPatience {
    core::Duration join = std::chrono::minutes(1);  // for the nodes to come
    core::Duration part = std::chrono::hours(6);    // for the slowest of them to end a part
};

class BenchNodes {
  public:
    // Errors: kSystem where the nodes cannot meet, with the one that did not come.
    static core::Result<std::unique_ptr<BenchNodes>> open(transfer::Members members,
                                                          BenchPatience patience = {});
    ~BenchNodes();
    BenchNodes(const BenchNodes&) = delete;
    BenchNodes& operator=(const BenchNodes&) = delete;

    // Returns when all nodes have called it. Errors: kSystem, kEnded where one has gone, with its name.
    core::Result<> meet(std::string_view part);

    // On the first node what each has, by rank; elsewhere nothing. Errors: as above.
    core::Result<std::vector<std::string>> gather(const std::string& own);

  private:
    BenchNodes(transfer::Members members, BenchPatience patience)
        : members_(std::move(members)), patience_(patience) {}
    core::Result<> await_all();
    transfer::Root::Handler keep_early();
    core::Result<> hear_all(std::string_view part, core::Duration timeout, std::vector<std::string>& bodies);
    core::Error lost(uint32_t rank, std::string_view part) const;

    transfer::Members members_;
    BenchPatience patience_;
    std::unique_ptr<transfer::Root> root_;        // on the first node
    std::map<uint32_t, std::string> early_;       // what came before it was asked for
    std::unique_ptr<transfer::Channel> channel_;  // elsewhere
};

}  // namespace belay::stage
