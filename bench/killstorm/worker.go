package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// task is what a process does: it resumes the runs of the database, starts some of
// its own, and stays until its standard input ends.
type task struct {
	DB, Notes string // paths of the database and the file of notes
	Full      bool   // the sync mode is FULL, not NORMAL
	Fleet     bool   // it works on Postgres: DB is a DSN
	Poll      bool   // it resumes again and again

	Gen    int    // number of the process
	Starts int    // how many runs it starts
	Seed   uint64 // seed of their plans
}

// worker is that process.
type worker struct {
	task
	notes  notebook
	engine *orchestrator.Engine
}

// store is one of SQLite or Postgres.
type store interface {
	runlog.Store
	Close() error
}

func (t task) store(ctx context.Context) (store, error) {
	if t.Fleet {
		return openFleet(ctx, t.DB)
	}
	sync := sqlite.Normal
	if t.Full {
		sync = sqlite.Full
	}
	return sqlite.New(sqlite.Config{Path: t.DB, Sync: sync})
}

// work is the main function of a worker.
func work(arg string) (err error) {
	w := &worker{}
	if err := json.Unmarshal([]byte(arg), &w.task); err != nil {
		return err
	}
	if w.notes, err = openNotebook(w.Notes); err != nil {
		return err
	}
	ctx := context.Background()
	var store store
	if err := w.patiently(func() (err error) {
		store, err = w.store(ctx)
		return err
	}); err != nil {
		return err
	}
	w.engine, err = orchestrator.NewLocal(orchestrator.Config{
		Agents: w.roster(),
		Flows:  []orchestrator.AnyFlow{plans(), spends(), hello()},
		Store:  store,
		Retry:  orchestrator.Attempts{Wait: time.Millisecond},
		Fleet:  w.place(),
	})
	if err != nil {
		return err
	}
	if err := w.begin(ctx); err != nil {
		return errors.Join(err, w.notes.add(note{Kind: noteTrouble, Gen: w.Gen, Text: err.Error()}))
	}
	w.stay(ctx)
	return errors.Join(w.engine.Close(ctx), store.Close())
}

// begin starts the runs of the process, and resumes existing ones.
func (w *worker) begin(ctx context.Context) error {
	if err := w.patiently(func() error {
		_, err := hello().Start(ctx, w.engine, w.Gen, orchestrator.StartOptions{ID: fmt.Sprintf("hello-%d", w.Gen)})
		return err
	}); err != nil {
		return err
	}
	if err := w.notes.add(note{Kind: noteReady, Gen: w.Gen, At: time.Now()}); err != nil {
		return err
	}
	if err := w.patiently(func() error {
		_, err := w.engine.Resume(ctx)
		return err
	}); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	r := rand.New(rand.NewPCG(w.Seed, 2))
	for i := range w.Starts {
		if err := w.start(ctx, fmt.Sprintf("run-%d-%d", w.Gen, i), r); err != nil {
			return err
		}
	}
	return w.notes.add(note{Kind: noteUp, Gen: w.Gen})
}

// start starts a run of a plan, or one that spends.
func (w *worker) start(ctx context.Context, id string, r *rand.Rand) error {
	seed := r.Uint64()
	if err := w.notes.add(note{Kind: noteStart, Gen: w.Gen, Run: id, Seed: seed}); err != nil {
		return err
	}
	var run *orchestrator.Run
	key := ""
	if seed%3 != 0 {
		key = planOf(seed, depth).firstQuestion()
	}
	err := w.patiently(func() (err error) {
		if seed%3 == 0 {
			in, budget := purseOf(seed)
			run, err = spends().Start(ctx, w.engine, in, orchestrator.StartOptions{ID: id, Budget: budget})
		} else {
			run, err = plans().Start(ctx, w.engine, planned{seed, depth}, orchestrator.StartOptions{ID: id})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	if err := w.notes.add(note{Kind: noteStarted, Gen: w.Gen, Run: id}); err != nil || key == "" || seed%2 == 0 {
		return err
	}
	return errors.Join(w.answer(ctx, run, key, "early"), w.answer(ctx, run, key, "again"))
}

// answer answers a question of a run of this process, and notes it if the answer was
// accepted.
func (w *worker) answer(ctx context.Context, run *orchestrator.Run, key, what string) error {
	by := fmt.Sprintf("process %d, %s", w.Gen, what)
	err := w.patiently(func() error {
		return run.AnswerWith(ctx, key, reception{answerTo(key), by}, orchestrator.AnswerOptions{By: by, Early: true})
	})
	if errors.Is(err, orchestrator.ErrAnswered) {
		return nil
	} else if err != nil {
		return fmt.Errorf("answer %s %s: %w", run.ID(), key, err)
	}
	return w.notes.add(note{Kind: noteAnswered, Gen: w.Gen, Run: run.ID(), Key: key, By: by})
}

// purseOf draws a run that spends: under a limit on cost or on calls, with or
// without estimates, with or without children.
func purseOf(seed uint64) (purse, orchestrator.Budget) {
	r := rand.New(rand.NewPCG(seed, 3))
	in := purse{Items: 8 + r.IntN(8), Estimated: r.IntN(3) > 0, Children: r.IntN(4)}
	n := 4 + r.Int64N(8)
	if in.Estimated && r.IntN(2) == 0 {
		return in, orchestrator.Budget{Calls: n}
	}
	if !in.Estimated {
		in.Children = 0
	}
	return in, orchestrator.Budget{Cost: providers.NanoUSD(n)*price + providers.NanoUSD(r.Int64N(int64(price)))}
}

// stay waits until the storm closes the standard input, or its process has ended.
func (w *worker) stay(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if w.Poll {
		wg.Go(func() { w.poll(ctx) })
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	wg.Wait()
}

// poll resumes runs again and again.
func (w *worker) poll(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = w.engine.Resume(ctx) // failures are retried
		}
	}
}
