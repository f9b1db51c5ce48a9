package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// library has the workloads of a library. A nil function: the library has no construct
// for it.
type library struct {
	name   string
	chain  func(n int, takes time.Duration) (func(context.Context) error, error) // sequential calls
	models func(n int, takes time.Duration) (func(context.Context) error, error) // the same by agents with a model
	fanOut func(n int, takes time.Duration) (func(context.Context) error, error) // parallel calls
	loop   func(rounds int) (func(context.Context) error, error)                 // try and grade
	dag    func(needs [][]int) (func(context.Context) error, error)              // at most 8 at once
	memory func(steps int) variant                                               // steps on record in memory
	sqlite func(steps int, dir string) (func(context.Context) error, error)      // in SQLite
}

var libraries = []library{limits, convene, langchaingo, langgraphgo, eino}

const text = "y"

var kilobyte = strings.Repeat("0123456789", 100)

// answer is the work of an agent: it takes some time, or none.
func answer(ctx context.Context, takes time.Duration) error {
	if takes == 0 {
		return nil
	}
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type once = func(context.Context) error

// of makes a workload of those libraries that have it.
func of(pick func(l library) (once, error)) ([]variant, error) {
	var vs []variant
	for _, l := range libraries {
		do, err := pick(l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		if do != nil {
			vs = append(vs, repeat(l.name, do))
		}
	}
	return vs, nil
}

func calls() ([]variant, error) {
	return of(func(l library) (once, error) { return l.chain(10, 0) })
}

func modelCalls() ([]variant, error) {
	return of(func(l library) (once, error) {
		if l.models == nil {
			return nil, nil
		}
		return l.models(10, 0)
	})
}

func fanOuts() ([]variant, error) {
	return of(func(l library) (once, error) { return l.fanOut(1000, 20*time.Millisecond) })
}

func loops() ([]variant, error) {
	return of(func(l library) (once, error) { return l.loop(3) })
}

// layer is how many tasks of a DAG depend on those of the layer before.
const layer = 100

func dags(n int) ([]variant, error) {
	r := rand.New(rand.NewPCG(1, 1))
	needs := make([][]int, n)
	for i := layer; i < n; i++ {
		for _, j := range r.Perm(layer)[:3] {
			needs[i] = append(needs[i], i/layer*layer-layer+j)
		}
	}
	return of(func(l library) (once, error) {
		if l.dag == nil {
			return nil, nil
		}
		return l.dag(needs)
	})
}

func memorySteps(n int) ([]variant, error) {
	var vs []variant
	for _, l := range libraries {
		if l.memory != nil {
			vs = append(vs, l.memory(n))
		}
	}
	return vs, nil
}
