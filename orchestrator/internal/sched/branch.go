package sched

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Branch is one line of execution: a coroutine. Only its own code may call its methods.
// Check finds most other calls.
type Branch struct {
	s      *Sched
	path   string                  // its place: "" is the root, "0.2" the third branch of the first
	group  *Group                  // the group that started it; nil: the root
	index  int                     // its place in group.kids
	resume func() (struct{}, bool) // executes the branch until it waits; false: it has ended
	yield  func()                  // gives way to the driver until the branch is resumed
	stop   func()                  // unwinds the branch

	effects  int64
	emits    int64
	children int

	spare    *effect      // its last effect, to be used again; nil: none
	wait     *effect      // the effect that it waits for; nil: none
	canceled *agent.Error // the reason of its cancel; nil: it is not canceled
	groups   []*Group     // its groups that may still run
	parked   bool         // it waits for its groups
	shielded bool         // it was started under WithoutCancel
	done     bool
}

// spawn makes a branch and queues it to be executed.
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

// panicLine returns the file and line of the flow where the panic that is being recovered
// began: the innermost frame that is neither Go's nor the engine's, else the innermost.
func panicLine() string {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	root, first, below := "", "", false
	for {
		f, more := frames.Next()
		switch line := fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line); {
		case f.Function == "runtime.gopanic":
			root, below = strings.TrimSuffix(f.File, "runtime/panic.go"), true
		case !below || strings.HasPrefix(f.Function, "runtime."):
		case !isInner(f.Function) && !isStandard(f, root):
			return line
		case first == "":
			first = line
		}
		if !more {
			return first
		}
	}
}

// isInner reports whether a function of that name is of the engine or its Context, which
// call the flow or are called by it.
func isInner(function string) bool {
	name, ok := strings.CutPrefix(function, "github.com/convene-go/convene/")
	return ok && (strings.HasPrefix(name, "orchestrator.") || strings.HasPrefix(name, "orchestrator/engine.") ||
		strings.HasPrefix(name, "orchestrator/internal/") || strings.HasPrefix(name, "internal/"))
}

// isStandard reports whether f is of Go's own library, whose files are in root. A binary
// that was built with -trimpath has no root: packages without a dot in their paths count.
func isStandard(f runtime.Frame, root string) bool {
	if root != "" {
		return strings.HasPrefix(f.File, root)
	}
	path, _, nested := strings.Cut(f.Function, "/")
	return nested && !strings.Contains(path, ".") || !nested && !strings.HasPrefix(path, "main.")
}

// Check returns an error, and stops the run, if b is used by another branch or by a
// goroutine that the flow started. Misuse while b itself executes is not detected; the
// race detector finds it.
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

// Fault stops the run, because the flow broke a rule.
func (b *Branch) Fault(format string, args ...any) { b.s.broken(format, args...) }

// Err returns why the branch is canceled, or nil.
func (b *Branch) Err() *agent.Error { return b.canceled }

// Now returns the time of the last completion, and how long the run had been worked on
// by then.
func (b *Branch) Now() (now time.Time, worked time.Duration) {
	if b.Check() != nil {
		return now, 0
	}
	return b.s.port.Now()
}

// Emit writes a record of the flow to the log.
func (b *Branch) Emit(kind string, data json.RawMessage) {
	b.s.port.Emit(runlog.Record{Branch: b.path, N: b.emits, Kind: kind, Data: data})
	b.emits++
}

// Expose tells the engine how to read the run's state.
func (b *Branch) Expose(state func() (json.RawMessage, error)) { b.s.port.Expose(state) }

// cancel makes every effect of b and of the branches that it started return why, now
// and later. Shielded ones go on.
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

// finished takes b, which has ended, out of the run. When the root ends, all effects
// are abandoned; the end waits for children, and for calls to be settled.
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
	heir := g.owner // it takes over b's running groups: a cancel still reaches them
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
