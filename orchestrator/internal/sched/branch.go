package sched

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Branch is one line of execution: a coroutine. Its methods are called from its
// own code alone; Check finds most calls that are not.
type Branch struct {
	s      *Sched
	path   string                  // "" is the root, "0.2" the third branch of the first
	group  *Group                  // that it belongs to; nil: the root
	index  int                     // in group
	resume func() (struct{}, bool) // executes the branch until it waits; false: it has ended
	yield  func()                  // gives way to the driver until the branch is resumed
	stop   func()                  // unwinds the branch

	effects  int64
	emits    int64
	children int

	spare    *effect      // used up, for the next effect
	wait     *effect      // what it waits for
	canceled *agent.Error // why
	groups   []*Group     // that it made and that may run
	parked   bool         // it waits for its groups
	shielded bool         // it was started under WithoutCancel
	done     bool
}

// spawn makes a branch and puts it in line.
func (s *Sched) spawn(path string, g *Group, body func(*Branch)) *Branch {
	b := &Branch{s: s, path: path, group: g}
	b.resume, b.stop = iter.Pull(func(yield func(struct{}) bool) {
		b.yield = func() {
			if !yield(struct{}{}) {
				runtime.Goexit()
			}
		}
		returned := false
		defer func() {
			if v := recover(); v != nil {
				fault := flowError("panic in the flow's code: %v%s", v, panicLine())
				fault.Stack = string(debug.Stack())
				s.fault.CompareAndSwap(nil, fault)
			} else if !returned && !s.ending.Load() {
				s.broken("the flow's code ended its goroutine in branch %q, by runtime.Goexit or FailNow of a test", path)
				yield(struct{}{}) // until Leave: it would end the driver's goroutine too
			}
		}()
		body(b)
		returned = true
	})
	s.live = append(s.live, b)
	s.ready = append(s.ready, b)
	return b
}

// panicLine is where the panic that is being recovered came from.
func panicLine() string {
	panicking := false
	for i := 1; ; i++ {
		pc, file, line, ok := runtime.Caller(i)
		switch name := runtime.FuncForPC(pc).Name(); {
		case !ok:
			return ""
		case panicking && !strings.HasPrefix(name, "runtime."):
			return fmt.Sprintf(" (%s:%d)", filepath.Base(file), line)
		case name == "runtime.gopanic":
			panicking = true
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

// Err is why the branch is canceled, or nil.
func (b *Branch) Err() *agent.Error { return b.canceled }

// Now is the time of the last completion, and how long the run had been worked on
// by then.
func (b *Branch) Now() (now time.Time, worked time.Duration) {
	if b.Check() != nil {
		return now, 0
	}
	return b.s.port.Now()
}

// Emit puts a record of the flow's own into the log.
func (b *Branch) Emit(kind string, data json.RawMessage) {
	b.s.port.Emit(runlog.Record{Branch: b.path, N: b.emits, Kind: kind, Data: data})
	b.emits++
}

// Expose tells the engine how to read the run's state.
func (b *Branch) Expose(state func() (json.RawMessage, error)) { b.s.port.Expose(state) }

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
		for _, k := range g.kids {
			if k != nil {
				k.cancel(why)
			}
		}
	}
}

// finished takes b, which has ended, out of the run. With the root all effects end;
// children are waited for.
func (s *Sched) finished(b *Branch) {
	b.done = true
	if s.ended++; s.ended > 64 && s.ended > len(s.live)/2 {
		s.live = slices.DeleteFunc(s.live, func(b *Branch) bool { return b.done })
		s.ended = 0
	}
	g := b.group
	if g == nil {
		for _, b := range slices.Backward(s.live) {
			if b.wait != nil && s.fault.Load() == nil {
				s.abandon(b.wait, nil)
			}
		}
		return
	}
	heir := g.owner // of b's running groups, so that a cancel still reaches them
	for heir.done {
		heir = heir.group.owner
	}
	for _, left := range b.groups {
		if left.run > 0 && !b.shielded {
			heir.groups = append(heir.groups, left)
		}
	}
	g.run--
	g.done = append(g.done, b.index)
	if g.owner.parked {
		g.owner.parked = false
		s.ready = append(s.ready, g.owner)
	}
}

// Leave implements engine.Execution: it unwinds the branches that are left, the
// youngest first.
func (s *Sched) Leave() {
	s.ending.Store(true)
	for _, b := range slices.Backward(s.live) {
		if !b.done {
			s.cur.Store(b)
			var wg sync.WaitGroup
			wg.Go(b.stop) // stop passes the branch's Goexit on to its caller
			wg.Wait()
			s.cur.Store(nil)
		}
		b.done = true
	}
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

// Len is how many branches run or were not yet handed out.
func (g *Group) Len() int { return g.run + len(g.done) }

// Running is how many branches have not finished.
func (g *Group) Running() int { return g.run }

// Cancel cancels the branch of that index. why has the code ErrOver.
func (g *Group) Cancel(index int, why *agent.Error) {
	if k := g.kids[index]; k != nil {
		k.cancel(why)
	}
}
