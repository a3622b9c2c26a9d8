import pytest

from nbfnet.semiring.path_enumeration import enumerate_paths, path_enumeration, path_representation
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES

#   0 --0.5--> 1 --0.25--> 2      and 0 --0.75--> 2 twice, and a loop 2 --0.5--> 2
DIAMOND = (3, [0, 1, 0, 0, 2], [1, 2, 2, 2, 2], [0.5, 0.25, 0.75, 0.75, 0.5])


def test_all_paths_are_walked(make_edges):
    edges = make_edges(*DIAMOND)
    walked = sorted(tuple(int(edges.csr.edge[s]) for s in path) for path, _ in enumerate_paths(edges, 0, 2))
    assert walked == [(), (0,), (0, 1), (2,), (2, 4), (3,), (3, 4)]


def test_ends_are_right(make_edges):
    edges = make_edges(*DIAMOND)
    for path, end in enumerate_paths(edges, 0, 3):
        assert end == (edges.csr.target[path[-1]] if path else 0)


@pytest.mark.parametrize(
    ("semiring", "expected"),
    [
        (PLUS_TIMES, [1.0, 0.5, 0.75 * 2 + 0.5 * 0.25 + 2 * 0.75 * 0.5]),
        (MIN_PLUS, [0.0, 0.5, 0.75]),
        (MAX_MIN, [float("inf"), 0.5, 0.75]),
        (MAX_TIMES, [1.0, 0.5, 0.75]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_sums_by_hand(make_edges, semiring, expected):
    assert path_enumeration(make_edges(*DIAMOND), 0, semiring, 2).tolist() == expected


def test_a_representation_follows_the_order(make_edges):
    edges = make_edges(*DIAMOND)
    slot = {int(edge): slot for slot, edge in enumerate(edges.csr.edge)}
    assert path_representation(edges, (slot[0], slot[1]), MIN_PLUS) == 0.75
    assert path_representation(edges, (), MAX_MIN) == float("inf")
