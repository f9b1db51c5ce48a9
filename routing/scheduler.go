package routing

import (
	"cmp"
	"slices"
	"time"
)

// Moment is what a [Scheduler] knows beside the ready nodes.
type Moment struct {
	Now    time.Time // time of the decision, by the run's clock
	Active []Node    // nodes that are worked on
}

// Scheduler is a rule of a team: it orders the work that can start now.
//
// It gets the ready nodes and returns them in the order in which they are to start; a team
// starts the first whose profile has room. A node that it leaves out is held back until it
// is asked again. It returns no other node, and none twice. Its answer must not depend on
// the order of ready. If it holds all back while nothing is worked on, the run is stuck.
//
// Order is a pure function: it is called once for each decision, and again when a run is
// resumed, with equal arguments.
type Scheduler interface {
	Order(ready []Node, at Moment) []Node
}

// SchedulerFunc is a function as a [Scheduler].
type SchedulerFunc func(ready []Node, at Moment) []Node

// Order returns f(ready, at).
func (f SchedulerFunc) Order(ready []Node, at Moment) []Node { return f(ready, at) }

// Order returns all of ready, as [Graph.Queue] orders them: by priority with what it gained
// by age, phase, creation, and the order of adding (Node.Number). It changes nothing.
//
// It sorts: a team whose Scheduler is a Preference may take [Graph.Next] in its place.
func (p Preference) Order(ready []Node, at Moment) []Node {
	rank := make(map[string]int, len(p.Phases))
	for i, phase := range p.Phases {
		if _, ok := rank[phase]; !ok {
			rank[phase] = i
		}
	}
	place := func(n Node) int {
		if i, ok := rank[n.Phase]; ok {
			return i
		}
		return len(rank)
	}
	ordered := slices.Clone(ready)
	slices.SortStableFunc(ordered, func(a, b Node) int {
		return cmp.Or(
			cmp.Compare(p.urgency(b, at.Now), p.urgency(a, at.Now)),
			cmp.Compare(place(a), place(b)),
			a.Created.Compare(b.Created),
			cmp.Compare(a.Number, b.Number),
		)
	})
	return ordered
}

// urgency is the priority of a node and what it has gained by age, up to a time.
func (p Preference) urgency(n Node, now time.Time) int64 {
	if p.AgeEvery <= 0 {
		return int64(n.Priority)
	}
	gained := minus(now.UnixNano()/int64(p.AgeEvery), n.Since.UnixNano()/int64(p.AgeEvery))
	return minus(int64(n.Priority), minus(0, gained))
}
