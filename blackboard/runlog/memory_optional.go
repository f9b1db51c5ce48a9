package runlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// address is a letter's in its run.
type address struct {
	key   string // key of the question; "": the cancel
	round int    // round of the question
}

// Put implements [Inbox].
func (m *Memory) Put(ctx context.Context, l Letter) error {
	return m.locked(ctx, func() error {
		if len(m.run(l.Run).recs) == 0 {
			return fmt.Errorf("%w: %q", ErrNoRun, l.Run)
		}
		r, at := m.change(l.Run), address{l.Key, l.Round}
		if r.used[at] {
			return fmt.Errorf("%w: run %q had a letter for key %q, round %d", ErrConflict, l.Run, l.Key, l.Round)
		}
		if r.used == nil {
			r.used = make(map[address]bool)
		}
		r.used[at] = true
		r.letters = append(r.letters, ownLetter(l))
		m.notify(l.Run)
		return nil
	})
}

// Take implements [Inbox].
func (m *Memory) Take(ctx context.Context, run, key string, round int) error {
	return m.locked(ctx, func() error {
		if r := m.runs[run]; r != nil {
			r.letters = slices.DeleteFunc(r.letters, func(l Letter) bool { return l.Key == key && l.Round == round })
		}
		return nil
	})
}

func ownLetter(l Letter) Letter {
	l.Data = append(json.RawMessage(nil), l.Data...)
	return l
}

// Letters implements [Inbox].
func (m *Memory) Letters(ctx context.Context, run string) iter.Seq2[Letter, error] {
	return yieldAll(ctx, m, ownLetter, func() (all []Letter, err error) {
		for id, r := range m.runs {
			if run == "" || run == id {
				all = append(all, r.letters...)
			}
		}
		slices.SortFunc(all, func(a, b Letter) int {
			return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Round, b.Round))
		})
		return all, nil
	})
}

// Asks implements [Questions].
func (m *Memory) Asks(ctx context.Context, run, key string) iter.Seq2[Record, error] {
	return yieldAll(ctx, m, own, func() (asks []Record, err error) {
		for _, rec := range m.run(run).recs {
			if AskKind(rec.Kind) && (key == "" || rec.Name == key) {
				asks = append(asks, rec)
			}
		}
		return asks, nil
	})
}

// OpenAsks implements [OpenQuestions].
func (m *Memory) OpenAsks(ctx context.Context, q AskQuery) iter.Seq2[OpenAsk, error] {
	return yieldAll(ctx, m, ownOpenAsk, func() (all []OpenAsk, err error) {
		for _, r := range m.runs {
			all = append(all, r.asks.selected(&q, &r.listing)...)
		}
		return firstOf(&q, all), nil
	})
}

func ownOpenAsk(a OpenAsk) OpenAsk {
	a.Record, a.Labels = own(a.Record), maps.Clone(a.Labels)
	return a
}

// PutBlob implements [Blobs].
func (m *Memory) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	hash := BlobHash(data)
	return hash, m.locked(ctx, func() error {
		if blobs := m.change(run).blobs; blobs[hash] == nil {
			blobs[hash] = append([]byte{}, data...)
		}
		return nil
	})
}

// Blob implements [Blobs].
func (m *Memory) Blob(ctx context.Context, run, hash string) (data []byte, err error) {
	err = m.locked(ctx, func() error {
		if data = m.run(run).blobs[hash]; data == nil {
			return fmt.Errorf("%w: %q of run %q", ErrNoBlob, hash, run)
		}
		return nil
	})
	return bytes.Clone(data), err
}

// BlobsOf implements [Blobs]. It yields the blobs that were there when it began.
func (m *Memory) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return yieldAll(ctx, m, bytes.Clone, func() (all [][]byte, err error) {
		blobs := m.run(run).blobs
		for _, hash := range slices.Sorted(maps.Keys(blobs)) {
			all = append(all, blobs[hash])
		}
		return all, nil
	})
}

// Beat implements [Owners] by the monotonic clock of the process.
func (m *Memory) Beat(ctx context.Context, owner string, d time.Duration) error {
	return m.locked(ctx, func() error {
		if owner == "" || d <= 0 {
			return fmt.Errorf("runlog: beat of engine %q for %v: want a name and more than 0", owner, d)
		}
		m.alive[owner] = time.Now().Add(d)
		return nil
	})
}

// Leave implements [Owners].
func (m *Memory) Leave(ctx context.Context, owner string) error {
	return m.locked(ctx, func() error {
		delete(m.alive, owner)
		return nil
	})
}

// Alive implements [Owners].
func (m *Memory) Alive(ctx context.Context, owner string) (alive bool, err error) {
	err = m.locked(ctx, func() error {
		alive = m.isAlive(owner)
		return nil
	})
	return alive, err
}

func (m *Memory) isAlive(owner string) bool { return time.Now().Before(m.alive[owner]) }

// Orphans implements [Owners].
func (m *Memory) Orphans(ctx context.Context) iter.Seq2[Listing, error] {
	return yieldAll(ctx, m, ownListing, func() ([]Listing, error) {
		oldestFirst := func(a, b Listing) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run)) }
		return m.selected(oldestFirst, func(l Listing) bool { return !l.Ended && !m.isAlive(l.Owner) }), nil
	})
}

// memoryServer is a call of Serve.
type memoryServer struct {
	ctx    context.Context                               //nolint:containedctx // the context of Serve
	handle func(ctx context.Context, data []byte) []byte // the handler of Serve
	work   sync.WaitGroup                                // calls of handle
}

// Request implements [Messenger].
func (m *Memory) Request(ctx context.Context, owner string, data []byte) ([]byte, error) {
	replied, none := make(chan []byte, 1), fmt.Errorf("%w: %q", ErrNoReply, owner)
	data = bytes.Clone(data)
	err := m.locked(ctx, func() error {
		s := m.servers[owner]
		if s == nil {
			return none
		}
		s.work.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(s.ctx, cancel)()
			if reply := s.handle(ctx, data); s.ctx.Err() == nil {
				replied <- bytes.Clone(reply)
			}
			close(replied)
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case reply, ok := <-replied:
		if !ok {
			return nil, none
		}
		return reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Serve implements [Messenger].
func (m *Memory) Serve(ctx context.Context, owner string, handle func(ctx context.Context, data []byte) []byte) error {
	s := &memoryServer{ctx: ctx, handle: handle}
	err := m.locked(ctx, func() error {
		m.servers[owner] = s
		return nil
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	m.mu.Lock()
	delete(m.servers, owner)
	m.mu.Unlock()
	s.work.Wait()
	return ctx.Err()
}

// notify tells the loops over Changes, under the lock, that a run has changed.
func (m *Memory) notify(run string) {
	for wake, changed := range m.watchers {
		changed[run] = true
		select {
		case wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// Changes implements [Notifier]. A Memory has one process, so it yields the changes
// that this process makes, from the beginning of the loop on.
func (m *Memory) Changes(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		wake := make(chan struct{}, 1)
		defer func() {
			m.mu.Lock()
			delete(m.watchers, wake)
			m.mu.Unlock()
		}()
		for {
			changed := yieldAll(ctx, m, strings.Clone, func() ([]string, error) {
				runs := slices.Collect(maps.Keys(m.watchers[wake]))
				m.watchers[wake] = make(map[string]bool)
				return runs, nil
			})
			for run, err := range changed {
				if !yield(run, err) || err != nil {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-wake:
			}
		}
	}
}
