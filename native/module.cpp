// The one compiled extension of the package, `nbfnet._native`: plain pointers in, no PyTorch headers.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_native, m) {
    m.doc() = "Compiled core of nbfnet. Arrays in, arrays out; every check is done by the Python caller.";
    bind_bellman_ford(m);
    bind_counting_sort(m);
}
