package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/convene-go/convene/orchestrator"
)

// storm is a series of kills over one database.
type storm struct {
	task
	counts
	strikes, workers int // strikes: how many processes to kill
	seed             uint64
	dir              string

	rng      *rand.Rand
	stores   []store
	fleet    *fleet                 // nil: on SQLite
	hosts    []*orchestrator.Engine // engines that only answer questions
	ledger   *ledger
	live     []*process
	past     []*process          // killed processes, oldest first
	asked    map[string]bool     // answers that were sent, by run and question
	accepted map[string][]string // the authors of accepted answers, by run and question
}

// String is the command line that repeats the storm.
func (s *storm) String() string {
	if s.fleet != nil {
		return fmt.Sprintf("-postgres -seed %d -kills %d -dir %s", s.seed, s.strikes, filepath.Dir(s.dir)+"-again")
	}
	mode := "normal"
	if s.Full {
		mode = "full"
	}
	return fmt.Sprintf("-seed %d -kills %d -sync %s -workers %d -dir %s", s.seed, s.strikes, mode, s.workers, filepath.Dir(s.dir)+"-again")
}

// run runs the storm and checks the result.
func (s *storm) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel() // kills what is left of its processes
		for _, p := range s.live {
			<-p.exited
		}
	}()
	if err := s.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.rng = rand.New(rand.NewPCG(s.seed, 0))
	for slot := range s.workers {
		p, err := s.spawn(ctx, slot, 3)
		if err != nil {
			return err
		}
		s.live = append(s.live, p)
	}
	for s.kills+s.faults.sum() < s.strikes {
		if err := s.watch(ctx, s.lull()); err != nil {
			return err
		}
		if err := s.strike(ctx); err != nil {
			return err
		}
	}
	if err := s.calm(ctx); err != nil {
		return err
	}
	return s.check(ctx)
}

func (s *storm) open() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	s.asked, s.accepted = map[string]bool{}, map[string][]string{}
	if s.fleet != nil {
		if err := s.fleet.open(s); err != nil {
			return err
		}
	}
	for range 2 {
		store, err := s.store(context.Background())
		if err != nil {
			return err
		}
		host, err := orchestrator.NewLocal(orchestrator.Config{Store: store})
		if err != nil {
			return err
		}
		s.stores, s.hosts = append(s.stores, store), append(s.hosts, host)
	}
	book, err := openNotebook(s.Notes)
	if err != nil {
		return err
	}
	if err := book.file.Close(); err != nil {
		return err
	}
	notes, err := os.Open(s.Notes)
	if err != nil {
		return err
	}
	s.ledger = newLedger(s.stores[0], noteReader{file: notes})
	if s.fleet != nil {
		s.ledger.late = &s.late
	}
	return nil
}

func (s *storm) close() error {
	errs := []error{s.ledger.reader.file.Close()}
	for i, host := range s.hosts {
		errs = append(errs, host.Close(context.Background()), s.stores[i].Close())
	}
	if s.fleet != nil {
		errs = append(errs, s.fleet.close())
	}
	return errors.Join(errs...)
}

// spawn starts a process in a slot of live.
func (s *storm) spawn(ctx context.Context, slot, starts int) (*process, error) {
	t := s.task
	t.Gen, t.Starts, t.Seed = len(s.live)+len(s.past), starts, s.rng.Uint64()
	if s.fleet != nil {
		t.DB = s.fleet.proxies[slot].DSN()
	}
	return spawn(ctx, t)
}

// lull draws how long a process runs: some are killed before they are up, most
// while they work, some while their runs wait.
func (s *storm) lull() time.Duration {
	longest := []time.Duration{30, 200, 200, 200, 600}[s.rng.IntN(5)]
	return time.Duration(s.rng.Int64N(int64(longest * time.Millisecond)))
}

// strike kills a process, or all, and starts others.
func (s *storm) strike(ctx context.Context) error {
	if s.fleet != nil && s.rng.IntN(3) > 0 {
		return s.fleet.strike(ctx, s)
	}
	victims := []int{s.rng.IntN(len(s.live))}
	if len(s.live) == 2 && s.rng.IntN(4) == 0 && s.kills+2 <= s.strikes {
		victims = []int{0, 1}
	}
	for _, i := range victims {
		if err := s.live[i].kill(); err != nil {
			return errors.Join(s.ledger.look(ctx), err)
		}
		s.kills++
	}
	if err := s.ledger.look(ctx); err != nil {
		return err
	}
	for _, i := range victims {
		p, err := s.spawn(ctx, i, s.rng.IntN(4))
		if err != nil {
			return err
		}
		s.past = append(s.past, s.live[i])
		s.live[i] = p
	}
	return nil
}

// calm lets the runs end, and then the processes.
func (s *storm) calm(ctx context.Context) error {
	const patience = 2 * time.Minute
	last, moved := 0, time.Now()
	if s.fleet != nil {
		s.fleet.calm()
	}
	for still := 0; still < 2; { // a look may find a new run
		if err := s.watch(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if still++; len(s.ledger.open()) > 0 || !s.up() {
			still = 0
		}
		if n := s.ledger.records(); n != last {
			last, moved = n, time.Now()
		}
		if time.Since(moved) > patience {
			return fmt.Errorf("%w: nothing was recorded for %v, and %v are open", errNever, patience, s.ledger.open())
		}
	}
	for _, p := range s.live {
		if err := p.stop(); err != nil {
			return err
		}
	}
	s.past, s.live = append(s.past, s.live...), nil
	return s.ledger.look(ctx)
}

// up reports whether all processes have started their runs.
func (s *storm) up() bool {
	ready := map[int]bool{}
	for _, n := range s.ledger.notes {
		if n.Kind == noteUp {
			ready[n.Gen] = true
		}
	}
	for _, p := range s.live {
		if !ready[p.gen] {
			return false
		}
	}
	return true
}

// watch reads logs and notes and answers questions for a while.
func (s *storm) watch(ctx context.Context, d time.Duration) error {
	until := time.After(d)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-until:
			return s.ledger.look(ctx)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := s.ledger.look(ctx); err != nil {
			return err
		}
		if err := s.answer(ctx); err != nil {
			return err
		}
	}
}
