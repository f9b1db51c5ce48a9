package sched

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Branch is one line of execution: a coroutine. Its methods are called from its
// own code alone; Check finds most calls that are not.
type Branch struct {
	s      *Sched
	path   string
	group  *Group // that it belongs to; nil: the root
	index  int    // in group
	resume func() bool
	yield  func() bool
	stop   func() // nil: the engine ends its coroutine itself

	effects  int64
	emits    int64
	children int

	spare    *effect      // used up, for the next effect
	wait     *effect      // what it waits for
	canceled *agent.Error // why
	groups   []*Group     // that it made
	parked   bool         // it waits for its groups
	shielded bool         // it was started under WithoutCancel
	done     bool
}

// Path names the branch: "" is the root, "0.2" the third branch of the first.
func (b *Branch) Path() string { return b.path }

// spawn makes a branch and puts it in line.
func (s *Sched) spawn(path string, g *Group, body func(*Branch)) *Branch {
	b := &Branch{s: s, path: path, group: g}
	b.resume, b.stop = s.spawner(func(yield func() bool) {
		b.yield = yield
		returned := false
		defer func() {
			if v := recover(); v != nil {
				s.panicked(v)
			} else if !returned && !s.ending.Load() {
				s.broken("the flow's code ended its goroutine in branch %q, by runtime.Goexit or FailNow of a test", path)
				if b.stop != nil {
					b.yield() // until Leave: it would end the driver's goroutine too
				}
			}
		}()
		body(b)
		returned = true
	})
	s.live = append(s.live, b)
	s.ready = append(s.ready, b)
	return b
}

func (s *Sched) panicked(v any) {
	fault := flowError("panic in the flow's code: %v%s", v, panicLine())
	fault.Stack = string(debug.Stack())
	s.fault.CompareAndSwap(nil, fault)
}

// panicLine is where the panic that is being recovered came from.
func panicLine() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicking := false
	for {
		f, more := frames.Next()
		if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		panicking = panicking || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}

// Check reports, as an error of the run, that a branch is used by another branch,
// or by a goroutine that the flow started. What is used while its own branch
// executes cannot be told from proper use; the race detector finds it.
func (b *Branch) Check() *agent.Error {
	if b.s.ending.Load() {
		if b.s.cur.Load() == b {
			runtime.Goexit() // a deferred function of a branch that is being unwound
		}
		return flowError("the run is over: its Context was used after its run ended")
	}
	if b.s.cur.Load() != b {
		b.s.broken("the Context of branch %q was used by another branch or goroutine: use the one that the branch was given", b.path)
		return b.s.fault.Load()
	}
	return nil
}

// Fault stops the run: its code broke a rule.
func (b *Branch) Fault(format string, args ...any) { b.s.broken(format, args...) }

// block gives way to the driver until the branch is made ready again.
func (b *Branch) block() {
	if !b.yield() {
		runtime.Goexit()
	}
}

// cancel makes every effect of b and of the branches that it started return why,
// now and from now on, but for those that are shielded.
func (b *Branch) cancel(why *agent.Error) {
	if b.canceled != nil || b.done || b.shielded {
		return
	}
	b.canceled = why
	if e := b.wait; e != nil && !e.shielded {
		b.s.abandon(e, why)
	}
	for _, g := range b.groups {
		g.cancel(why)
	}
}

// reparentGroups moves b's running groups to its nearest ancestor that has not
// ended, so that a cancel still reaches them.
func (b *Branch) reparentGroups() {
	heir := b.group.owner
	for heir.done {
		heir = heir.group.owner
	}
	for _, g := range b.groups {
		if g.run > 0 && !b.shielded {
			heir.groups = append(heir.groups, g)
		}
	}
}

// Leave implements engine.Execution: it unwinds the branches that are left, the
// youngest first.
func (s *Sched) Leave() {
	s.ending.Store(true)
	for _, b := range slices.Backward(s.live) {
		if b.done {
			continue
		}
		b.done = true
		switch {
		case b.stop == nil:
		case b.yield == nil: // not begun
			b.stop()
		default:
			s.cur.Store(b)
			var wg sync.WaitGroup
			wg.Go(b.stop) // stop passes the branch's Goexit on to its caller
			wg.Wait()
			s.cur.Store(nil)
		}
	}
}

// childPath is the path of the next branch that b starts.
func (b *Branch) childPath() string {
	path := strconv.Itoa(b.children)
	b.children++
	if b.path == "" {
		return path
	}
	return b.path + "." + path
}

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
