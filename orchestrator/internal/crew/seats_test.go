package crew

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// dumb is places as one would write them down: each place is a pile of calls, the last of
// which uses it, and all that wait are in one list.
type dumb struct {
	limit   int
	piles   [][]int
	waiting []int
	party   map[int]int   // of a call
	line    map[int]int   // of a party
	turn    map[int]int   // time since which a line waits for its turn
	waits   map[int][]int // parties that a call waits for
	lenders [][2]int      // pairs of these, the earliest first
	now     int
}

// next returns the first call that waits and is of one of those parties, and forgets it.
func (d *dumb) next(parties ...int) (call int, ok bool) {
	for _, p := range parties {
		for i, c := range d.waiting {
			if d.party[c] == p {
				d.waiting = slices.Delete(d.waiting, i, i+1)
				return c, true
			}
		}
	}
	return 0, false
}

// fill gives on what can be given.
func (d *dumb) fill() {
	for i := range d.piles {
		for {
			c, ok := d.next(d.waits[last(d.piles[i])]...)
			if !ok {
				break
			}
			d.piles[i] = append(d.piles[i], c)
		}
	}
	if len(d.piles) == d.limit || len(d.waiting) == 0 {
		return
	}
	best := slices.MinFunc(d.waiting, func(a, b int) int { return d.turn[d.line[d.party[a]]] - d.turn[d.line[d.party[b]]] })
	d.waiting = slices.DeleteFunc(d.waiting, func(c int) bool { return c == best })
	d.now++
	d.turn[d.line[d.party[best]]] = d.now
	d.piles = append(d.piles, []int{best})
	d.fill()
}

func last(pile []int) int { return pile[len(pile)-1] }

func (d *dumb) start(c int) {
	for _, l := range d.lenders {
		for i, pile := range d.piles {
			if l[1] == d.party[c] && last(pile) == l[0] {
				d.piles[i] = append(pile, c)
				d.fill()
				return
			}
		}
	}
	d.now++
	if l := d.line[d.party[c]]; !slices.ContainsFunc(d.waiting, func(c int) bool { return d.line[d.party[c]] == l }) {
		d.turn[l] = d.now
	}
	d.waiting = append(d.waiting, c)
	d.fill()
}

func (d *dumb) wait(c, party int) {
	d.waits[c], d.lenders = append(d.waits[c], party), append(d.lenders, [2]int{c, party})
	d.fill()
}

func (d *dumb) waitNoMore(c, party int) {
	d.waits[c] = slices.DeleteFunc(d.waits[c], func(p int) bool { return p == party })
	d.lenders = slices.DeleteFunc(d.lenders, func(l [2]int) bool { return l == [2]int{c, party} })
}

func (d *dumb) end(c int) {
	d.waiting = slices.DeleteFunc(d.waiting, func(w int) bool { return w == c })
	for i := range d.piles {
		d.piles[i] = slices.DeleteFunc(d.piles[i], func(h int) bool { return h == c })
	}
	d.piles = slices.DeleteFunc(d.piles, func(pile []int) bool { return len(pile) == 0 })
	d.fill()
}

// shape says who has a place, and from whom.
func (d *dumb) shape() map[int]string {
	shape := map[int]string{}
	for _, pile := range d.piles {
		for i, c := range pile {
			shape[c] = "own"
			if i > 0 {
				shape[c] = fmt.Sprint("from ", pile[i-1])
			}
		}
	}
	for _, c := range d.waiting {
		shape[c] = "waits"
	}
	return shape
}

// hall is a places with numbered seats.
type hall struct {
	places
	parties []*party
	seats   map[int]*seat
	stops   map[[2]int]func()
}

func (h *hall) shape() map[int]string {
	shape := map[int]string{}
	for c, s := range h.seats {
		switch {
		case s.inLine != nil:
			shape[c] = "waits"
		case s.from != nil:
			for from, lender := range h.seats {
				if lender == s.from {
					shape[c] = fmt.Sprint("from ", from)
				}
			}
		case s.holds:
			shape[c] = "own"
		}
	}
	return shape
}

