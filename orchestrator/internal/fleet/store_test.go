package fleet_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

var errDisk = errors.New("disk full")

// store is a Memory that its test may break. Several of one Memory are the stores of
// several processes.
type store struct {
	*runlog.Memory
	began time.Time

	mu    sync.Mutex
	asked []note                                       // calls: method and argument
	fault func(ctx context.Context, what string) error // it is called before each call; nil: nothing is
}

func newStore() *store { return &store{Memory: runlog.NewMemory(), began: time.Now()} }

// beside returns the store of another process.
func (s *store) beside() *store { return &store{Memory: s.Memory, began: s.began} }

// plain is s without its optional interfaces.
func (s *store) plain() runlog.Store { return struct{ runlog.Store }{s} }

// mute is s without a Notifier and a Messenger.
func (s *store) mute() runlog.Store {
	return struct {
		runlog.Store
		runlog.Owners
		runlog.Inbox
	}{s, s, s}
}

func (s *store) call(ctx context.Context, method, arg string) error {
	what := strings.TrimSpace(method + " " + arg)
	s.mu.Lock()
	s.asked = append(s.asked, newNote(ctx, what, s.began))
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, what)
}

// breaks has f called before each call of these methods. An error is that of the call.
func (s *store) breaks(f func(ctx context.Context) error, methods ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = func(ctx context.Context, what string) error {
		method, _, _ := strings.Cut(what, " ")
		if slices.Contains(methods, method) {
			return f(ctx)
		}
		return nil
	}
}

// fails has all calls of these methods fail.
func (s *store) fails(methods ...string) {
	s.breaks(func(context.Context) error { return errDisk }, methods...)
}

// hangs has all calls of these methods end only with their contexts.
func (s *store) hangs(methods ...string) {
	s.breaks(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}, methods...)
}

// heals ends all faults.
func (s *store) heals() { s.breaks(nil) }

// all are all calls.
func (s *store) all() []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// calls are the calls of a method: their arguments, with time and limit.
func (s *store) calls(method string) (all []note) {
	for _, n := range s.all() {
		if name, arg, _ := strings.Cut(n.what, " "); name == method {
			n.what = arg
			all = append(all, n)
		}
	}
	return all
}

// Beat implements runlog.Owners.
func (s *store) Beat(ctx context.Context, owner string, d time.Duration) error {
	if err := s.call(ctx, "Beat", owner+" "+d.String()); err != nil {
		return err
	}
	return s.Memory.Beat(ctx, owner, d)
}

// Leave implements runlog.Owners.
func (s *store) Leave(ctx context.Context, owner string) error {
	if err := s.call(ctx, "Leave", owner); err != nil {
		return err
	}
	return s.Memory.Leave(ctx, owner)
}

// Alive implements runlog.Owners.
func (s *store) Alive(ctx context.Context, owner string) (bool, error) {
	if err := s.call(ctx, "Alive", owner); err != nil {
		return false, err
	}
	return s.Memory.Alive(ctx, owner)
}

// Orphans implements runlog.Owners.
func (s *store) Orphans(ctx context.Context) iter.Seq2[runlog.Listing, error] {
	return sequence(s.call(ctx, "Orphans", ""), s.Memory.Orphans(ctx))
}

// List implements runlog.Store.
func (s *store) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	return sequence(s.call(ctx, "List", q.Run+q.Parent), s.Memory.List(ctx, q))
}

// Changes implements runlog.Notifier.
func (s *store) Changes(ctx context.Context) iter.Seq2[string, error] {
	return sequence(s.call(ctx, "Changes", ""), s.Memory.Changes(ctx))
}

// Request implements runlog.Messenger.
func (s *store) Request(ctx context.Context, owner string, data []byte) ([]byte, error) {
	if err := s.call(ctx, "Request", owner); err != nil {
		return nil, err
	}
	return s.Memory.Request(ctx, owner, data)
}

// Serve implements runlog.Messenger.
func (s *store) Serve(ctx context.Context, owner string, handle func(context.Context, []byte) []byte) error {
	if err := s.call(ctx, "Serve", owner); err != nil {
		return err
	}
	return s.Memory.Serve(ctx, owner, handle)
}

// Delete implements runlog.Deleter.
func (s *store) Delete(ctx context.Context, runs ...string) error {
	if err := s.call(ctx, "Delete", strings.Join(runs, " ")); err != nil {
		return err
	}
	return s.Memory.Delete(ctx, runs...)
}

// sequence is seq, or yields err.
func sequence[T any](err error, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	if err == nil {
		return seq
	}
	return func(yield func(T, error) bool) { yield(*new(T), err) }
}

// start puts the first record of a run of flow on record.
func (s *store) start(t *testing.T, run, owner string, change ...func(*engine.StartedData)) {
	t.Helper()
	d := engine.StartedData{Version: 1, Owner: owner}
	for _, f := range change {
		f(&d)
	}
	s.write(t, run, runlog.Started, d)
}

// inside makes a run the child of another one.
func inside(parent string) func(*engine.StartedData) {
	return func(d *engine.StartedData) { d.Parent = parent }
}

// version makes a run one of another version of flow.
func version(v int) func(*engine.StartedData) {
	return func(d *engine.StartedData) { d.Version = v }
}

// labeled gives a run a label.
func labeled(name, value string) func(*engine.StartedData) {
	return func(d *engine.StartedData) { d.Labels = map[string]string{name: value} }
}

// resume puts it on record that another engine has resumed a run.
func (s *store) resume(t *testing.T, run, owner string) {
	t.Helper()
	s.write(t, run, runlog.Resumed, engine.ResumedData{Owner: owner})
}

// stuck puts it on record that the flow of a run failed.
func (s *store) stuck(t *testing.T, run string) {
	t.Helper()
	s.write(t, run, runlog.Stuck, engine.StuckData{Err: agent.ErrorOf(errDisk)})
}

// end puts the end of a run on record, with its state.
func (s *store) end(t *testing.T, run, state string) {
	t.Helper()
	s.write(t, run, runlog.Ended, engine.EndedData{End: engine.End{Status: "done", State: []byte(state)}})
}

// write puts a record at the end of a run's log.
func (s *store) write(t *testing.T, run, kind string, value any) {
	t.Helper()
	data, err := engine.Encode(value)
	require.NoError(t, err)
	rec := runlog.Record{Run: run, Kind: kind, Name: flow.Name, Data: data, At: time.Now()}
	if last, err := s.Last(t.Context(), run); err == nil {
		rec.Seq = last.Seq + 1
	}
	require.NoError(t, s.Append(t.Context(), []runlog.Record{rec}))
}

// has are the runs in the store, in the order of their names.
func (s *store) has(t *testing.T) (runs []string) {
	t.Helper()
	for l, err := range s.Memory.List(t.Context(), runlog.Query{}) {
		require.NoError(t, err)
		runs = append(runs, l.Run)
	}
	slices.Sort(runs)
	return runs
}
