package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

var retained = flag.Int("retained", 20_000, "records of TestRetention; by hand: 10000000 with -timeout 1h")

// past is when the runs of TestRetention ended.
var past = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// endedRun is the log of a run that ended, with 100 records and a child of ten.
func endedRun(i int) []runlog.Record {
	id := fmt.Sprint("old-", i)
	at := past.Add(time.Duration(i) * time.Millisecond)
	log := func(id, parent string, n int64) (recs []runlog.Record) {
		for seq := range n {
			r := small(id, seq)
			r.At = at.Add(time.Duration(seq))
			switch seq {
			case 0:
				r.Kind, r.Name, r.Data = runlog.Started, "old", fmt.Appendf(nil, `{"owner":"gone","parent":%q,"labels":{"tenant":"t%d"}}`, parent, i%100)
			case n - 1:
				r.Kind, r.Data = runlog.Ended, []byte(`{"status":"completed"}`)
			}
			recs = append(recs, r)
		}
		return recs
	}
	return append(log(id, "", 90), log(id+"/1", id, 10)...)
}

// blob is 20 kB that do not compress, of one run.
func blob(i int) []byte {
	data := make([]byte, 20_000)
	_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}).Read(data)
	return data
}

// TestRetention fills tables with runs that ended, and their blobs, and prunes half of them in batches
// while another engine records. It prints how long things take.
func TestRetention(t *testing.T) {
	s := pgtest.Open(t, "fsync=off", "max_wal_size=8GB")
	cfg := postgres.Config{Pool: pool(t, s.DSN()), Timeout: time.Minute}
	store := open(t, cfg)
	runs := *retained / 100
	took := func(what string, f func() int) {
		began := time.Now()
		n := f()
		d := time.Since(began)
		t.Logf("%s: %d in %v, %.0f/s", what, n, d.Round(time.Millisecond), float64(n)/d.Seconds())
	}
	// together has four writers do something with 20 runs at a time.
	together := func(write func(ctx context.Context, from, to int) error) {
		var all sync.WaitGroup
		var next atomic.Int64
		for range 4 {
			all.Go(func() {
				for from := int(next.Add(20)) - 20; from < runs; from = int(next.Add(20)) - 20 {
					if !assert.NoError(t, write(context.WithoutCancel(t.Context()), from, min(from+20, runs))) {
						return
					}
				}
			})
		}
		all.Wait()
	}
	took("records appended", func() int {
		together(func(ctx context.Context, from, to int) error {
			var recs []runlog.Record
			for i := from; i < to; i++ {
				recs = append(recs, endedRun(i)...)
			}
			return store.Append(ctx, recs)
		})
		return runs * 100
	})
	took("blobs of 20 kB kept", func() int {
		together(func(ctx context.Context, from, to int) error {
			for i := from; i < to; i++ {
				if _, err := store.PutBlob(ctx, fmt.Sprint("old-", i), blob(i)); err != nil {
					return err
				}
			}
			return nil
		})
		return runs
	})
	_, err := cfg.Pool.Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	list := func(q runlog.Query) func() int {
		return func() (n int) {
			for _, err := range store.List(t.Context(), q) {
				require.NoError(t, err)
				n++
			}
			return n
		}
	}
	took("newest 20 listed", list(runlog.Query{Limit: 20}))
	took("open ones listed", list(runlog.Query{Open: true}))
	took("20 of a label listed", list(runlog.Query{Label: "tenant=t7", Limit: 20}))
	took("records of a run read", func() (n int) {
		for _, err := range store.Records(t.Context(), "old-7", 0) {
			require.NoError(t, err)
			n++
		}
		return n
	})

	e := engine(t, orchestrator.Config{Store: store})
	working, stop := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	var slowest time.Duration
	appended := 0
	worker.Go(func() {
		for ; working.Err() == nil; appended++ {
			began := time.Now()
			if !assert.NoError(t, store.Append(context.WithoutCancel(working), []runlog.Record{small("new", int64(appended))})) {
				return
			}
			slowest = max(slowest, time.Since(began))
		}
	})
	half := past.Add(time.Duration(runs/2) * time.Millisecond)
	took("runs pruned", func() int {
		n, err := e.Prune(t.Context(), orchestrator.PruneOptions{EndedBefore: half})
		require.NoError(t, err)
		assert.Equal(t, runs/2*2, n, "with their children")
		return n
	})
	stop()
	worker.Wait()
	t.Logf("meanwhile another run appended %d records, the slowest in %v", appended, slowest.Round(time.Millisecond))
	for i := range runs {
		_, err := store.Blob(t.Context(), fmt.Sprint("old-", i), runlog.BlobHash(blob(i)))
		if i < runs/2 {
			require.ErrorIs(t, err, runlog.ErrNoBlob)
		} else {
			require.NoError(t, err)
		}
	}
	assert.Equal(t, runs-runs/2+1+runs-runs/2, list(runlog.Query{})(), "the other half, its children, and the new run")
}
