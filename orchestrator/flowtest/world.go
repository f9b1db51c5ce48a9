package flowtest

import (
	"context"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// world has the agents of a test, how long each answer takes, and which calls reached
// them. It outlives the processes, which are killed.
type world struct {
	t      testing.TB
	roster agent.Roster
	seed   uint64 // seed of the latencies

	mu    sync.Mutex
	due   map[string]time.Time // time at which the answer to a call is there, by key
	calls map[string]call      // calls that reached the agents, by key
	paid  providers.Usage      // usage that the agents have reported
}

// call is a call that reached an agent.
type call struct {
	info  agent.Info
	req   agent.Request // the last one, if it was made again
	times int           // number of first attempts: each process makes one
}

func newWorld(t testing.TB, roster agent.Roster, seed uint64) *world {
	return &world{t: t, roster: roster, seed: seed, due: map[string]time.Time{}, calls: map[string]call{}}
}

// agents returns the roster for a process: its agents take their time, and are watched.
func (w *world) agents() agent.Roster {
	paced := agent.Roster{}
	for name, a := range w.roster {
		paced[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			info := agent.InfoFrom(ctx)
			if err := pass(ctx, w.arrive(info, req)); err != nil {
				return agent.Response{}, err
			}
			return w.ask(ctx, a, info, req)
		})
	}
	return paced
}

// ask calls an agent. An agent that ends its goroutine instead of returning fails the test.
func (w *world) ask(ctx context.Context, a agent.Agent, info agent.Info, req agent.Request) (agent.Response, error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if at, ok := exitedAt(); ok {
			w.t.Errorf("agent %q ended its goroutine in call %s at %s (runtime.Goexit, or FailNow, Fatal or require of a test): let it return an error", info.Agent, info.Key, at)
		}
	}()
	resp, err := a.Call(ctx, req)
	returned = true
	w.pay(&resp, err)
	return resp, err
}

// exitedAt returns where the goroutine of the calling deferred function called
// runtime.Goexit. ok is false if it did not, or if the engine did, to unwind a flow.
func exitedAt() (at string, ok bool) {
	g := parseGoroutine(string(debug.Stack()))
	for i, f := range g.frames {
		if f.function == "runtime.Goexit" && i+1 < len(g.frames) {
			g.frames = g.frames[i+1:]
			if g.frames[0].of(ours) || g.user() < 0 {
				return "", false
			}
			return g.frames[g.user()].place(), true
		}
	}
	return "", false
}

// arrive notes a call and returns how long its answer still takes. A call that is made
// again after a crash is answered when the first one would have been, at least 1 ns later.
// So all calls beside it arrive first, and one that is given up then has cost a call.
func (w *world) arrive(info agent.Info, req agent.Request) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if info.Attempt > 1 {
		return 0
	}
	w.calls[info.Key] = call{info, req, w.calls[info.Key].times + 1}
	due, ok := w.due[info.Key]
	if !ok {
		due = time.Now().Add(w.latency(info.Key))
		w.due[info.Key] = due
	}
	return max(time.Until(due), 1)
}

// latency returns 1 to 1,000 microseconds, which depend on the key and the seed.
func (w *world) latency(key string) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	r := rand.New(rand.NewPCG(h.Sum64(), w.seed)) //nolint:gosec // repeatable on purpose
	return time.Duration(1+r.IntN(1000)) * time.Microsecond
}

// made returns the calls that reached the agents so far, by key.
func (w *world) made() map[string]call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.calls)
}
