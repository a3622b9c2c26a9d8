// Neighbourhoods: the entities within some hops of a query's entities, and the edges that were drawn on the way.
#pragma once

#include <cstdint>
#include <vector>

namespace nbfnet {

// The facts by tail, and by head: out-edge i of the transpose stands in slot out_slot[i].
struct FactRows {
    int64_t nodes;
    int64_t edges;
    const int64_t *indptr;      // (node + 1,)
    const int32_t *source;      // (slot,)
    const int64_t *out_indptr;  // (node + 1,)
    const int32_t *target;      // (edge,)
    const int64_t *out_slot;    // (edge,)
};

struct SampleRequest {
    FactRows facts;
    int64_t queries;
    const int64_t *begin;  // (query + 1,) which of the entities below each query starts from
    const int32_t *start;
    int64_t hops;
    int64_t neighbours;  // in- and out-edges drawn for each visited entity, at most; all if it is 0
    uint64_t seed;
    int threads;
};

// The sample of one query. Entities are numbered in the order they are met.
struct Neighbourhood {
    std::vector<int32_t> node;   // (node,) as the graph numbers it
    std::vector<int32_t> start;  // the numbers of the entities it starts from
    std::vector<int64_t> slot;   // (edge,) each once
    std::vector<int32_t> head;   // (edge,) by number
    std::vector<int32_t> tail;   // (edge,) by number
};

std::vector<Neighbourhood> sample_neighbourhoods(const SampleRequest &request);

}  // namespace nbfnet
