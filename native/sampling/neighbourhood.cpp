// A breadth-first search from all entities of a query at once: an entity is within k hops of one of them if and only if
// it is in the union of their neighbourhoods, and its draws are the same from wherever it was reached.
#include "sampling/neighbourhood.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "memory/parallel.hpp"
#include "sampling/drawing.hpp"
#include "sampling/number_set.hpp"
#include "sampling/number_table.hpp"

namespace nbfnet {
namespace {

constexpr int64_t ahead = 16;          // entities before its use that a row is fetched from main memory
constexpr int64_t fetched = 64;        // edges of a row that are fetched so; what follows the processor fetches itself
constexpr int64_t together = 64;       // edges that are taken together
constexpr int64_t cache_line = 64;     // bytes
constexpr int64_t few_bits = 1 << 13;  // positions that are marked one by one while some of them are drawn

// A store is not read when it is opened, so whatever is followed is compared with its bounds here.
[[noreturn]] void throw_damaged(const char *what) { throw std::invalid_argument(what); }

// What a search needs beside its result. Each thread keeps its own, so that it has grown once for all.
struct Scratch {
    NumberTable entities;
    NumberSet drawn_edges, taken;
    std::vector<int64_t> drawn;
    std::vector<uint64_t> marks;
    std::vector<uint8_t> drew;
    int64_t nodes_expected = 0, edges_expected = 0, drawn_expected = 0;  // of a query
};

Scratch &scratch_of_thread() {
    static thread_local Scratch scratch;
    return scratch;
}

// Searches one query after the other and appends their samples.
class Search {
  public:
    // `queries` is how many there will be.
    Search(const SampleRequest &request, Scratch &scratch, int64_t queries, Neighbourhoods &found)
        : request_(request), facts_(request.facts), scratch_(scratch), entities_(scratch.entities), found_(found) {
        found_.node_begin = found_.edge_begin = {0};
        const auto room = [&](int64_t expected) { return queries * (expected + expected / 8) + 1; };
        found_.node.reserve(room(scratch.nodes_expected));
        found_.slot.reserve(room(scratch.edges_expected));
        found_.relation.reserve(room(scratch.edges_expected));
        found_.head.reserve(room(scratch.edges_expected));
        found_.tail.reserve(room(scratch.edges_expected));
    }

    // Writes the numbers of the entities that the query starts from.
    void run(const int32_t *start, int64_t count, int32_t *number) {
        nodes_begin_ = nodes_;
        edges_begin_ = edges_;
        first_ = static_cast<int32_t>(nodes_);
        entities_.reset(std::max(scratch_.nodes_expected, count));
        scratch_.drawn_edges.reset(scratch_.drawn_expected);
        scratch_.drew.clear();
        meet_all(start, count, number);
        int64_t level_begin = 0;
        for (int64_t hop = 0; hop < request_.hops; ++hop) {
            const int64_t level_end = nodes_ - nodes_begin_;
            if (level_begin == level_end) break;
            scratch_.drew.resize(level_end);
            expanded_ = hop + 1 == request_.hops ? level_end : INT64_MAX;
            expand_level<0>(level_begin, level_end, level_begin);
            expand_level<1>(level_begin, level_end, level_end);
            level_begin = level_end;
        }
        found_.node_begin.push_back(nodes_);
        found_.edge_begin.push_back(edges_);
        expect_as_many(scratch_.nodes_expected, nodes_ - nodes_begin_);
        expect_as_many(scratch_.edges_expected, edges_ - edges_begin_);
        expect_as_many(scratch_.drawn_expected, scratch_.drawn_edges.count());
    }

  private:
    // As many as this query had, or nearly as many as the ones before it.
    static void expect_as_many(int64_t &expected, int64_t had) { expected = std::max(had, expected - expected / 8); }

    void meet_all(const int32_t *start, int64_t count, int32_t *number) {
        entities_.make_room(count);
        found_.node.grow(nodes_ + count + 1, nodes_);
        int32_t *node = found_.node.data() + nodes_begin_;
        for (int64_t i = 0; i < count; ++i) number[i] = first_ + entities_.number(start[i], node);
        nodes_ = nodes_begin_ + entities_.count();
    }

