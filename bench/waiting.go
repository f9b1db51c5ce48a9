package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/convene-go/convene/orchestrator"
)

// waiting measures what 10,000 runs that wait for an agent hold.
func waiting(t *table) error {
	const n = 10_000
	for _, w := range []struct {
		by       string
		byStart  bool
		want     float64
		routines float64
	}{
		{"Start", true, 13, 2},
		{"Flow.Run", false, 20, 3},
	} {
		goroutines, bytes, err := held(n, w.byStart)
		if err != nil {
			return fmt.Errorf("waiting by %s: %w", w.by, err)
		}
		t.atMost("memory of a run that waits, by "+w.by, bytes/1000, w.want, " kB")
		t.atMost("goroutines of a run that waits, by "+w.by, goroutines, w.routines, "")
	}
	return nil
}

// held is the goroutines and the bytes (heap and stacks) of a waiting run, the
// goroutine that waits for its result among them.
func held(n int, byStart bool) (goroutines, bytes float64, err error) { //nolint:revive // it says which of two is measured
	arrived := make(chan struct{}, n)
	e, err := engineOf(stuck(arrived), nil)
	if err != nil {
		return 0, 0, err
	}
	before, had := inUse(), runtime.NumGoroutine()
	ctx := context.Background()
	f := working()
	var wg sync.WaitGroup
	for range n {
		if !byStart {
			wg.Go(func() { _, _ = f.Run(ctx, e, work{Calls: 1}) }) // ended by Close, with ErrStopped
		} else if _, err := f.Start(ctx, e, work{Calls: 1}, orchestrator.StartOptions{}); err != nil {
			return 0, 0, err
		}
	}
	for range n {
		<-arrived
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

// mallocs is how many objects have been allocated so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
