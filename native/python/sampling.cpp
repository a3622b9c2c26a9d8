// Sampling as Python calls it.
#include <nanobind/stl/tuple.h>
#include <algorithm>
#include <string>
#include <vector>

#include "python/checks.hpp"
#include "sampling/neighbourhood.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

template <class T>
using NumPy = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// One field of every query's sample, end to end.
template <class T>
NumPy<T> joined(const std::vector<Neighbourhood> &samples, std::vector<T> Neighbourhood::*field) {
    size_t size = 0;
    for (const Neighbourhood &sample : samples) size += (sample.*field).size();
    T *all = new T[size + 1], *end = all;
    for (const Neighbourhood &sample : samples) end = std::copy((sample.*field).begin(), (sample.*field).end(), end);
    nb::capsule owner(all, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return {all, {size}, owner};
}

template <class T>
NumPy<int64_t> begin_of(const std::vector<Neighbourhood> &samples, std::vector<T> Neighbourhood::*field) {
    int64_t *begin = new int64_t[samples.size() + 1];
    nb::capsule owner(begin, [](void *p) noexcept { delete[] static_cast<int64_t *>(p); });
    begin[0] = 0;
    for (size_t query = 0; query < samples.size(); ++query)
        begin[query + 1] = begin[query] + static_cast<int64_t>((samples[query].*field).size());
    return {begin, {samples.size() + 1}, owner};
}

// The facts of a graph by tail and by head. What they hold is not read here: a store may be larger than memory. Every
// number that a search follows is compared with its bound while it searches.
class FactArrays {
  public:
    FactArrays(In<int64_t> indptr, In<int32_t> source, In<int64_t> out_indptr, In<int32_t> target, In<int64_t> out_slot)
        : indptr_(indptr), source_(source), out_indptr_(out_indptr), target_(target), out_slot_(out_slot) {
        const int64_t nodes = expect_rows("indptr", indptr), edges = length(source);
        expect_length("out_indptr", length(out_indptr), nodes + 1);
        expect_length("target", length(target), edges);
        expect_length("out_slot", length(out_slot), edges);
    }

    FactRows rows() const {
        return {length(indptr_) - 1, length(source_), indptr_.data(),  source_.data(),
                out_indptr_.data(),  target_.data(),  out_slot_.data()};
    }

  private:
    In<int64_t> indptr_;
    In<int32_t> source_;
    In<int64_t> out_indptr_;
    In<int32_t> target_;
    In<int64_t> out_slot_;
};

using Samples = std::tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<int32_t>, NumPy<int64_t>, NumPy<int64_t>,
                           NumPy<int32_t>, NumPy<int32_t>>;

// begin of each query's nodes, nodes, numbers of the entities that queries start from; begin of each query's edges,
// their slots, heads and tails by number.
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
    std::vector<Neighbourhood> found;
    {
        nb::gil_scoped_release release;
        found = sample_neighbourhoods({rows, queries, begin.data(), start.data(), hops, neighbours, seed, threads});
    }
    return {begin_of(found, &Neighbourhood::node), joined(found, &Neighbourhood::node),
            joined(found, &Neighbourhood::start),  begin_of(found, &Neighbourhood::slot),
            joined(found, &Neighbourhood::slot),   joined(found, &Neighbourhood::head),
            joined(found, &Neighbourhood::tail)};
}

}  // namespace
}  // namespace nbfnet

void bind_sampling(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<FactArrays>(m, "FactArrays")
        .def(nb::init<In<int64_t>, In<int32_t>, In<int64_t>, In<int32_t>, In<int64_t>>(), "indptr"_a.noconvert(),
             "source"_a.noconvert(), "out_indptr"_a.noconvert(), "target"_a.noconvert(), "out_slot"_a.noconvert());
    m.def("sample_neighbourhoods", &sample, "facts"_a, "begin"_a.noconvert(), "start"_a.noconvert(), "hops"_a,
          "neighbours"_a, "seed"_a, "threads"_a);
}
