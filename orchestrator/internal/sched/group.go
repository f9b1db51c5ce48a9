package sched

import (
	"slices"
	"strconv"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Group starts branches and returns them as they finish. Map and Queue are built on
// it. Only the branch that made it may use it.
type Group struct {
	owner *Branch
	kids  []*Branch // its branches in the order of Go; nil: Next has returned it
	done  []int     // indexes of branches that have finished, and that Next has not returned
	run   int       // number of branches that have not finished
}

// Group returns an empty group.
func (b *Branch) Group() *Group { return &Group{owner: b} }

// Go starts a branch. Where o is shielded, a cancel does not reach it.
func (g *Group) Go(o Options, body func(*Branch)) {
	b := g.owner
	if g.run == 0 {
		b.groups = append(slices.DeleteFunc(b.groups, func(g *Group) bool { return g.run == 0 }), g)
	}
	path := strconv.Itoa(b.children)
	if b.path != "" {
		path = b.path + "." + path
	}
	b.children++
	k := b.s.spawn(path, g, body)
	k.index, k.shielded = len(g.kids), o.Shielded
	if !o.Shielded {
		k.canceled = b.canceled
	}
	g.kids = append(g.kids, k)
	g.run++
}

// Next waits for the next branch to finish and returns its index, in the order of
// Go; false: none is left.
func (g *Group) Next() (int, bool) {
	for len(g.done) == 0 {
		if g.run == 0 {
			return 0, false
		}
		g.owner.parked = true
		g.owner.yield()
	}
	i := g.done[0]
	g.done = g.done[1:]
	g.kids[i] = nil
	return i, true
}

// Len returns how many branches run or were not yet returned by Next.
func (g *Group) Len() int { return g.run + len(g.done) }

// Running returns how many branches have not finished.
func (g *Group) Running() int { return g.run }

// Cancel cancels the branch of that index, unless Next has returned it. why has the
// code ErrOver.
func (g *Group) Cancel(index int, why *agent.Error) {
	if k := g.kids[index]; k != nil {
		k.cancel(why)
	}
}
