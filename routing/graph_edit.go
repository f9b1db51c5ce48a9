package routing

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Depend adds needs to a node, all or none, after those that it has. Needs that it has
// already are ignored. A ready node waits again if a new need is not done.
//
// The error joins all faults, which are those of [Graph.Add]; it is [ErrCycle] with
// the path if one of the further nodes needs this one. A node that is done or
// abandoned takes no further needs.
func (g *Graph) Depend(id string, on ...string) error {
	n, err := g.open(id)
	if err != nil {
		return err
	}
	asker := g.ask()
	for _, need := range g.needs(n) {
		g.nodes[need].asked = asker
	}
	var more []int32
	var faults []error
	for _, name := range on {
		if i, ok := g.index[name]; ok && g.nodes[i].asked == asker {
			continue
		}
		need, fault := g.need(asker, id, name, len(g.nodes), none)
		if need == n {
			fault = fmt.Errorf("%q needs itself", id)
		}
		if fault != nil {
			faults = append(faults, fault)
			continue
		}
		more = append(more, need)
	}
	if len(faults) > 0 {
		return fmt.Errorf("routing: %w", errors.Join(faults...))
	}
	needs := func(m int32) []int32 {
		switch {
		case m == n:
			return slices.Concat(g.needs(n), more)
		case g.nodes[m].state == done:
			return nil // all its needs are done, so no cycle leads through it
		}
		return g.needs(m)
	}
	if above := g.closure(more, needs); slices.Contains(above, n) {
		return fmt.Errorf("routing: %w", g.circle(above, needs))
	}
	g.link(n, more)
	return nil
}

// link adds needs to a node of the graph.
func (g *Graph) link(id int32, needs []int32) {
	for _, need := range needs {
		g.nodes[id].needs = g.links.add(g.nodes[id].needs, need)
	}
	g.connect(id, needs)
	if n := &g.nodes[id]; n.state == ready && n.unmet > 0 {
		g.move(id, waiting, time.Time{})
	}
}

// Drop removes a need from a node. It is an error if the node does
// not need it, or is done or abandoned.
func (g *Graph) Drop(id, need string) error {
	i, err := g.open(id)
	if err != nil {
		return err
	}
	gone, ok := g.index[need]
	if !ok || !slices.Contains(g.needs(i), gone) {
		return fmt.Errorf("routing: %q does not need %q", id, need)
	}
	n, m := &g.nodes[i], &g.nodes[gone]
	n.needs = g.links.without(n.needs, gone)
	m.dependents = g.links.without(m.dependents, i)
	if m.state != done {
		n.unmet--
		g.look(i)
	}
	return nil
}

// Split replaces a node by several, and abandons it. Those of them that need none of
// the others get its needs, before their own. Nodes that needed it need the last of
// them instead: those that none of the others needs, whose IDs are returned.
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
	before := len(g.links)
	base, err := g.resolve(inherit(into, g.Needs(id)), parent)
	if err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	added := g.since(base)
	sinks := slices.DeleteFunc(slices.Clone(added), func(n int32) bool {
		return slices.ContainsFunc(added, func(m int32) bool { return slices.Contains(g.needs(m), n) })
	})
	below := g.closure(g.dependents(parent), g.dependents)
	err = g.circle(slices.Concat(added, below), func(n int32) []int32 { return swap(g.needs(n), parent, sinks) })
	if err != nil {
		g.forget(base)
		g.links = g.links[:before]
		return nil, fmt.Errorf("routing: %w", err)
	}
	g.insert(base)
	for i, n := range added {
		g.enter(n, into[i].Since)
	}
	for _, i := range g.dependents(parent) {
		n := &g.nodes[i]
		if n.state == abandoned {
			continue
		}
		n.needs = g.links.put(swap(g.links.of(n.needs), parent, sinks))
		n.unmet--
		g.connect(i, sinks)
		g.look(i)
	}
	g.nodes[parent].dependents = list{}
	g.move(parent, abandoned, time.Time{})
	return g.names(sinks), nil
}

// inherit returns the nodes; those that need no other one of them also get needs.
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

// swap returns nodes with others in place of one.
func swap(nodes []int32, one int32, others []int32) []int32 {
	i := slices.Index(nodes, one)
	if i < 0 {
		return nodes
	}
	return slices.Concat(nodes[:i], others, nodes[i+1:])
}

// Dependents returns the IDs of the nodes that need one directly and are not
// abandoned, in the order in which they were added; none for an unknown ID.
func (g *Graph) Dependents(id string) []string {
	n, ok := g.index[id]
	if !ok {
		return nil
	}
	direct := slices.DeleteFunc(slices.Clone(g.dependents(n)), func(d int32) bool { return g.nodes[d].state == abandoned })
	slices.Sort(direct)
	return g.names(direct)
}

// Descendants returns the IDs of the nodes that need one, directly or through others,
// each after those that it needs and otherwise in the order in which they were added.
// Abandoned nodes, and those reached only through them, are left out.
func (g *Graph) Descendants(id string) []string {
	n, ok := g.index[id]
	if !ok {
		return nil
	}
	below := g.closure(g.dependents(n), g.dependents)
	slices.Sort(below)
	deps := make(map[string][]string, len(below))
	for _, d := range below {
		deps[g.ids[d]] = g.names(g.needs(d))
	}
	layers, err := waves(g.names(below), deps)
	if err != nil {
		panic(err) // no method lets a cycle in
	}
	return slices.Concat(layers...)
}

// closure returns nodes and what next leads to from them, each once, without those
// that are abandoned.
func (g *Graph) closure(nodes []int32, next func(int32) []int32) []int32 {
	seen := map[int32]bool{}
	var all []int32
	add := func(nodes []int32) {
		for _, n := range nodes {
			if g.nodes[n].state != abandoned && !seen[n] {
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
func (g *Graph) open(id string) (int32, error) {
	i, err := g.find(id)
	if err == nil && moves[g.nodes[i].state] == nil {
		return none, fmt.Errorf("routing: %q is %s", id, states[g.nodes[i].state])
	}
	return i, err
}
