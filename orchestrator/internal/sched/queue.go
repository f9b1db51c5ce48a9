package sched

import (
	"cmp"
	"slices"
)

// alike reports whether two calls that wait are in one class. While the first call of a
// class waits, all others of it do. So a decision costs one look at each class.
func alike(a, b *effect) bool {
	return a.scope == b.scope && a.Name == b.Name && a.Request.Limits.Estimate == b.Request.Limits.Estimate &&
		a.own.Calls == b.own.Calls && a.own.Tokens == b.own.Tokens && !a.recorded() && !b.recorded()
}

// enqueue makes a call wait in its class, by its place.
func (s *Sched) enqueue(e *effect) {
	e.queued = true
	i := slices.IndexFunc(s.queue, func(class []*effect) bool { return alike(class[0], e) })
	if i < 0 {
		i, s.queue = len(s.queue), append(s.queue, nil)
	}
	at, _ := slices.BinarySearchFunc(s.queue[i], e, byPlace)
	s.queue[i] = slices.Insert(s.queue[i], at, e)
}

// dequeue removes e from the calls that wait, if it is one of them.
func (s *Sched) dequeue(e *effect) {
	if !e.queued {
		return
	}
	e.queued = false
	i := slices.IndexFunc(s.queue, func(class []*effect) bool { return class[0] == e || alike(class[0], e) })
	class := s.queue[i]
	switch at, _ := slices.BinarySearchFunc(class, e, byPlace); {
	case len(class) == 1:
		s.queue = slices.Delete(s.queue, i, i+1)
	case at == 0:
		s.queue[i] = class[1:] // no copy: a class is emptied in linear time
	default:
		s.queue[i] = slices.Delete(class, at, at+1)
	}
}

// byPlace orders effects by their places.
func byPlace(a, b *effect) int { return cmp.Compare(a.place, b.place) }

// decideAll decides about the calls that wait, in the order of their places: each one
// starts, is refused, or keeps waiting. It is called whenever the log was applied.
func (s *Sched) decideAll() {
	for len(s.refusals) > 0 && s.refusals[0].known.Refused.After <= s.applied {
		e := s.refusals[0]
		s.refusals = s.refusals[1:]
		if e.branch.wait == e {
			s.refuse(e, nil) // today it waits or is under way
		}
	}
	s.round++
	for i, sorted := 0, false; i < len(s.queue); {
		if !sorted {
			slices.SortFunc(s.queue[i:], func(a, b []*effect) int { return byPlace(a[0], b[0]) })
		}
		if sorted = s.decide(s.queue[i][0]); sorted { // else a later call of its class is first
			i++
		}
	}
}
