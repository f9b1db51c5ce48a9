package routing

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Depend makes a node need further ones, all or none, behind those that it needs
// already. What it needs already is left out. A ready node that then needs something
// that is not done is waiting again.
//
// The error joins all faults, which are those of [Graph.Add]; it is [ErrCycle] with
// the path if one of the further nodes needs this one. A node that is done or
// abandoned takes no further needs.
func (g *Graph) Depend(id string, on ...string) error {
	n, err := g.open(id)
	if err != nil {
		return err
	}
	probe := &node{id: id} // takes the needs until all are known to be fit
	for _, need := range n.needs {
		need.asked = probe
	}
	var faults []error
	for _, other := range on {
		need := g.nodes[other]
		if need != nil && need.asked == probe {
			continue
		}
		if need == n {
			faults = append(faults, fmt.Errorf("%q needs itself", id))
		} else if fault := g.need(probe, need, other, nil); fault != nil {
			faults = append(faults, fault)
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("routing: %w", errors.Join(faults...))
	}
	needs := func(m *node) []*node {
		switch {
		case m == n:
			return slices.Concat(n.needs, probe.needs)
		case m.state == Done:
			return nil // whatever it needs is done, so that there is no way back
		}
		return m.needs
	}
	if above := closure(probe.needs, needs); slices.Contains(above, n) {
		return fmt.Errorf("routing: %w", circle(above, needs))
	}
	g.link(n, probe.needs)
	return nil
}

// link adds needs to a node of the graph.
func (g *Graph) link(n *node, needs []*node) {
	n.needs = append(n.needs, needs...)
	for _, need := range needs {
		need.dependents = append(need.dependents, n)
		if need.state != Done {
			n.unmet++
		}
	}
	if n.state == Ready && n.unmet > 0 {
		g.move(n, Waiting, time.Time{})
	}
}

// Drop makes a node go on without one that it needs. It is an error if the node does
// not need it, or is done or abandoned.
func (g *Graph) Drop(id, need string) error {
	n, err := g.open(id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(n.needs, func(m *node) bool { return m.id == need })
	if i < 0 {
		return fmt.Errorf("routing: %q does not need %q", id, need)
	}
	gone := n.needs[i]
	n.needs = slices.Delete(n.needs, i, i+1)
	gone.dependents = slices.DeleteFunc(gone.dependents, func(m *node) bool { return m == n })
	if gone.state != Done {
		n.unmet--
		g.look(n)
	}
	return nil
}

// Split puts several nodes in the place of one, which is abandoned. Those of
// them that need none of the others need what that one needed, and what they name
// themselves behind it. What needed that one needs the last of them in its place: those
// that none of the others needs, whose IDs are returned.
//
// The error joins all faults, which are those of [Graph.Add]; a node that is done or
// abandoned cannot be split, and nothing can be split into nothing.
func (g *Graph) Split(id string, into ...Node) (last []string, err error) {
	parent, err := g.open(id)
	if err != nil {
		return nil, err
	}
	if len(into) == 0 {
		return nil, fmt.Errorf("routing: %q is split into nothing", id)
	}
	added, err := g.resolve(inherit(into, idsOf(parent.needs)), parent)
	if err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	sinks := slices.DeleteFunc(slices.Clone(added), func(n *node) bool {
		return slices.ContainsFunc(added, func(m *node) bool { return slices.Contains(m.needs, n) })
	})
	below := closure(parent.dependents, func(n *node) []*node { return n.dependents })
	err = circle(slices.Concat(added, below), func(n *node) []*node { return swap(n.needs, parent, sinks) })
	if err != nil {
		g.forget(added)
		return nil, fmt.Errorf("routing: %w", err)
	}
	g.insert(added)
	for _, n := range added {
		g.enter(n, time.Time{})
	}
	for _, n := range parent.dependents {
		if n.state == Abandoned {
			continue
		}
		n.needs = swap(n.needs, parent, sinks)
		n.unmet += len(sinks) - 1
		for _, sink := range sinks {
			sink.dependents = append(sink.dependents, n)
		}
	}
	parent.dependents = nil
	g.move(parent, Abandoned, time.Time{})
	return idsOf(sinks), nil
}

// inherit returns the nodes in which those that need no other one of them need what
// their parent needed as well.
func inherit(into []Node, needs []string) []Node {
	inner := make(map[string]bool, len(into))
	for _, n := range into {
		inner[n.ID] = true
	}
	into = slices.Clone(into)
	for i, n := range into {
		if slices.ContainsFunc(n.Needs, func(id string) bool { return inner[id] }) {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(n.Needs), func(id string) bool { return slices.Contains(needs, id) })
		into[i].Needs = slices.Concat(needs, own)
	}
	return into
}

// swap returns nodes with others in the place of one.
func swap(nodes []*node, one *node, others []*node) []*node {
	i := slices.Index(nodes, one)
	if i < 0 {
		return nodes
	}
	return slices.Concat(nodes[:i], others, nodes[i+1:])
}

// Dependents returns the IDs of the nodes that need one directly and are not
// abandoned, in the order in which they were added; none for an unknown ID.
func (g *Graph) Dependents(id string) []string {
	n := g.nodes[id]
	if n == nil {
		return nil
	}
	direct := slices.DeleteFunc(slices.Clone(n.dependents), func(d *node) bool { return d.state == Abandoned })
	slices.SortFunc(direct, bySeq)
	return idsOf(direct)
}

// Descendants returns the IDs of the nodes that need one, directly or through others,
// each behind those that it needs and otherwise in the order in which they were added.
// Abandoned nodes do not count, nor does what needs nothing but them.
func (g *Graph) Descendants(id string) []string {
	n := g.nodes[id]
	if n == nil {
		return nil
	}
	below := closure(n.dependents, func(d *node) []*node { return d.dependents })
	slices.SortFunc(below, bySeq)
	deps := make(map[string][]string, len(below))
	for _, d := range below {
		deps[d.id] = idsOf(d.needs)
	}
	layers, err := waves(idsOf(below), deps)
	if err != nil {
		panic(err) // no method lets a cycle in
	}
	return slices.Concat(layers...)
}

// closure returns nodes and what next leads to from them, each once, without those
// that are abandoned.
func closure(nodes []*node, next func(*node) []*node) []*node {
	seen := map[*node]bool{}
	var all []*node
	add := func(nodes []*node) {
		for _, n := range nodes {
			if n.state != Abandoned && !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	add(nodes)
	for i := 0; i < len(all); i++ { // grows while it is read
		add(next(all[i]))
	}
	return all
}

// open returns the node of an ID that is neither done nor abandoned.
func (g *Graph) open(id string) (*node, error) {
	n, err := g.find(id)
	if err == nil && moves[n.state] == nil {
		return nil, fmt.Errorf("routing: %q is %s", id, n.state)
	}
	return n, err
}
