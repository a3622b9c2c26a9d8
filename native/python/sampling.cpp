// Sampling as Python calls it.
#include <nanobind/stl/tuple.h>
#include <string>
#include <utility>
#include <vector>

#include "python/checks.hpp"
#include "python/results.hpp"
#include "sampling/neighbourhood.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

// The facts of a graph by tail and by head. What they hold is not read here: a store may be larger than memory. Every
// number that a search follows is compared with its bound while it searches.
class FactArrays {
  public:
    // `in_facts` has a word for each fact, `out_facts` two.
    FactArrays(In<int64_t> in_begin, In<int64_t> in_facts, In<int64_t> out_begin, In<int64_t> out_facts)
        : in_begin_(in_begin), in_(in_facts), out_begin_(out_begin), out_(out_facts) {
        static_assert(sizeof(InFact) == sizeof(int64_t) && sizeof(OutFact) == 2 * sizeof(int64_t));
        expect_length("out_begin", length(out_begin), expect_rows("in_begin", in_begin) + 1);
        expect_length("out_facts", length(out_facts), 2 * length(in_facts));
    }

    FactRows rows() const {
        return {length(in_begin_) - 1, length(in_),
                in_begin_.data(),      reinterpret_cast<const InFact *>(in_.data()),
                out_begin_.data(),     reinterpret_cast<const OutFact *>(out_.data())};
    }

  private:
    In<int64_t> in_begin_, in_, out_begin_, out_;
};

using Samples = std::tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<int32_t>, NumPy<int64_t>, NumPy<int64_t>,
                           NumPy<int32_t>, NumPy<int32_t>, NumPy<int32_t>>;

// begin of each query's nodes, nodes, numbers of the entities that queries start from; begin of each query's edges,
// their slots, relations, and heads and tails by number.
Samples sample(const FactArrays &facts, In<int64_t> begin, In<int32_t> start, int64_t hops, int64_t neighbours,
               uint64_t seed, int threads) {
    const FactRows rows = facts.rows();
    const int64_t queries = length(begin) - 1;
    expect(queries >= 0, "begin is empty, expected at least one entry");
    expect_runs("begin", begin, queries, length(start));
    expect_ids("start", start, rows.nodes);
    expect(hops >= 0 && hops <= most_ids, "hops is " + std::to_string(hops) + ", expected 0 or more");
    expect(neighbours >= 0, "neighbours is " + std::to_string(neighbours) + ", expected 0 or more");
    expect_threads(threads);
    Neighbourhoods found = [&] {
        nb::gil_scoped_release release;
        return sample_neighbourhoods({rows, queries, begin.data(), start.data(), hops, neighbours, seed, threads});
    }();
    const int64_t nodes = found.node_begin.back(), edges = found.edge_begin.back();
    return {kept(std::move(found.node_begin)),
            kept<int32_t>(std::move(found.node), nodes),
            kept(std::move(found.start)),
            kept(std::move(found.edge_begin)),
            kept<int64_t>(std::move(found.slot), edges),
            kept<int32_t>(std::move(found.relation), edges),
            kept<int32_t>(std::move(found.head), edges),
            kept<int32_t>(std::move(found.tail), edges)};
}

}  // namespace
}  // namespace nbfnet

void bind_sampling(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<FactArrays>(m, "FactArrays")
        .def(nb::init<In<int64_t>, In<int64_t>, In<int64_t>, In<int64_t>>(), "in_begin"_a.noconvert(),
             "in_facts"_a.noconvert(), "out_begin"_a.noconvert(), "out_facts"_a.noconvert());
    m.def("sample_neighbourhoods", &sample, "facts"_a, "begin"_a.noconvert(), "start"_a.noconvert(), "hops"_a,
          "neighbours"_a, "seed"_a, "threads"_a);
}
