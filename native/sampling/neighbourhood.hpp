// Neighbourhoods: the entities within some hops of a query's entities, and the edges that were drawn on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/aligned_array.hpp"

namespace nbfnet {

// The facts by tail, and by head: out-edge i of the transpose stands in slot out_slot[i].
struct FactRows {
    int64_t nodes;
    int64_t edges;
    const int64_t *indptr;      // (node + 1,)
    const int32_t *source;      // (slot,)
    const int32_t *relation;    // (slot,)
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

// The samples of some queries, end to end. Entities are numbered in the order they are met, those of a query after
// those of the queries before it: an entity of two queries has two numbers.
struct Neighbourhoods {
    std::vector<int64_t> node_begin, edge_begin;  // (query + 1,)
    AlignedArray<int32_t> node;                   // (node,) as the graph numbers it
    AlignedArray<int64_t> slot;                   // (edge,) each once for a query
    AlignedArray<int32_t> relation;               // (edge,)
    AlignedArray<int32_t> head, tail;             // (edge,) by number
    std::vector<int32_t> start;                   // the numbers of the entities that the queries start from
};

Neighbourhoods sample_neighbourhoods(const SampleRequest &request);

}  // namespace nbfnet
