package flowtest

import (
	"context"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// world is what is outside of the processes of a test: the agents, how long each of
// their answers takes, and which calls reached them. It outlives a killed process.
type world struct {
	roster agent.Roster
	seed   uint64 // of the latencies

	mu    sync.Mutex
	due   map[string]time.Time // when the answer to a call is there, by key
	calls map[string]int       // first attempts that reached the agents, by key
}

// agents is the roster as processes see it.
func (w *world) agents() agent.Roster {
	if w.due == nil {
		w.due, w.calls = map[string]time.Time{}, map[string]int{}
	}
	paced := agent.Roster{}
	for name, a := range w.roster {
		paced[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			info := agent.InfoFrom(ctx)
			if err := pass(ctx, w.arrive(info)); err != nil {
				return agent.Response{}, err
			}
			return a.Call(ctx, req)
		})
	}
	return paced
}

// arrive notes a call and tells how long its answer still takes. One that is made
// again after a crash is answered when the first one would have been.
func (w *world) arrive(info agent.Info) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if info.Attempt > 1 {
		return 0
	}
	w.calls[info.Key]++
	due, ok := w.due[info.Key]
	if !ok {
		due = time.Now().Add(w.latency(info.Key))
		w.due[info.Key] = due
	}
	return time.Until(due)
}

// latency is between 1 and 1,000 microseconds, by the key and the seed.
func (w *world) latency(key string) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	r := rand.New(rand.NewPCG(h.Sum64(), w.seed)) //nolint:gosec // repeatable on purpose
	return time.Duration(1+r.IntN(1000)) * time.Microsecond
}

// made are the calls that reached the agents so far.
func (w *world) made() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.calls)
}
