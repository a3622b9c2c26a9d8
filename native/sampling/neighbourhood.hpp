// Neighbourhoods: the entities within some hops of a query's entities, and the edges that were drawn on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/aligned_array.hpp"

namespace nbfnet {

// A fact in the row of its tail, and in the row of its head: what a search reads of it comes at once.
struct InFact {
    int32_t head, relation;
};
struct OutFact {
    int32_t tail, relation;
    int64_t slot;  // where it stands among the facts by tail
};

struct FactRows {
    int64_t nodes;
    int64_t edges;
    const int64_t *in_begin;   // (node + 1,)
    const InFact *in;          // (slot,)
    const int64_t *out_begin;  // (node + 1,)
    const OutFact *out;        // (edge,)
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
