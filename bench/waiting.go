package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// waiting is W6: what 10,000 runs cost that wait for an agent, or for a person.
func waiting(t *table) error {
	const n = 10_000
	for _, w := range []struct {
		what string
		flow orchestrator.Flow[int, bool]
	}{
		{"an agent", orchestrator.Flow[int, bool]{Name: "agent", Do: func(c *orchestrator.Context, _ int) (bool, error) {
			_, err := c.Call("stuck", agent.Request{Prompt: "x"})
			return true, err
		}}},
		{"a person", orchestrator.Flow[int, bool]{Name: "person", Do: func(c *orchestrator.Context, _ int) (bool, error) {
			return orchestrator.Await[bool](c, orchestrator.Question{Key: "ok"})
		}}},
	} {
		goroutines, bytes, err := cost(w.flow, n)
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", w.what, err)
		}
		t.below("W6 goroutines of a run that waits for "+w.what, goroutines, 3, "")
		t.below("W6 memory of a run that waits for "+w.what, bytes/1000, 8, " kB")
	}
	return nil
}

// cost is the goroutines and the bytes (heap and stacks) of a waiting run, the
// goroutine that waits for its result among them.
func cost(f orchestrator.Flow[int, bool], n int) (goroutines, bytes float64, err error) {
	var arrived atomic.Int64
	stuck := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		arrived.Add(1)
		<-ctx.Done()
		return agent.Response{}, ctx.Err()
	})
	e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"stuck": stuck}})
	if err != nil {
		return 0, 0, err
	}
	before, had := inUse(), runtime.NumGoroutine()
	var wg sync.WaitGroup
	ctx := context.Background()
	for range n {
		wg.Go(func() { _, _ = f.Run(ctx, e, 1) }) // ended by Close, with ErrStopped
	}
	for blocked := 0; blocked < n; { // until all of them wait
		runtime.Gosched()
		blocked = 0
		for info, err := range e.Runs(ctx, true) {
			if err != nil {
				return 0, 0, err
			}
			if info.Status == orchestrator.Waiting {
				blocked++
			}
		}
		blocked = max(blocked, int(arrived.Load()))
	}
	goroutines = float64(runtime.NumGoroutine()-had) / float64(n)
	bytes = float64(inUse()-before) / float64(n)
	err = e.Close(ctx)
	wg.Wait()
	return goroutines, bytes, err
}

// inUse is the memory of live objects and stacks.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse) //nolint:gosec // far below the largest int64
}
