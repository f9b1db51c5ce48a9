package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

const (
	fleetWorkers = 3               // processes at a time
	fleetLease   = 2 * time.Second // silence after which a process counts as dead
	longest      = 3 * time.Second // limit of a stop or a cut
)

// fleet is the server of a storm on Postgres, and the proxies of its processes.
type fleet struct {
	server  *pgtest.Server
	proxies []*pgtest.Proxy
	ends    sync.WaitGroup // ends of faults that last
}

// faults counts those beside kills.
type faults struct{ stops, restarts, cuts, drops, delays int }

func (f faults) add(g faults) faults {
	return faults{f.stops + g.stops, f.restarts + g.restarts, f.cuts + g.cuts, f.drops + g.drops, f.delays + g.delays}
}

func (f faults) sum() int { return f.stops + f.restarts + f.cuts + f.drops + f.delays }

func (f faults) String() string {
	return fmt.Sprintf("%d processes stopped, %d crashes of the server, %d connections cut for a while, %d dropped, %d slow",
		f.stops, f.restarts, f.cuts, f.drops, f.delays)
}

func (f *fleet) open(s *storm) (err error) {
	if f.server, err = pgtest.Start(context.Background(), "recovery_init_sync_method=syncfs"); err != nil {
		return err
	}
	for range s.workers {
		p, err := f.server.NewProxy()
		if err != nil {
			return errors.Join(err, f.close())
		}
		f.proxies = append(f.proxies, p)
	}
	s.DB, s.Fleet = f.server.DSN(), true
	return nil
}

func (f *fleet) close() error {
	f.ends.Wait()
	var errs []error
	for _, p := range f.proxies {
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, f.server.Close())...)
}

// calm waits until lasting faults have ended.
func (f *fleet) calm() { f.ends.Wait() }

// strike makes a fault other than a kill. All but a crash of the server end by
// themselves, while the storm continues.
func (f *fleet) strike(ctx context.Context, s *storm) error {
	slot := s.rng.IntN(len(s.live))
	p, proxy := s.live[slot], f.proxies[slot]
	lasts := time.Duration(s.rng.Int64N(int64(longest)))
	switch s.rng.IntN(9) {
	case 0:
		s.faults.restarts++
		if err := f.restart(ctx, s, lasts/3); err != nil {
			return err
		}
	case 1, 2:
		s.faults.stops++
		if err := pause(p.cmd.Process); err != nil {
			return err
		}
		f.later(lasts, func() { _ = unpause(p.cmd.Process) }) // it may have been killed
	case 3, 4:
		s.faults.cuts++
		proxy.Freeze()
		f.later(lasts, proxy.Thaw)
	case 5, 6:
		s.faults.drops++
		proxy.Drop()
	case 7, 8:
		s.faults.delays++
		proxy.Delay(time.Duration(1+s.rng.IntN(30)) * time.Millisecond)
		f.later(lasts, func() { proxy.Delay(0) })
	}
	return s.ledger.look(ctx)
}

func (f *fleet) later(d time.Duration, end func()) {
	f.ends.Go(func() {
		<-time.After(d)
		end()
	})
}

// restart crashes the server and starts it after a while. The storm reads only while the
// server is up.
func (f *fleet) restart(ctx context.Context, s *storm, away time.Duration) error {
	if err := f.server.Stop(); err != nil {
		return err
	}
	<-time.After(away)
	if err := f.server.Restart(ctx); err != nil {
		return err
	}
	for _, store := range s.stores {
		if own, ok := store.(*fleetStore); ok {
			own.pool.Reset()
		}
	}
	return nil
}

// fleetStore is a store with its pool.
type fleetStore struct {
	*postgres.Store
	pool *pgxpool.Pool
}

var _ runlog.Notifier = (*fleetStore)(nil)

func openFleet(ctx context.Context, dsn string) (*fleetStore, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, err
	}
	s, err := postgres.New(ctx, postgres.Config{Pool: pool, Timeout: fleetLease})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &fleetStore{s, pool}, nil
}

// Close closes both.
func (s *fleetStore) Close() error {
	err := s.Store.Close()
	s.pool.Close()
	return err
}

// place returns a worker's place among the others.
func (t task) place() orchestrator.Fleet {
	if t.Fleet {
		return orchestrator.Fleet{Lease: fleetLease}
	}
	return orchestrator.Fleet{}
}

// patiently calls f; in a fleet it retries f while a fault lasts. The effect of f may
// happen twice.
func (t task) patiently(f func() error) error {
	err := f()
	for began := time.Now(); t.Fleet && err != nil && !errors.Is(err, orchestrator.ErrAnswered) && time.Since(began) < time.Minute; err = f() {
		<-time.After(20 * time.Millisecond)
	}
	return err
}
