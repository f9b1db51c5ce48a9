package crew

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// party is the calls of a Party.
type party struct {
	own  line  // line of a party that no agent began
	line *line // line in which its calls wait; nil: own

	// Under places.mu:
	waiting list.List // seats of calls that wait, first in, first out
	lenders []*seat   // seats of calls whose agents wait for the party: it may use their places
}

// join is Party.Join.
func (p *party) join(ctx context.Context) {
	if outer := seatOf(ctx); outer != nil {
		p.line = outer.party.turns()
	}
}

// turns returns the line in which calls of p wait.
func (p *party) turns() *line {
	if p.line != nil {
		return p.line
	}
	return &p.own
}

// line is where calls wait that take turns together.
type line struct {
	waiting list.List     // seats of calls, first in, first out
	turn    *list.Element // turn of the line in places.turns; nil: nobody waits in it
}

// places are what Config.Parallel limits. The zero value has no limit.
//
// The idea: lines with calls stand in a ring. A place that is free goes to the first call
// of the line whose turn it is, and the line goes to the end of the ring. A call whose
// agent waits for a run lends its place to a call of that run. So agents that run flows on
// their own engine always find a place.
//
// Invariants: while calls wait, all places are held. A place is held by the call that has
// it, and used by the last one of the calls that lend it to each other.
type places struct {
	limit int        // number of places; 0: no limit, and nothing here is used
	pool  *jobs.Pool // goroutines for calls that get their place later

	mu    sync.Mutex
	held  int       // number of places that calls hold; one that is lent counts once
	turns list.List // lines (*line) in which calls wait, in the order of their turns
}

// seat is what a call has to do with places. What is behind the blank line is under
// places.mu.
type seat struct {
	of    *places
	party *party
	job   jobs.Job // makes the call, where it gets its place later

	holds    bool          // the call has a place, its own or a lent one
	from     *seat         // seat that lent the place; nil: it is the call's own
	user     *seat         // seat that the place is lent to; nil: none
	waitsFor []*party      // parties that the call's agent waits for
	granted  chan struct{} // closed when the call gets a place again; nil: it has not begun

	inLine, inParty *list.Element // place in both lists; nil: the call does not wait
}

// take gives s a place, or has it wait in its line. It reports whether s has one now.
func (p *places) take(s *seat) bool {
	for _, l := range s.party.lenders {
		if l.holds && l.user == nil {
			l.user, s.from, s.holds = s, l, true
			p.lend(s) // its agent may have been waiting for a run all the time
			return true
		}
	}
	if p.held < p.limit {
		p.held++
		s.holds = true
		return true
	}
	l := s.party.turns()
	s.inLine, s.inParty = l.waiting.PushBack(s), s.party.waiting.PushBack(s)
	if l.turn == nil {
		l.turn = p.turns.PushBack(l)
	}
	return false
}

// leave takes s out of the line. It reports whether s waited.
func (p *places) leave(s *seat) bool {
	if s.inLine == nil {
		return false
	}
	l := s.party.turns()
	l.waiting.Remove(s.inLine)
	s.party.waiting.Remove(s.inParty)
	s.inLine, s.inParty = nil, nil
	if l.waiting.Len() == 0 {
		p.turns.Remove(l.turn)
		l.turn = nil
	}
	return true
}

// give takes the place of s, and gives it to the call that uses it already, back to the
// call that lent it, or to the next one that waits.
func (p *places) give(s *seat) {
	from, user := s.from, s.user
	switch {
	case !s.holds:
	case user != nil:
		if user.from = from; from != nil {
			from.user = user
		}
	case from != nil:
		from.user = nil
		p.lend(from)
	case p.turns.Len() == 0:
		p.held--
	default:
		l, _ := p.turns.Front().Value.(*line)
		p.turns.MoveToBack(l.turn)
		next, _ := l.waiting.Front().Value.(*seat)
		p.grant(next, nil)
	}
	s.holds, s.from, s.user = false, nil, nil
}

// grant gives a place to s, which waits.
func (p *places) grant(s, from *seat) {
	p.leave(s)
	if s.holds, s.from = true, from; from != nil {
		from.user = s
	}
	if s.granted != nil {
		close(s.granted)
	} else {
		p.pool.Do(s.job)
	}
	p.lend(s)
}

// lend gives the place of s, if s does not use it, to a call that s waits for.
func (p *places) lend(s *seat) {
	for _, of := range s.waitsFor {
		if s.holds && s.user == nil && of.waiting.Len() > 0 {
			first, _ := of.waiting.Front().Value.(*seat)
			p.grant(first, s)
		}
	}
}

// lendTo has the call whose agent ctx is of lend its place to calls of to, until stop is called.
func (p *places) lendTo(ctx context.Context, to *party) (stop func()) {
	s := seatOf(ctx)
	if s == nil || s.of != p {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.waitsFor, to.lenders = append(s.waitsFor, to), append(to.lenders, s)
	p.lend(s)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.waitsFor, to.lenders = without(s.waitsFor, to), without(to.lenders, s)
	}
}

// without returns s without one v.
func without[E comparable](s []E, v E) []E {
	i := slices.Index(s, v)
	return slices.Delete(s, i, i+1)
}

// free has the call wait for no place, and takes the one that it holds.
func (s *seat) free() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.leave(s)
	s.of.give(s)
}

// rest makes the wait between two attempts without the call's place. When it returns, the
// call has a place again, or ctx is over: then the call makes no attempt, and free follows.
func (s *seat) rest(ctx context.Context, wait func()) {
	s.free()
	wait()
	s.of.mu.Lock()
	s.granted = make(chan struct{})
	has := s.of.take(s)
	s.of.mu.Unlock()
	if has {
		return
	}
	select {
	case <-s.granted:
	case <-ctx.Done():
	}
}

// inside is the context of a call. Its agent's contexts are made from it.
type inside struct {
	context.Context //nolint:containedctx // it is a context
	seat            *seat
}

type seatKey struct{}

// Value implements context.Context.
func (i *inside) Value(key any) any {
	if key == (seatKey{}) {
		return i.seat
	}
	return i.Context.Value(key)
}

// seatOf returns the seat of the call whose agent ctx is of; nil: it is of none that needs
// a place.
func seatOf(ctx context.Context) *seat {
	s, _ := ctx.Value(seatKey{}).(*seat)
	return s
}
