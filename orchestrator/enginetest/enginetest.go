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
// Run it with the race detector too.
package enginetest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Open makes an engine: each call is one more process on the same storage. It
// must retry transient errors after milliseconds (orchestrator.Retry). The suite
// closes what it opens.
type Open func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine

// Engine is what Run checks.
type Engine struct {
	// Storage returns an empty storage for one check, which t.Cleanup closes.
	Storage func(t *testing.T) Open

	// Forgets says that nothing survives the process: what is promised for a resume
	// is not checked.
	Forgets bool

	// RealTime says that the engine cannot live in a bubble of testing/synctest.
	RealTime bool
}

// check is one promise.
type check struct {
	name    string
	run     func(t *testing.T, h *host)
	resumes bool // it needs a storage that survives
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
	{"Resume", resumeChecks},
}

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
	in := func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c.run(t, &host{t: t, ctx: ctx, open: e.Storage(t)})
	}
	if e.RealTime {
		in(t)
		return
	}
	synctest.Test(t, in)
}

// patience is how long a check may take. It only ends checks that fail.
const patience = time.Minute

// host is a program that uses engines on one storage.
type host struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // of the check, which is what the host lives for
	open Open
}

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
