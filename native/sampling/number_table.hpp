// NumberTable: numbers things 0, 1, 2, ... in the order they are first met. It is as large as what it has met, whatever
// the size of the graph, and is emptied in no time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sampling/drawing.hpp"

namespace nbfnet {

template <class Key>
class NumberTable {
  public:
    NumberTable() : places_(1 << 10) {}  // small, as most samples are

    void clear() {
        count_ = 0;
        if (++era_ == 0) {  // all eras were used
            std::fill(places_.begin(), places_.end(), Place{});
            era_ = 1;
        }
    }

    // The number of a key; one that is new gets the next.
    int32_t number(Key key) {
        if (2 * static_cast<size_t>(count_) >= places_.size()) grow();
        Place &place = find(key);
        if (place.era != era_) place = {key, count_++, era_};
        return place.number;
    }

    void prefetch(Key key) const { __builtin_prefetch(&places_[home(key)]); }
    int32_t count() const { return count_; }

  private:
    struct Place {
        Key key = 0;
        int32_t number = 0;
        uint32_t era = 0;
    };

    size_t home(Key key) const { return mix(static_cast<uint64_t>(key)) & (places_.size() - 1); }

    Place &find(Key key) {
        size_t at = home(key);
        while (places_[at].era == era_ && places_[at].key != key) at = (at + 1) & (places_.size() - 1);
        return places_[at];
    }

    void grow() {
        std::vector<Place> before(2 * places_.size());
        before.swap(places_);
        for (const Place &place : before)
            if (place.era == era_) find(place.key) = place;
    }

    std::vector<Place> places_;
    int32_t count_ = 0;
    uint32_t era_ = 1;
};

}  // namespace nbfnet
