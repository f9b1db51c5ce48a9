package routing

import (
	"cmp"
	"container/heap"
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
	var first *node
	for _, q := range g.queues {
		limit, limited := limits.Profiles[q.profile]
		if len(q.nodes) == 0 || limited && q.active >= limit {
			continue
		}
		if first == nil || before(q.nodes[0], first) < 0 {
			first = q.nodes[0]
		}
	}
	if first == nil {
		return "", false
	}
	return first.id, true
}

// Queue returns the IDs of all ready nodes in the order in which they are started.
func (g *Graph) Queue() []string {
	var ready []*node
	for _, q := range g.queues {
		ready = append(ready, q.nodes...)
	}
	slices.SortFunc(ready, before)
	return idsOf(ready)
}

// Prioritize gives a node another priority. A ready node keeps what it has gained by
// ageing. An unknown ID does nothing.
func (g *Graph) Prioritize(id string, priority int) {
	n := g.nodes[id]
	if n == nil {
		return
	}
	n.urgency += int64(priority) - int64(n.priority)
	n.priority = priority
	if n.state == Ready {
		heap.Fix(&n.queue.nodes, n.place)
	}
}

// queue has the ready nodes of one profile.
type queue struct {
	profile string
	active  int
	nodes   nodeHeap
}

func (g *Graph) queueOf(profile string) *queue {
	for _, q := range g.queues {
		if q.profile == profile {
			return q
		}
	}
	q := &queue{profile: profile}
	g.queues = append(g.queues, q)
	return q
}

func (q *queue) add(n *node)    { heap.Push(&q.nodes, n) }
func (q *queue) remove(n *node) { heap.Remove(&q.nodes, n.place) }

// tick counts the multiples of the ageing period up to a time. A node that became
// ready k ticks before another one has k points more.
func (g *Graph) tick(at time.Time) int64 {
	if g.age <= 0 {
		return 0
	}
	return at.UnixNano() / int64(g.age)
}

// before is negative if a is started before b.
func before(a, b *node) int {
	return cmp.Or(
		cmp.Compare(b.urgency, a.urgency),
		a.rank-b.rank,
		a.created.Compare(b.created),
		bySeq(a, b),
	)
}

// nodeHeap has the node that is started first at index 0.
type nodeHeap []*node

func (h *nodeHeap) Len() int           { return len(*h) }
func (h *nodeHeap) Less(i, j int) bool { return before((*h)[i], (*h)[j]) < 0 }
func (h *nodeHeap) Swap(i, j int) {
	s := *h
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

// Push implements [heap.Interface].
func (h *nodeHeap) Push(x any) {
	n := x.(*node) //nolint:errcheck // only queue.add calls it
	n.place = len(*h)
	*h = append(*h, n)
}

// Pop implements [heap.Interface].
func (h *nodeHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return n
}
