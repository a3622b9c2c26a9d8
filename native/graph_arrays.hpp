// The arrays of a RelationalCSR and its transpose as Python gives them, held as long as anything here uses them.
#pragma once

#include <algorithm>

#include "bindings.hpp"
#include "row_plan.hpp"

namespace nbfnet {

inline int64_t one_more_than_the_largest(const In<int32_t> &array) {
    const int32_t *begin = array.data(), *end = begin + array.shape(0);
    return begin == end ? 0 : int64_t{*std::max_element(begin, end)} + 1;
}

struct GraphArrays {
    In<int64_t> indptr;
    In<int32_t> source, relation;
    In<int64_t> out_indptr;
    In<int32_t> target;
    int64_t relations = one_more_than_the_largest(relation);  // so many representations the edges ask for, at least

    int64_t nodes() const { return static_cast<int64_t>(indptr.shape(0)) - 1; }
    Graph graph() const {
        return {nodes(), static_cast<int64_t>(source.shape(0)), indptr.data(),
                source.data(), relation.data(), out_indptr.data(), target.data()};
    }
};

}  // namespace nbfnet
