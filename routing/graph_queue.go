package routing

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Limits say how many nodes of a [Graph] may be active at once.
type Limits struct {
	// Global is the limit for all nodes together. Less than 1 counts as 1.
	Global int

	// Profiles are limits for the nodes of one profile. A profile that is not in it
	// has no limit of its own; of one whose limit is below 1, none is started.
	Profiles map[string]int
}

// Next returns the first ready node that the limits allow to start now. A profile
// that is full does not hold up others. To start the node, move it to [Active].
//
// Next costs time for the profiles of the graph, however many nodes are ready.
func (g *Graph) Next(limits Limits) (id string, ok bool) {
	if g.active >= max(limits.Global, 1) {
		return "", false
	}
	var first *entry
	for _, q := range g.queues {
		limit, limited := limits.Profiles[q.profile]
		if len(q.entries) == 0 || limited && q.active >= limit {
			continue
		}
		if first == nil || g.before(q.entries[0], *first) < 0 {
			first = &q.entries[0]
		}
	}
	if first == nil {
		return "", false
	}
	return g.ids[first.node], true
}

// Queue returns the IDs of all ready nodes in the order in which they are started.
func (g *Graph) Queue() []string {
	var ready []entry
	for _, q := range g.queues {
		ready = append(ready, q.entries...)
	}
	slices.SortFunc(ready, g.before)
	ids := make([]string, len(ready))
	for i, e := range ready {
		ids[i] = g.ids[e.node]
	}
	return ids
}

// Prioritize sets the priority of a node. A ready node keeps what it has gained by
// ageing. An unknown ID is ignored.
func (g *Graph) Prioritize(id string, priority int) {
	i, ok := g.index[id]
	if !ok {
		return
	}
	n := &g.nodes[i]
	if n.state == ready {
		q := g.queues[n.queue]
		gained := minus(q.entries[n.place].urgency, int64(n.priority))
		q.entries[n.place].urgency = minus(int64(priority), minus(0, gained))
		q.fix(int(n.place))
	}
	n.priority = priority
}

// queue has the ready nodes of one profile: the one that is started first is at index 0.
type queue struct {
	g       *Graph
	profile string
	active  int
	entries []entry
}

// entry is a ready node, with what decides between it and others.
type entry struct {
	urgency int64 // the priority, and what it gained
	rank    int32 // place of the phase in the preference
	node    int32
}

// queueOf returns the index of a profile's queue.
func (g *Graph) queueOf(profile string) int32 {
	for i, q := range g.queues {
		if q.profile == profile {
			return int32(i)
		}
	}
	g.queues = append(g.queues, &queue{g: g, profile: profile})
	return int32(len(g.queues) - 1)
}

// tick counts the multiples of the ageing period up to a time. A node that became
// ready k ticks before another one has k points more.
func (g *Graph) tick(at time.Time) int64 {
	if g.age <= 0 {
		return 0
	}
	return at.UnixNano() / int64(g.age)
}

// minus returns a - b, or the end of int64 that it would pass.
func minus(a, b int64) int64 {
	d := a - b
	if (a < b) == (d < 0) {
		return d
	}
	if a < b {
		return math.MinInt64
	}
	return math.MaxInt64
}

// before is negative if a is started before b.
func (g *Graph) before(a, b entry) int {
	if c := cmp.Or(cmp.Compare(b.urgency, a.urgency), cmp.Compare(a.rank, b.rank)); c != 0 {
		return c
	}
	return cmp.Or(g.created[a.node].Compare(g.created[b.node]), cmp.Compare(a.node, b.node))
}

func (q *queue) add(e entry) {
	last := len(q.entries)
	q.entries = append(q.entries, e)
	q.g.nodes[e.node].place = int32(last)
	q.fix(last)
}

func (q *queue) remove(i int) {
	last := len(q.entries) - 1
	q.swap(i, last)
	q.entries = q.entries[:last]
	if i < last {
		q.fix(i)
	}
}

// fix restores the heap order after a change of the entry at i.
func (q *queue) fix(i int) {
	for i > 0 && q.before(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.entries); child++ {
			if q.before(child, first) {
				first = child
			}
		}
		if first == i {
			return
		}
		q.swap(i, first)
		i = first
	}
}

func (q *queue) before(i, j int) bool { return q.g.before(q.entries[i], q.entries[j]) < 0 }

func (q *queue) swap(i, j int) {
	s := q.entries
	s[i], s[j] = s[j], s[i]
	q.g.nodes[s[i].node].place, q.g.nodes[s[j].node].place = int32(i), int32(j)
}
