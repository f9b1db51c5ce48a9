package sched

import "github.com/convene-go/convene/providers"

// queue are the calls that wait for room in a budget, the earliest first. Calls of
// a class are decided alike: while its first one waits, the others do.
type queue struct {
	ends    effect // a ring: before the first call, after the last one
	n       int
	classes map[classKey]*class
}

type classKey struct {
	scope    *Scope
	agent    string
	estimate providers.NanoUSD
	recorded *effect // a call that the log knows has a class of its own
}

type class struct {
	key   classKey
	n     int   // calls of it that wait
	round int64 // the latest round in which its first one had to wait
}

// add puts e before another call; nil: at the end.
func (q *queue) add(e, before *effect) {
	if q.classes == nil {
		q.classes = map[classKey]*class{}
		q.ends.prev, q.ends.next = &q.ends, &q.ends
	}
	if before == nil {
		before = &q.ends
	}
	e.prev, e.next = before.prev, before
	e.prev.next, e.next.prev = e, e

	key := classKey{scope: e.scope, agent: e.Name, estimate: e.Request.Limits.Estimate}
	if e.recorded() {
		key.recorded = e
	}
	if e.class = q.classes[key]; e.class == nil {
		e.class = &class{key: key}
		q.classes[key] = e.class
	}
	e.class.n++
	q.n++
}

// remove takes e out, if it is there.
func (q *queue) remove(e *effect) {
	c := e.class
	if c == nil {
		return
	}
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next, e.class = nil, nil, nil
	q.n--
	if c.n--; c.n == 0 {
		delete(q.classes, c.key)
	}
}

// decide goes through the calls that wait, in their order: each starts, is refused,
// or keeps waiting. It is called when something of the log was applied.
func (s *Sched) decide() {
	s.refuseAsRecorded()
	if s.queue.n == 0 {
		return
	}
	s.round++
	waiting := 0 // calls of classes that were found to wait
	var next *effect
	for e := s.queue.ends.next; waiting < s.queue.n; e = next {
		next = e.next
		if e.class.round == s.round {
			continue
		}
		w, waits, why := s.judge(e)
		switch {
		case why != nil && !e.recorded():
			s.turnAway(e, why)
		case waits || why != nil:
			e.class.round = s.round
			waiting += e.class.n
		default:
			s.queue.remove(e)
			s.admit(e, w)
		}
	}
}
