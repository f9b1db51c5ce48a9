package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/convene-go/convene/orchestrator/agent"
)

// calls is W1: calls without a log, compared with a goroutine and a channel for each.
func calls(t *table) error {
	const n, some = 10, 1000 // calls in a run, runs
	for _, v := range []struct {
		what string
		a    agent.Agent
		want time.Duration
	}{
		{"W1 a call, run of 10 with start and end", nop, 2500 * time.Nanosecond},
		{"W1 the same, agent.LLM with an instant model", llm(0), 6 * time.Microsecond},
	} {
		e, err := engineOf(v.a, nil)
		if err != nil {
			return err
		}
		p, err := compare(t.pairs, n*some, runs(e, working(), work{Calls: n}, some), bare(n*some))
		if err != nil {
			return err
		}
		t.within(v.what, p, v.want)
		if err := e.Close(context.Background()); err != nil {
			return err
		}
	}
	return longRun(t)
}

// longRun is calls in a run of 1,000, with and without a timeout.
func longRun(t *table) error {
	const n, some = 1000, 20
	e, err := engineOf(nop, nil)
	if err != nil {
		return err
	}
	plain := runs(e, working(), work{Calls: n}, some)
	p, err := compare(t.pairs, n*some, plain, bare(n*some))
	if err != nil {
		return err
	}
	t.ratio("W1 a call, run of 1,000: goroutine+channel", p, 2.2)
	p, err = compare(t.pairs, n*some, runs(e, working(), work{Calls: n, Timeout: time.Minute}, some), plain)
	if err != nil {
		return err
	}
	t.ratio("W1 a call with Limits.Timeout: one without", p, 1.5)
	return e.Close(context.Background())
}

// bare makes n calls, each on a goroutine of its own that answers over a channel.
func bare(n int) sample {
	ctx := context.Background()
	return timed(func() error {
		for range n {
			done := make(chan error)
			go func() { _, err := nop.Call(ctx, agent.Request{Prompt: "x"}); done <- err }()
			if err := <-done; err != nil {
				return err
			}
		}
		return nil
	})
}

// fanOut is W2: 1,000 parallel agents of 20 ms. The limit is an errgroup.
func fanOut(t *table) error {
	const n, takes = 1000, 20 * time.Millisecond
	for _, v := range []struct {
		what string
		a    agent.Agent
		want float64
	}{
		{"W2 1,000 agents of 20 ms side by side: 20 ms", slow(takes), 1.25},
		{"W2 the same, agent.LLM", llm(takes), 1.5},
	} {
		e, err := engineOf(v.a, nil)
		if err != nil {
			return err
		}
		p, err := compare(t.pairs, 1, runs(e, working(), work{Branches: n, Calls: 1}, 1), group(n, slow(takes)))
		if err != nil {
			return err
		}
		t.times(v.what, p, takes, v.want)
		if err := e.Close(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func group(n int, a agent.Agent) sample {
	return timed(func() error {
		g, ctx := errgroup.WithContext(context.Background())
		for range n {
			g.Go(func() error { _, err := a.Call(ctx, agent.Request{Prompt: "x"}); return err })
		}
		return g.Wait()
	})
}
