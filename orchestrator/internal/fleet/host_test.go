package fleet_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

const (
	lease = 30 * time.Second
	poll  = 2 * time.Second
)

// flow is the program that all engines of these tests have.
var flow = &engine.Program{Name: "flow", Version: 1}

// host is an engine without runs of its own: it notes what its Fleet tells it.
type host struct {
	*fleet.Fleet
	cfg   fleet.Config
	warn  output // text of the log
	die   func() // ends Config.Life
	shut  func() // ends Config.Open
	began time.Time
	tasks sync.WaitGroup // calls of Config.Do

	mu        sync.Mutex
	owned     map[string]chan struct{} // runs that it works on, each with the signal of its next change
	told      []note
	abandoned []string
	look      func(ctx context.Context, what string) // it is called with each note; nil: nothing is
	reply     func(ctx context.Context, q fleet.Request, limit time.Duration) (fleet.Reply, error)
}

// output is a buffer for several goroutines.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// note is something that a Fleet told, or a store was asked.
type note struct {
	what  string
	after time.Duration // time since the test began
	limit time.Duration // time that its context has; 0: no limit
}

// newNote returns a note of what happens now.
func newNote(ctx context.Context, what string, began time.Time) note {
	n := note{what: what, after: time.Since(began)}
	if at, limited := ctx.Deadline(); limited {
		n.limit = time.Until(at)
	}
	return n
}

// at is when something was noted.
func at(notes []note, what string) (times []time.Duration) {
	for _, n := range notes {
		if n.what == what {
			times = append(times, n.after)
		}
	}
	return times
}

// newHost returns an engine of that name over a store.
func newHost(t *testing.T, id string, s runlog.Store, change ...func(*fleet.Config)) *host {
	t.Helper()
	h := &host{owned: map[string]chan struct{}{}, began: time.Now()}
	h.replies(fleet.Reply{Gone: true})
	h.cfg = fleet.Config{
		ID: id, Programs: []*engine.Program{flow}, Lease: lease, Poll: poll,
		Store: &journal.New(journal.Config{Store: s}).Storage,
		Log:   slog.New(slog.NewTextHandler(&h.warn, nil)), Lifetime: fleet.Lifetime{Do: h.tasks.Go},
	}
	h.cfg.Life, h.die = context.WithCancel(t.Context())
	opened, shut := context.WithCancelCause(h.cfg.Life)
	h.cfg.Open, h.shut = opened, func() { shut(journal.Closed()) }
	for _, f := range change {
		f(&h.cfg)
	}
	h.Fleet = fleet.New(h.cfg, h)
	return h
}

// keeps is newHost, known as alive.
func keeps(t *testing.T, id string, s runlog.Store, change ...func(*fleet.Config)) *host {
	t.Helper()
	h := newHost(t, id, s, change...)
	require.NoError(t, h.Keep(t.Context()))
	return h
}

// close closes the engine, as its Close does.
func (h *host) close() {
	h.shut()
	h.Close()
}

func (h *host) note(ctx context.Context, what string) {
	h.mu.Lock()
	h.told = append(h.told, newNote(ctx, what, h.began))
	look := h.look
	h.mu.Unlock()
	if look != nil {
		look(ctx, what)
	}
}

// looks has f called with each thing that the Fleet tells, before the engine goes on.
func (h *host) looks(f func(ctx context.Context, what string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look = f
}

// notes are what the Fleet told.
func (h *host) notes() []note {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}

// at is when the Fleet told something.
func (h *host) at(what string) []time.Duration { return at(h.notes(), what) }

// heard is all that the Fleet told and that begins so.
func (h *host) heard(prefix string) (all []string) {
	for _, n := range h.notes() {
		if strings.HasPrefix(n.what, prefix) {
			all = append(all, n.what)
		}
	}
	return all
}

// abandons has the engine say that it abandoned these runs.
func (h *host) abandons(runs ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.abandoned = runs
}

// own has the engine work on a run.
func (h *host) own(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owned[run] = make(chan struct{})
}

// changes is a change of a run that the engine works on.
func (h *host) changes(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.owned[run])
	h.owned[run] = make(chan struct{})
}

// Owns implements fleet.Host.
func (h *host) Owns(run string) (changed <-chan struct{}, owns bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, owns := h.owned[run]
	return c, owns
}

// Letters implements fleet.Host.
func (h *host) Letters(ctx context.Context, run string) { h.note(ctx, "letters "+run) }

// Abandoned implements fleet.Host.
func (h *host) Abandoned() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.abandoned
}

// TakeUp implements fleet.Host.
func (h *host) TakeUp(ctx context.Context, l *runlog.Listing) { h.note(ctx, "take up "+l.Run) }

// Fenced implements fleet.Host.
func (h *host) Fenced(ctx context.Context) { h.note(ctx, "fenced") }

// Reply implements fleet.Host.
func (h *host) Reply(ctx context.Context, q fleet.Request, limit time.Duration) (fleet.Reply, error) {
	h.note(ctx, "reply")
	h.mu.Lock()
	reply := h.reply
	h.mu.Unlock()
	return reply(ctx, q, limit)
}

// answers has the engine reply by f from now on.
func (h *host) answers(f func(ctx context.Context, q fleet.Request, limit time.Duration) (fleet.Reply, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reply = f
}

// replies has the engine reply so.
func (h *host) replies(a fleet.Reply) {
	h.answers(func(context.Context, fleet.Request, time.Duration) (fleet.Reply, error) { return a, nil })
}

// refuses has the engine reply with an error.
func (h *host) refuses(err error) {
	h.answers(func(context.Context, fleet.Request, time.Duration) (fleet.Reply, error) { return fleet.Reply{}, err })
}

// hangs has the engine reply only when a request is given up.
func (h *host) hangs() {
	h.answers(func(ctx context.Context, _ fleet.Request, _ time.Duration) (fleet.Reply, error) {
		<-ctx.Done()
		return fleet.Reply{}, ctx.Err()
	})
}

// bubble runs tests, each in a bubble of its own.
func bubble(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// pass lets time pass in a bubble, and what happens at its end.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// each are the times after d, 2d and so on, n of them.
func each(d time.Duration, n int) (times []time.Duration) {
	for i := range n {
		times = append(times, time.Duration(i+1)*d)
	}
	return times
}

// texts are those of notes.
func texts(notes []note) (all []string) {
	for _, n := range notes {
		all = append(all, n.what)
	}
	return slices.Clip(all)
}
