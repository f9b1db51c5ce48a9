// Package enginetest checks that an engine keeps the promises of package orchestrator.
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
// The checks run one after the other. Each has names for its flows and runs that no other
// check has, so all may share one storage or one queue. A check that needs other code
// under the name of a flow closes the first process before it opens the second.
//
// A check of what an optional interface of package engine does is skipped on an engine
// that lacks it, and says so. All other checks need only an engine.Driver.
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

// Open returns an engine: each call is one more process on the same storage. The engine
// must retry transient errors after milliseconds (orchestrator.Attempts). The suite closes it.
type Open func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine

// Engine describes the engine that Run checks.
type Engine struct {
	// Storage is called once for each check. It returns an empty storage, which t.Cleanup
	// closes, or one that all checks share. It is required.
	Storage func(t *testing.T) Open

	// Forgets says that no run survives its process. Run skips the checks of resumes then.
	Forgets bool

	// Resumes says that a process resumes runs of its flows without Engine.Resume, when
	// no other process works on them.
	Resumes bool

	// Peers says that processes ask each other for the state and the progress of runs.
	// Run skips the checks of that otherwise.
	Peers bool

	// Evicts says that the engine drops the execution of a run from memory while a call
	// of it is under way, and replays the log later. A Context that an agent got hold of
	// is dead then: its use fails, but the run does not learn of it.
	Evicts bool

	// RealTime says that the engine cannot run in a bubble of testing/synctest.
	RealTime bool
}

// check is one promise.
type check struct {
	name    string
	run     func(t *testing.T, h *host)
	resumes bool // skipped if Engine.Forgets
	peers   bool // skipped unless Engine.Peers
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
	{"Approvals", approvalChecks},
	{"Budgets", budgetChecks},
	{"Cancel", cancelChecks},
	{"Failures", failureChecks},
	{"Rules", ruleChecks},
	{"Runs", runChecks},
	{"Carried", carriedChecks},
	{"Views", viewChecks},
	{"Peers", peerChecks},
	{"Resume", resumeChecks},
	{"New", newPromises},
}

// newPromises has the checks of promises that are newer than the others.
var newPromises = slices.Concat(misbehaveChecks, deafChecks, givenUpChecks, stuckChecks, depthChecks, reserveChecks, answerChecks, identityChecks, figureChecks)

// Run checks e, in one subtest for each promise.
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
		t.Skip("a process of this engine knows only the state of its own runs")
	}
	in := func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c.run(t, &host{t: t, ctx: ctx, open: e.Storage(t), resumes: e.Resumes, evicts: e.Evicts, name: "check-" + strings.ToLower(rand.Text()[:10])})
	}
	if e.RealTime {
		in(t)
		return
	}
	flowtest.Bubble(t, in)
}

// patience is the time limit of a check. It only ends checks that fail.
const patience = time.Minute

// host stands for a program that uses engines on one storage.
type host struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // ends with the check, as the host does
	open Open

	resumes bool   // see Engine
	evicts  bool   // see Engine
	name    string // unique name of this check
	flows   int    // number of flows that the check has made
}

// id returns an ID of a run, or a name of a flow, that only this check uses.
func (h *host) id(name string) string { return h.name + "." + name }

// owns reports whether id is one of this check.
func (h *host) owns(id string) bool { return strings.HasPrefix(id, h.name+".") }

// engine returns the engine of one more process, which the end of the check closes.
func (h *host) engine(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
	h.t.Helper()
	e := h.open(agents, flows...)
	require.NotNil(h.t, e)
	h.t.Cleanup(func() { h.close(e) })
	return e
}

// close closes the engine of a process. It may be called twice.
func (h *host) close(e *orchestrator.Engine) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(h.t, e.Close(ctx), "Close")
}