    // Expands the entities of a level by their in-edges (side 0) or their out-edges (side 1). Those with a number below
    // `before` have been expanded by the other side.
    template <int side>
    void expand_level(int64_t level_begin, int64_t level_end, int64_t before) {
        const int64_t *indptr = side == 0 ? facts_.in_begin : facts_.out_begin;
        const auto entity_at = [&](int64_t i) { return found_.node[nodes_begin_ + i]; };
        for (int64_t i = level_begin; i < level_end; ++i) {
            if (i + 2 * ahead < level_end) __builtin_prefetch(&indptr[entity_at(i + 2 * ahead)]);
            if (i + ahead < level_end) prefetch_row<side>(indptr + entity_at(i + ahead));
            const int32_t entity = entity_at(i), number = static_cast<int32_t>(i);
            const int64_t begin = indptr[entity], degree = indptr[entity + 1] - begin;
            if (begin < 0 || degree < 0 || begin + degree > facts_.edges) throw_damaged("a row begins nowhere");
            if (request_.neighbours == 0 || degree <= request_.neighbours) {
                for (int64_t edge = begin; edge < begin + degree; ++edge) follow<side>(number, edge, before, false);
                continue;
            }
            scratch_.drew[i] |= 1 << side;
            draw<side>(begin, degree, request_.neighbours, draw_key(request_.seed, entity, side));
            for (const int64_t edge : scratch_.drawn) follow<side>(number, edge, before, true);
        }
        take_all<side>(before);
    }

    // So many different edges of those that begin somewhere, all asked for.
    template <int side>
    void draw(int64_t begin, int64_t degree, int64_t most, uint64_t key) {
        if (degree <= few_bits) {
            scratch_.marks.assign((degree + 63) / 64, 0);
            uint64_t *marks = scratch_.marks.data();
            draw<side>(begin, degree, most, key, [=](int64_t position) {
                const uint64_t bit = uint64_t{1} << (position % 64);
                const bool is_new = !(marks[position / 64] & bit);
                marks[position / 64] |= bit;
                return is_new;
            });
        } else {
            scratch_.taken.reset(most);
            draw<side>(begin, degree, most, key, [&](int64_t position) { return scratch_.taken.insert(position); });
        }
    }

    template <int side, class Take>
    void draw(int64_t begin, int64_t degree, int64_t most, uint64_t key, const Take &take) {
        scratch_.drawn.resize(most);
        int64_t *drawn = scratch_.drawn.data();
        for (int64_t last = degree - most; last < degree; ++last) {
            int64_t position = static_cast<int64_t>(draw_number(key, last));
            if (!take(position)) take(position = last);
            prefetch_edge<side>(begin + position);
            *drawn++ = begin + position;
        }
    }

    // The first edges of a row.
    template <int side>
    void prefetch_row(const int64_t *row) const {
        constexpr int64_t size = side == 0 ? sizeof(InFact) : sizeof(OutFact);
        const int64_t begin = row[0], end = std::min(row[1], begin + fetched);
        for (int64_t edge = begin; edge < end; edge += cache_line / size) prefetch_edge<side>(edge);
        if (end > begin) prefetch_edge<side>(end - 1);
    }

    template <int side>
    void prefetch_edge(int64_t edge) const {
        if constexpr (side == 0) __builtin_prefetch(facts_.in + edge);
        else __builtin_prefetch(facts_.out + edge);
    }

    struct Step {
        int64_t slot;
        int32_t number, neighbour, relation;
        bool drawn;
    };

    // Ask for the neighbour's place in the table of entities. Edges are taken some at a time.
    template <int side>
    void follow(int32_t number, int64_t edge, int64_t before, bool drawn) {
        if (waiting_ == together) take_all<side>(before);
        Step &step = steps_[waiting_++];
        if constexpr (side == 0) step = {edge, number, facts_.in[edge].head, facts_.in[edge].relation, drawn};
        else step = {facts_.out[edge].slot, number, facts_.out[edge].tail, facts_.out[edge].relation, drawn};
        entities_.prefetch(step.neighbour);
    }

    template <int side>
    void take_all(int64_t before) {
        entities_.make_room(waiting_);
        found_.node.grow(nodes_ + waiting_ + 1, nodes_);
        if (edges_ + waiting_ + 1 > found_.slot.size()) {
            found_.slot.grow(edges_ + waiting_ + 1, edges_);
            found_.relation.grow(edges_ + waiting_ + 1, edges_);
            found_.head.grow(edges_ + waiting_ + 1, edges_);
            found_.tail.grow(edges_ + waiting_ + 1, edges_);
        }
        int32_t *node = found_.node.data() + nodes_begin_;
        int64_t *slots = found_.slot.data() + edges_;
        int32_t *relations = found_.relation.data() + edges_;
        int32_t *near = (side == 0 ? found_.tail : found_.head).data() + edges_;
        int32_t *far = (side == 0 ? found_.head : found_.tail).data() + edges_;
        const uint8_t *drew = scratch_.drew.data();
        const int32_t first = first_;
        int64_t taken = 0;
        for (int64_t i = 0; i < waiting_; ++i) {
            const Step &step = steps_[i];
            const int64_t slot = step.slot;
            const bool leads_somewhere = step.neighbour >= 0 && step.neighbour < facts_.nodes;
            if (!leads_somewhere || slot < 0 || slot >= facts_.edges) throw_damaged("an edge leads nowhere");
            const int32_t other = entities_.number(step.neighbour, node);
            // An edge may come from both of its ends. Where the other end took all of its edges, it took this one.
            if (other < before && (!(drew[other] >> (1 - side) & 1) || scratch_.drawn_edges.contains(slot))) continue;
            if (step.drawn && other < expanded_) scratch_.drawn_edges.insert(slot);
            slots[taken] = slot;
            relations[taken] = step.relation;
            near[taken] = first + step.number;
            far[taken] = first + other;
            ++taken;
        }
        edges_ += taken;
        nodes_ = nodes_begin_ + entities_.count();
        waiting_ = 0;
        if (edges_ - edges_begin_ > INT32_MAX - together)
            throw std::length_error("the sample of one query has 2^31 - 1 edges");
        if (nodes_ > INT32_MAX - together) throw std::length_error("the samples have 2^31 - 1 entities");
    }

