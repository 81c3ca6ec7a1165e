// Reads a table node by node, each node's rows in order of time, with as many threads as there are cores.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "record/archive/scan.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

inline constexpr size_t kNodeColumn = 1;  // of every table

// What is made of some of the nodes, one after the other.
class NodeReader {
  public:
    virtual ~NodeReader() = default;
    virtual void begin(std::string_view node) = 0;
    virtual void add(const ScanRows& rows, size_t row) = 0;
    virtual void end() = 0;
};

struct NodeReading {
    std::function<std::unique_ptr<NodeReader>()> make;
    std::function<void(NodeReader&)> take;  // a reader that has read all that it was given
};

// `request`: its first text is the node; without splits. `nodes`: those of the record, by which the work is
// shared out. Readers whose rows turn out not to lie in order are dropped, and others made that get them
// sorted. Errors: kBadInput for damaged tables; kSystem.
core::Result<> scan_nodes(Archive& archive, const ScanRequest& request, std::vector<std::string> nodes,
                          const NodeReading& reading);

}  // namespace belay::record
