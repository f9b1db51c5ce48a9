// Package enginetest checks that an engine carries flows out as package
// orchestrator promises.
//
// An engine's own tests call [Run]:
//
//	func TestEngine(t *testing.T) {
//		enginetest.Run(t, enginetest.Engine{Storage: func(t *testing.T) enginetest.Open {
//			store := mystore.Open(t.TempDir())
//			return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
//				return myengine.New(store, agents, flows)
//			}
//		}})
//	}
//
// The checks take turns, and each names its flows and runs like no other check does. So
// they may share one storage or one queue. A check that needs other code under the name
// of a flow closes the first process before it opens the second.
//
// Run it with the race detector too.
package enginetest

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// Open makes an engine: each call is one more process on the same storage. It
// must retry transient errors after milliseconds (orchestrator.Retry). The suite
// closes what it opens.
type Open func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine

// Engine is what Run checks.
type Engine struct {
	// Storage returns the storage for one check: an empty one, which t.Cleanup closes,
	// or one that all checks share.
	Storage func(t *testing.T) Open

	// Forgets says that nothing survives the process: what is promised for a resume
	// is not checked.
	Forgets bool

	// Resumes says that a process resumes runs of its flows without Engine.Resume, when
	// no other process works on them.
	Resumes bool

	// Peers says that processes ask each other for the state and the progress of runs.
	Peers bool

	// RealTime says that the engine cannot live in a bubble of testing/synctest.
	RealTime bool
}

// check is one promise.
type check struct {
	name    string
	run     func(t *testing.T, h *host)
	resumes bool // it needs a storage that survives
	peers   bool // it needs processes that ask each other
}

var groups = []struct {
	name   string
	checks []check
}{
	{"Results", resultChecks},
	{"Branches", branchChecks},
	{"Children", childChecks},
	{"Asks", askChecks},
	{"Questions", questionChecks},
	{"Budgets", budgetChecks},
	{"Cancel", cancelChecks},
	{"Failures", failureChecks},
	{"Rules", ruleChecks},
	{"Runs", runChecks},
	{"Views", viewChecks},
	{"Peers", peerChecks},
	{"Resume", resumeChecks},
	{"New", newPromises},
}

// newPromises are checks of promises that are newer than the others.
var newPromises = slices.Concat(misbehaveChecks, deafChecks, stuckChecks, depthChecks, reserveChecks, answerChecks, identityChecks)

// Run checks e, one subtest a promise.
func Run(t *testing.T, e Engine) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) { e.check(t, c) })
			}
		})
	}
}

func (e Engine) check(t *testing.T, c check) {
	if c.resumes && e.Forgets {
		t.Skip("nothing survives in this engine")
	}
	if c.peers && !e.Peers {
		t.Skip("a process of this engine knows the state of its own runs alone")
	}
	in := func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c.run(t, &host{t: t, ctx: ctx, open: e.Storage(t), resumes: e.Resumes, name: "check-" + strings.ToLower(rand.Text()[:10])})
	}
	if e.RealTime {
		in(t)
		return
	}
	flowtest.Bubble(t, in)
}

// patience is how long a check may take. It only ends checks that fail.
const patience = time.Minute

// host is a program that uses engines on one storage.
type host struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // of the check, which is what the host lives for
	open Open

	resumes bool   // see Engine
	name    string // of this check, like no other's
	flows   int    // that it made
}

// id makes the ID of a run, or the name of a flow, the check's own.
func (h *host) id(name string) string { return h.name + "." + name }

// owns tells whether the check made an ID.
func (h *host) owns(id string) bool { return strings.HasPrefix(id, h.name+".") }

// engine is one more process. It is closed at the end of the check.
func (h *host) engine(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
	h.t.Helper()
	e := h.open(agents, flows...)
	require.NotNil(h.t, e)
	h.t.Cleanup(func() { h.close(e) })
	return e
}

// close ends a process in good order. It may be called twice.
func (h *host) close(e *orchestrator.Engine) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(h.t, e.Close(ctx), "Close")
}
