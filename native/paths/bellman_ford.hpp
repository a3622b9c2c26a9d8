// The generalized Bellman-Ford algorithm from many sources.
#pragma once

#include <cstdint>
#include <functional>

#include "paths/panel_solver.hpp"

namespace nbfnet {

struct PathRequest {
    PathSemiring semiring;
    PathEdges edges;
    const int32_t *rank;     // (node) the row of each node
    const int32_t *sources;  // (source) nodes
    int64_t source_count;
    Stopping stopping;
    int threads;
};

// scores (source, node). Returns whether all of them have settled. `interrupted` is asked now and then, by the calling
// thread only; once it says so the work ends.
bool bellman_ford(const PathRequest &request, const std::function<bool()> &interrupted, double *scores);

// product = A x for the matrix whose rows are a graph's rows.
void multiply_rows(const PathEdges &edges, const double *x, double *product);

}  // namespace nbfnet
