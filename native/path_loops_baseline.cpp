// The inner loops for any processor.
#include "path_edges.hpp"

namespace nbfnet::baseline {
#include "path_loops.inl"
}
