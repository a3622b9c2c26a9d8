// The one compiled extension of the package, `nbfnet._native`: plain pointers in, no PyTorch headers.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_native, m) {
    nanobind::set_leak_warnings(false);  // what lives until the interpreter ends is no leak
    m.doc() = "Compiled core of nbfnet. Arrays or addresses in and out. Every entry checks its arguments once.";
    bind_block_pool(m);
    bind_beam_search(m);
    bind_bellman_ford(m);
    bind_counting_sort(m);
    bind_row_plan(m);
    bind_fused_iteration(m);
    bind_instruction_set(m);
    bind_relational_spmm(m);
}