    const SampleRequest &request_;
    const FactRows &facts_;
    Scratch &scratch_;
    NumberTable &entities_;
    Neighbourhoods &found_;
    int64_t nodes_ = 0, edges_ = 0;              // found, of all queries
    int32_t first_ = 0;                          // the number of this query's first entity
    int64_t nodes_begin_ = 0, edges_begin_ = 0;  // of this query
    int64_t expanded_ = 0;                       // entities with a lower number will have been expanded at the end
    Step steps_[together];
    int64_t waiting_ = 0;
};

// Query i is the i / n-th of the i % n-th of n parts. `start` has the numbers that the parts gave to the entities which
// the queries start from.
Neighbourhoods joined(const std::vector<Neighbourhoods> &parts, const SampleRequest &request, int32_t *start) {
    const int64_t queries = request.queries;
    Neighbourhoods all;
    all.node_begin = all.edge_begin = {0};
    const auto part_of = [&](int64_t query) -> const Neighbourhoods & { return parts[query % parts.size()]; };
    const auto length = [&](const std::vector<int64_t> &begin, int64_t query) {
        return begin[query / parts.size() + 1] - begin[query / parts.size()];
    };
    for (int64_t query = 0; query < queries; ++query) {
        all.node_begin.push_back(all.node_begin.back() + length(part_of(query).node_begin, query));
        all.edge_begin.push_back(all.edge_begin.back() + length(part_of(query).edge_begin, query));
    }
    if (all.node_begin.back() > INT32_MAX) throw std::length_error("the samples have 2^31 - 1 entities");
    all.node.reserve(all.node_begin.back());
    all.slot.reserve(all.edge_begin.back());
    all.relation.reserve(all.edge_begin.back());
    all.head.reserve(all.edge_begin.back());
    all.tail.reserve(all.edge_begin.back());
    for (int64_t query = 0; query < queries; ++query) {
        const Neighbourhoods &part = part_of(query);
        const auto copy = [&](const auto &from, auto &to, const auto &begin, const auto &to_begin) {
            std::copy_n(from.data() + begin[query / parts.size()], length(begin, query), to.data() + to_begin[query]);
        };
        copy(part.node, all.node, part.node_begin, all.node_begin);
        copy(part.slot, all.slot, part.edge_begin, all.edge_begin);
        copy(part.relation, all.relation, part.edge_begin, all.edge_begin);
        copy(part.head, all.head, part.edge_begin, all.edge_begin);
        copy(part.tail, all.tail, part.edge_begin, all.edge_begin);
        const auto shift = static_cast<int32_t>(all.node_begin[query] - part.node_begin[query / parts.size()]);
        const auto renumber = [=](int32_t *begin, int64_t count) {
            std::for_each_n(begin, count, [=](int32_t &number) { number += shift; });
        };
        renumber(all.head.data() + all.edge_begin[query], length(part.edge_begin, query));
        renumber(all.tail.data() + all.edge_begin[query], length(part.edge_begin, query));
        renumber(start + request.begin[query], request.begin[query + 1] - request.begin[query]);
    }
    return all;
}

}  // namespace

Neighbourhoods sample_neighbourhoods(const SampleRequest &request) {
    const int threads = static_cast<int>(std::clamp<int64_t>(request.queries, 1, request.threads));
    std::vector<Neighbourhoods> parts(threads);
    std::vector<int32_t> start;
    start.reserve(request.begin[request.queries] + 1);  // an array must be somewhere, though it is empty
    start.resize(request.begin[request.queries]);
    // Each thread takes every so many-th query: what it finds does not depend on which thread that is.
    parallel(threads, [&](int thread) {
        const int64_t queries = (request.queries + threads - 1 - thread) / threads;
        Search search(request, scratch_of_thread(), queries, parts[thread]);
        for (int64_t query = thread; query < request.queries; query += threads) {
            const int64_t begin = request.begin[query];
            search.run(request.start + begin, request.begin[query + 1] - begin, start.data() + begin);
        }
    });
    Neighbourhoods all = threads == 1 ? std::move(parts[0]) : joined(parts, request, start.data());
    all.start = std::move(start);
    return all;
}

}  // namespace nbfnet
