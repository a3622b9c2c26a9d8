// A breadth-first search from all entities of a query at once: an entity is within k hops of one of them if and only if
// it is in the union of their neighbourhoods, and its draws are the same from wherever it was reached.
#include "sampling/neighbourhood.hpp"

#include <algorithm>
#include <stdexcept>

#include "memory/parallel.hpp"
#include "sampling/drawing.hpp"
#include "sampling/number_table.hpp"

namespace nbfnet {
namespace {

constexpr int64_t ahead = 16;  // how far before its use something in main memory is fetched

// A store is not read when it is opened, so whatever is followed is compared with its bounds here.
[[noreturn]] void throw_damaged(const char *what) { throw std::invalid_argument(what); }

// What a search needs beside its result. Each thread keeps its own, so that it has grown once for all.
struct Scratch {
    NumberTable<int32_t> entities;
    NumberTable<int64_t> edges, taken;
    std::vector<int64_t> drawn;
};

Scratch &scratch_of_thread() {
    static thread_local Scratch scratch;
    return scratch;
}

class Search {
  public:
    Search(const SampleRequest &request, Scratch &scratch)
        : request_(request),
          facts_(request.facts),
          entities_(scratch.entities),
          edges_(scratch.edges),
          taken_(scratch.taken),
          drawn_(scratch.drawn) {}

    Neighbourhood run(const int32_t *start, int64_t count) {
        begin_anew();
        for (int64_t i = 0; i < count; ++i) found_.start.push_back(meet(start[i]));
        int64_t level_begin = 0;
        for (int64_t hop = 0; hop < request_.hops; ++hop) {
            const int64_t level_end = static_cast<int64_t>(found_.node.size());
            if (level_begin == level_end) break;
            expanded_ = hop + 1 == request_.hops ? level_end : INT64_MAX;
            expand_level(level_begin, level_end, 0);
            expand_level(level_begin, level_end, 1);
            level_begin = level_end;
        }
        nodes_found_ = static_cast<int64_t>(found_.node.size());
        return std::move(found_);
    }

  private:
    // Room for a sample as large as the one before.
    void begin_anew() {
        const size_t nodes = nodes_found_, edges = edges_found_;
        found_ = {};
        found_.node.reserve(nodes);
        found_.slot.reserve(edges);
        found_.head.reserve(edges);
        found_.tail.reserve(edges);
        entities_.clear();
        edges_.clear();
        edges_found_ = 0;
    }

    int32_t meet(int32_t entity) {
        const int32_t number = entities_.number(entity);
        if (number == static_cast<int32_t>(found_.node.size())) found_.node.push_back(entity);
        return number;
    }

    void expand_level(int64_t level_begin, int64_t level_end, int side) {
        const int64_t *indptr = side == 0 ? facts_.indptr : facts_.out_indptr;
        for (int64_t i = level_begin; i < level_end; ++i) {
            if (i + 2 * ahead < level_end) __builtin_prefetch(&indptr[found_.node[i + 2 * ahead]]);
            if (i + ahead < level_end) prefetch_edge(indptr[found_.node[i + ahead]], side);
            const int32_t entity = found_.node[i], number = static_cast<int32_t>(i);
            const int64_t begin = indptr[entity], degree = indptr[entity + 1] - begin;
            if (begin < 0 || degree < 0 || begin + degree > facts_.edges) throw_damaged("a row begins nowhere");
            const int64_t most = request_.neighbours == 0 ? degree : request_.neighbours;
            if (degree <= most) {
                for (int64_t edge = begin; edge < begin + degree; ++edge) follow(number, edge, side);
                continue;
            }
            draw(degree, most, draw_key(request_.seed, entity, side));
            for (int64_t i_drawn = 0; i_drawn < most; ++i_drawn) {
                if (i_drawn + ahead < most) prefetch_edge(begin + drawn_[i_drawn + ahead], side);
                follow(number, begin + drawn_[i_drawn], side);
            }
        }
        while (waiting_first_ < waiting_last_) take(waiting_[waiting_first_++ % ahead], side);
    }

    // So many different positions of 0 .. degree - 1.
    void draw(int64_t degree, int64_t most, uint64_t key) {
        taken_.clear();
        drawn_.clear();
        for (int64_t last = degree - most; last < degree; ++last) {
            const int64_t number = static_cast<int64_t>(draw_number(key, last));
            const int32_t count = taken_.count();
            const bool is_new = taken_.number(number) == count;
            if (!is_new) taken_.number(last);
            drawn_.push_back(is_new ? number : last);
        }
    }

    void prefetch_edge(int64_t edge, int side) const {
        __builtin_prefetch((side == 0 ? facts_.source : facts_.target) + edge);
        if (side == 1) __builtin_prefetch(facts_.out_slot + edge);
    }

    struct Step {
        int64_t edge;
        int32_t number, neighbour;
    };

    // Ask for the neighbour's place in the table of entities, and take the edge that was asked for some time ago.
    void follow(int32_t number, int64_t edge, int side) {
        const int32_t neighbour = side == 0 ? facts_.source[edge] : facts_.target[edge];
        entities_.prefetch(neighbour);
        if (waiting_last_ - waiting_first_ == ahead) take(waiting_[waiting_first_++ % ahead], side);
        waiting_[waiting_last_++ % ahead] = {edge, number, neighbour};
    }

    void take(const Step &step, int side) {
        const int64_t slot = side == 0 ? step.edge : facts_.out_slot[step.edge];
        if (step.neighbour < 0 || step.neighbour >= facts_.nodes || slot < 0 || slot >= facts_.edges)
            throw_damaged("an edge leads nowhere");
        const int32_t other = meet(step.neighbour);
        // Both ends may draw an edge. One whose other end is not expanded cannot come a second time.
        if (other < expanded_) {
            const int32_t count = edges_.count();
            if (edges_.number(slot) != count) return;
        }
        if (++edges_found_ == INT32_MAX) throw std::length_error("the sample of one query has 2^31 - 1 edges");
        found_.slot.push_back(slot);
        found_.head.push_back(side == 0 ? other : step.number);
        found_.tail.push_back(side == 0 ? step.number : other);
    }

    const SampleRequest &request_;
    const FactRows &facts_;
    NumberTable<int32_t> &entities_;
    NumberTable<int64_t> &edges_, &taken_;
    std::vector<int64_t> &drawn_;
    int64_t expanded_ = 0;  // entities with a lower number have been expanded at the end
    int64_t nodes_found_ = 0, edges_found_ = 0;
    Step waiting_[ahead];
    uint64_t waiting_first_ = 0, waiting_last_ = 0;
    Neighbourhood found_;
};

}  // namespace

std::vector<Neighbourhood> sample_neighbourhoods(const SampleRequest &request) {
    std::vector<Neighbourhood> found(request.queries);
    const int threads = static_cast<int>(std::clamp<int64_t>(request.queries, 1, request.threads));
    // Each thread takes every so many-th query: what it finds does not depend on which thread that is.
    parallel(threads, [&](int thread) {
        Search search(request, scratch_of_thread());
        for (int64_t query = thread; query < request.queries; query += threads) {
            const int64_t begin = request.begin[query];
            found[query] = search.run(request.start + begin, request.begin[query + 1] - begin);
        }
    });
    return found;
}

}  // namespace nbfnet
