package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// replays is how many records per second a resumed run reads from SQLite and matches.
func replays(t *table) error {
	d, err := openDurable(sqlite.Normal, nop)
	if err != nil {
		return err
	}
	const branches, each = 16, 1250
	there := make(chan struct{}, 1)
	f := orchestrator.Flow[int, bool]{Name: "replay", Do: func(c *orchestrator.Context, each int) (bool, error) {
		in := work{Calls: each}
		for _, r := range orchestrator.Map(c, make([]struct{}, branches), 0, func(c *orchestrator.Context, _ struct{}) (int, error) { return 0, inTurn(c, in) }) {
			if r.Err != nil {
				return false, r.Err
			}
		}
		there <- struct{}{} // flows must not do this; here it stops a clock
		return orchestrator.Await[bool](c, orchestrator.Question{Key: "never"})
	}}
	ctx := context.Background()
	once := func() error {
		if _, err := f.Start(ctx, d.eng, each, orchestrator.StartOptions{ID: "replay"}); err != nil {
			return err
		}
		<-there
		return nil
	}
	if err := once(); err != nil {
		return err
	}
	p, err := alone(t.pairs, 1, func() (time.Duration, error) {
		err := d.eng.Close(ctx)
		if err != nil {
			return 0, err
		}
		if d.eng, err = engineOf(nop, d.store); err != nil {
			return 0, err
		}
		return timed(once)()
	})
	if err != nil {
		return err
	}
	t.atLeast("records/s replayed from SQLite", branches*each/p.ours.Seconds(), 350_000, "")
	return d.close()
}

// hosts is what programs with many or long runs wait for: a Resume beside 5,000 runs of
// another engine, and an answer to a run of 50,000 records.
func hosts(t *table) error {
	d, err := openDurable(sqlite.Normal, nop)
	if err != nil {
		return err
	}
	store, err := d.open(sqlite.Normal)
	if err != nil {
		return err
	}
	if err := answers(t, d, store); err != nil {
		return err
	}
	const foreign = 5000
	f := waits(0)
	ctx := context.Background()
	for i := range foreign {
		if _, err := f.Start(ctx, d.eng, 1, orchestrator.StartOptions{ID: fmt.Sprintf("foreign-%d", i)}); err != nil {
			return err
		}
	}
	p, err := alone(t.pairs, 1, func() (time.Duration, error) {
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": nop}, Flows: []orchestrator.AnyFlow{f}, Store: store})
		if err != nil {
			return 0, err
		}
		took, err := timed(func() error { _, err := e.Resume(ctx); return err })()
		return took, errors.Join(err, e.Close(ctx))
	})
	if err != nil {
		return err
	}
	t.within("Resume beside 5,000 runs of another engine", p, 50*time.Millisecond)
	return errors.Join(store.Close(), d.close())
}

// answers measures answers to a run of 50,000 records, from the engine that works on
// it and from another one.
func answers(t *table, d *durable, store *sqlite.Store) error {
	ctx := context.Background()
	f := waits(50_000)
	own, err := f.Start(ctx, d.eng, 1, orchestrator.StartOptions{ID: "long"})
	if err != nil {
		return err
	}
	if err := asks(ctx, own); err != nil {
		return err
	}
	other, err := orchestrator.NewLocal(orchestrator.Config{Store: store})
	if err != nil {
		return err
	}
	foreign, err := other.Open(ctx, "long")
	if err != nil {
		return err
	}
	n := 0
	for _, v := range []struct {
		from string
		run  *orchestrator.Run
	}{{"its engine", own}, {"another engine", foreign}} {
		p, err := alone(t.pairs, 1, func() (time.Duration, error) {
			n++
			return timed(func() error {
				return v.run.AnswerWith(ctx, fmt.Sprint("early-", n), true, orchestrator.AnswerOptions{Early: true})
			})()
		})
		if err != nil {
			return err
		}
		t.within("Answer on a run of 50,000 records, from "+v.from, p, 5*time.Millisecond)
	}
	p, err := alone(t.pairs, 1, timed(func() error {
		if err := foreign.AnswerWith(ctx, "early-1", false, orchestrator.AnswerOptions{Early: true}); !errors.Is(err, orchestrator.ErrAnswered) {
			return fmt.Errorf("a second answer returned %w", err)
		}
		return nil
	}))
	if err != nil {
		return err
	}
	t.within("Answer that is refused, the same run", p, 5*time.Millisecond)
	return other.Close(ctx)
}

// waits records n events of its own, and waits for an answer that does not come.
func waits(n int) orchestrator.Flow[int, bool] {
	return orchestrator.Flow[int, bool]{Name: fmt.Sprint("waits-", n), Do: func(c *orchestrator.Context, _ int) (bool, error) {
		for i := range n {
			c.Emit("event", i)
		}
		return orchestrator.Await[bool](c, orchestrator.Question{Key: "never"})
	}}
}

// asks waits until a run has asked its question.
func asks(ctx context.Context, run *orchestrator.Run) error {
	for rec, err := range run.Events(ctx, 0) {
		if err != nil || rec.Kind == "asked" {
			return err
		}
	}
	return nil
}
