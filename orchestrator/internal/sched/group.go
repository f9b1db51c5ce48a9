package sched

import (
	"slices"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Group starts branches and gives them back as they finish: the one primitive
// under Map and Queue. Only the branch that made it may use it.
type Group struct {
	owner *Branch
	kids  []*Branch // by index; nil once they are handed out
	done  []int     // indexes, as they finished
	run   int       // branches that have not finished
}

// Group returns an empty group.
func (b *Branch) Group() *Group {
	g := &Group{owner: b}
	b.groups = append(b.groups, g)
	return g
}

// Go starts a branch and returns its index. Where o is shielded, a cancel does not
// reach it.
func (g *Group) Go(o Options, body func(*Branch)) int {
	b := g.owner
	k := b.s.spawn(b.childPath(), g, body)
	k.index = len(g.kids)
	k.shielded = o.Shielded
	if !o.Shielded {
		k.canceled = b.canceled
	}
	g.kids = append(g.kids, k)
	g.run++
	return k.index
}

// Next waits for the next branch to finish and returns its index; false: none is
// left.
func (g *Group) Next() (int, bool) {
	for len(g.done) == 0 {
		if g.run == 0 {
			return 0, false
		}
		g.owner.parked = true
		g.owner.block()
	}
	i := g.done[0]
	g.done = g.done[1:]
	g.kids[i] = nil
	return i, true
}

// Len is how many branches run or were not yet handed out.
func (g *Group) Len() int { return g.run + len(g.done) }

// Running is how many branches have not finished.
func (g *Group) Running() int { return g.run }

// Cancel cancels the branch of that index. Its errors carry ErrOver.
func (g *Group) Cancel(index int, why *agent.Error) {
	if k := g.kids[index]; k != nil {
		k.cancel(marked(why))
	}
}

func (g *Group) cancel(why *agent.Error) {
	for _, k := range g.kids {
		if k != nil {
			k.cancel(why)
		}
	}
}

func (g *Group) finished(b *Branch) {
	g.run--
	g.done = append(g.done, b.index)
	if o := g.owner; o.parked {
		o.parked = false
		o.s.ready = append(o.s.ready, o)
	}
}

// Detach forgets a group all of whose branches were handed out.
func (g *Group) Detach() {
	if i := slices.Index(g.owner.groups, g); i >= 0 {
		g.owner.groups = slices.Delete(g.owner.groups, i, i+1)
	}
}
