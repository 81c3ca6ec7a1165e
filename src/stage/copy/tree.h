// Who takes a copy from whom. Nodes stand at positions 0 (which reads the source) to N - 1 of a tree in which
// each has at most k children; a node whose parent is gone goes to its grandparent, and so on up to position
// 0. Pure.
//
// With S bytes in chunks of c over links of B bytes a second: T(k) = k (S/c + depth - 1) c / B, depth = N for
// k = 1, else ceil(log_k(N (k - 1) + 1)). A chain wins while S/c is much more than N; beyond 64 nodes its
// depth begins to tell.
#pragma once

#include <cstdint>
#include <vector>

namespace belay::stage {

inline constexpr uint32_t kMostNodesInChain = 64;

constexpr uint32_t usual_children(uint32_t nodes) {
    return nodes <= kMostNodesInChain ? 1 : 2;
}

// Of a position from 1 on.
constexpr uint32_t parent_of(uint32_t position, uint32_t children) {
    return (position - 1) / children;
}

// Parent, grandparent and so on, position 0 last; none of 0.
std::vector<uint32_t> ancestors_of(uint32_t position, uint32_t children);

// Those that there are among `nodes` positions.
std::vector<uint32_t> children_of(uint32_t position, uint32_t children, uint32_t nodes);

}  // namespace belay::stage
