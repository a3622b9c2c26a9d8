// NumberTable: numbers entities 0, 1, 2, ... in the order they are first met. It is as large as what it has met,
// whatever the size of the graph.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sampling/drawing.hpp"

namespace nbfnet {

class NumberTable {
  public:
    // Forgets everything, with room for about so many entities: what is cleared is in the cache when it is used.
    void reset(int64_t expected) {
        count_ = 0;
        clear(std::bit_ceil(static_cast<size_t>(std::max<int64_t>(2 * expected, 1 << 8))));
    }

    // So many entities can be numbered now.
    void make_room(int64_t more) {
        while (2 * (static_cast<size_t>(count_) + static_cast<size_t>(more)) > size_) grow();
    }

    // The number of an entity; one that is new gets the next, and is listed under it. There must be room in the list
    // for one more. Whether it is new is not predictable, so nothing branches on it.
    int32_t number(int32_t entity, int32_t *list) {
        Place &place = find(entity);
        const bool is_new = !place.number;
        list[count_] = entity;
        count_ += is_new;
        place = {entity, is_new ? count_ : place.number};
        return place.number - 1;
    }

    void prefetch(int32_t entity) const { __builtin_prefetch(&places_[home(entity)], 1); }
    int32_t count() const { return count_; }

  private:
    struct Place {
        int32_t entity;
        int32_t number;  // one more than the entity's: 0 is a free place
    };

    // The upper bits of a product depend on all bits of the entity.
    size_t home(int32_t entity) const { return golden * static_cast<uint32_t>(entity) >> shift_; }

    Place &find(int32_t entity) {
        size_t at = home(entity);
        while (places_[at].number && places_[at].entity != entity) at = (at + 1) & (size_ - 1);
        return places_[at];
    }

    void clear(size_t size) {
        size_ = size;
        shift_ = 64 - std::countr_zero(size);
        if (places_.size() < size) places_ = std::vector<Place>(size);
        std::fill_n(places_.begin(), size, Place{});
    }

    void grow() {
        const std::vector<Place> before(places_.begin(), places_.begin() + static_cast<int64_t>(size_));
        clear(2 * size_);
        for (const Place &place : before)
            if (place.number) find(place.entity) = place;
    }

    std::vector<Place> places_;  // the first `size_` of them are used
    size_t size_ = 0;
    int shift_ = 0;
    int32_t count_ = 0;
};

}  // namespace nbfnet
