// HopSearch: min_plus from one source where every edge weighs the same, more than nothing: a breadth-first search.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "path_edges.hpp"

namespace nbfnet {

class HopSearch {
public:
    explicit HopSearch(const PathEdges &edges);

    // Every row's level: the least number of edges from the source, at most `iterations`; -1 where there is no such
    // path. Returns whether one more iteration would change nothing.
    bool solve(int64_t source, int64_t iterations, const std::function<bool()> &interrupted);

    // scores (node): level times the weight of an edge, added up edge by edge as an iteration does.
    void write_scores(const int32_t *rank, int64_t nodes, double *scores) const;

private:
    void push(int32_t level);  // along the out-edges of the frontier
    void pull(int32_t level);  // each row not reached looks for one neighbour in the frontier
    int64_t out_edges(const std::vector<int32_t> &rows) const;

    const PathEdges &edges_;
    std::vector<int32_t> level_;     // (row,)
    std::vector<int32_t> frontier_;  // the rows of the last level
    std::vector<int32_t> missing_;   // ascending: the rows not reached when they were last listed
    std::vector<uint64_t> in_frontier_;  // (row,) bits
    std::vector<int32_t> reached_;
};

}  // namespace nbfnet
