// The arrays of a RelationalCSR and its transpose as Python gives them, held as long as anything here uses them.
#pragma once

#include "bindings.hpp"
#include "row_plan.hpp"

namespace nbfnet {

struct GraphArrays {
    In<int64_t> indptr;
    In<int32_t> source, relation;
    In<int64_t> out_indptr;
    In<int32_t> target;

    Graph graph() const {
        return {static_cast<int64_t>(indptr.shape(0)) - 1, static_cast<int64_t>(source.shape(0)), indptr.data(),
                source.data(), relation.data(), out_indptr.data(), target.data()};
    }
};

}  // namespace nbfnet