// TestPlacesAreAsTheModel does random things with places and with the dumb ones: calls of
// parties that share a line or have their own start, end, rest, and wait for parties.
func TestPlacesAreAsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &dumb{limit: rapid.IntRange(1, 4).Draw(rt, "places"), party: map[int]int{}, line: map[int]int{}, turn: map[int]int{}, waits: map[int][]int{}}
		h := &hall{seats: map[int]*seat{}, stops: map[[2]int]func(){}}
		h.limit, h.pool = d.limit, &jobs.Pool{}
		for p := range 5 {
			d.line[p] = rapid.IntRange(0, p).Draw(rt, "line")
			h.parties = append(h.parties, &party{})
			if of := d.line[p]; of != p {
				d.line[p] = d.line[of]
				h.parties[p].join(&inside{t.Context(), &seat{party: h.parties[of]}})
			}
		}
		calls := 0
		for range rapid.IntRange(1, 60).Draw(rt, "acts") {
			c := -1
			if here := slices.Sorted(maps.Keys(h.seats)); len(here) > 0 {
				c = rapid.SampledFrom(here).Draw(rt, "call")
			}
			party := rapid.IntRange(0, 4).Draw(rt, "party")
			switch what := rapid.SampledFrom([]string{"start", "start", "start", "end", "end", "rest", "wait", "wait no more"}).Draw(rt, "what"); {
			case what == "start":
				d.party[calls] = party
				h.seats[calls] = &seat{of: &h.places, party: h.parties[party]}
				d.start(calls)
				h.take(h.seats[calls])
				calls++
			case c < 0:
			case what == "end":
				left := rapid.Bool().Draw(rt, "left behind") // then its agent still waits for runs
				for key, stop := range h.stops {
					if key[0] == c && !left {
						stop()
						delete(h.stops, key)
						d.waitNoMore(c, key[1])
					}
				}
				d.end(c)
				h.seats[c].free()
				if len(d.waits[c]) == 0 {
					delete(h.seats, c)
				}
			case what == "rest" && h.seats[c].holds: // other goroutines of its agent may wait for runs meanwhile
				d.end(c)
				h.seats[c].free()
				d.start(c)
				h.seats[c].granted = make(chan struct{})
				h.take(h.seats[c])
			case what == "wait" && h.stops[[2]int{c, party}] == nil:
				d.wait(c, party)
				h.stops[[2]int{c, party}] = h.lendTo(&inside{t.Context(), h.seats[c]}, h.parties[party])
			case what == "wait no more" && h.stops[[2]int{c, party}] != nil:
				d.waitNoMore(c, party)
				h.stops[[2]int{c, party}]()
				delete(h.stops, [2]int{c, party})
			}
			if got, want := h.shape(), d.shape(); !maps.Equal(got, want) {
				rt.Fatalf("places are %v, want %v", got, want)
			}
			if h.held != len(d.piles) || h.held > h.limit || h.held < h.limit && h.turns.Len() > 0 {
				rt.Fatalf("%d of %d places are held, want %d, and %d lines wait", h.held, h.limit, len(d.piles), h.turns.Len())
			}
		}
		for _, s := range h.seats {
			s.free()
		}
		if h.held != 0 || h.turns.Len() != 0 {
			rt.Fatalf("%d places are held in the end, and %d lines wait", h.held, h.turns.Len())
		}
	})
}

// TestTurns has a party of one call come to a crew that another one fills.
func TestTurns(t *testing.T) {
	h := &hall{}
	h.limit, h.pool = 1, &jobs.Pool{}
	large, small := &party{}, &party{}
	var many []*seat
	for range 1000 {
		many = append(many, &seat{of: &h.places, party: large})
		h.take(many[len(many)-1])
	}
	one, two := &seat{of: &h.places, party: small}, &seat{of: &h.places, party: small}
	require.False(t, h.take(one))
	require.False(t, h.take(two))
	many[0].free()
	assert.True(t, many[1].holds, "the large party came first")
	many[1].free()
	assert.True(t, one.holds, "and is not served again before the small one")
	one.free()
	assert.True(t, many[2].holds)
	many[2].free()
	assert.True(t, two.holds)
	two.free()
	assert.Nil(t, small.turns().turn, "a party that waits no more has no turn")
	for i := 3; i < 1000; i++ {
		require.True(t, many[i].holds, "first in, first out")
		many[i].free()
	}
	assert.Zero(t, h.held)
}

func TestSeatOf(t *testing.T) {
	type other struct{}
	s := &seat{}
	ctx := &inside{context.WithValue(t.Context(), other{}, 1), s}
	assert.Same(t, s, seatOf(context.WithoutCancel(ctx)))
	assert.Equal(t, 1, ctx.Value(other{}))
	assert.Nil(t, seatOf(t.Context()))
}
