package journal_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
	"github.com/convene-go/convene/providers"
)

// large is from how many bytes Data is kept beside the log.
const large = 64 << 10

// raw are the records of a run as the store has them.
func raw(t *testing.T, store runlog.Store, id string) (recs []runlog.Record) {
	t.Helper()
	for rec, err := range store.Records(t.Context(), id, 0) {
		require.NoError(t, err)
		recs = append(recs, rec)
	}
	return recs
}

func TestLargeValuesAreKeptBesideTheLog(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"from 64 KiB on": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			require.NoError(t, r.sync(runlog.Called, quote(large-1)))
			require.NoError(t, r.sync(runlog.Called, quote(large)))
			in := raw(t, store, "r")
			assert.Equal(t, quote(large-1), in[1].Data)
			assert.Empty(t, in[1].Blob)
			assert.Empty(t, in[2].Data)
			assert.Equal(t, runlog.BlobHash(quote(large)), in[2].Blob)
			for i, rec := range d.records(t, "r")[1:] {
				assert.Equal(t, quote(large-1+i), rec.Data, "who reads finds it in Data")
				assert.Empty(t, rec.Blob)
			}
		},
		"also Data that is set": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			e := r.entry("note", nil)
			e.Data = quote(large)
			require.NoError(t, d.WriteSync(t.Context(), r.log, e))
			assert.NotEmpty(t, raw(t, store, "r")[1].Blob)
			assert.Equal(t, quote(large), d.records(t, "r")[1].Data)
		},
		"but for what lists of runs need": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.run("r")
			start := engine.StartedData{
				Version: 3, Owner: "me",
				Input: engine.Input{Data: quote(large), Labels: map[string]string{"for": "ann"}, Parent: "parent"},
			}
			end := engine.EndedData{End: engine.End{
				Status: engine.Failed, Output: quote(large), State: quote(large), Err: &agent.Error{Message: "no luck"},
				Spent: providers.Usage{Calls: 4},
			}}
			require.NoError(t, r.sync(runlog.Started, start))
			require.NoError(t, r.sync(runlog.Ended, end))
			in := raw(t, store, "r")
			assert.JSONEq(t, `{"version":3,"owner":"me","labels":{"for":"ann"},"parent":"parent"}`, string(in[0].Data))
			assert.Less(t, len(in[1].Data), 1000)
			l, err := d.Listing(t.Context(), "r")
			require.NoError(t, err)
			l.Started, l.Changed = runlog.Listing{}.Started, runlog.Listing{}.Changed
			assert.Equal(t, runlog.Listing{
				Run: "r", Flow: "flow", Version: 3, Parent: "parent", Labels: map[string]string{"for": "ann"}, Owner: "me",
				Status: string(engine.Failed), Err: "no luck", Ended: true, Next: 2,
			}, l)
			var gotStart engine.StartedData
			require.NoError(t, d.Read(t.Context(), "r", 0, &gotStart))
			assert.Equal(t, start, gotStart, "all is there")
			var gotEnd engine.EndedData
			require.NoError(t, d.Read(t.Context(), "r", 1, &gotEnd))
			assert.Equal(t, end, gotEnd)
			assert.Equal(t, quote(large), end.Output, "the value itself stays as it is")
		},
		"but for what a call has used": func(t *testing.T) {
			d := newDesk(t, newTap())
			r := d.started(t, "r")
			used := providers.Usage{Calls: 2, Input: 30}
			require.NoError(t, r.sync(runlog.Called, &engine.CalledData{Response: &agent.Response{Text: string(quote(large)), Usage: used}}))
			l, err := d.Listing(t.Context(), "r")
			require.NoError(t, err)
			v := engine.View{Listing: l}
			require.NoError(t, d.Figures(t.Context(), engine.Tally{}, &v))
			assert.Equal(t, used, v.Spent)
		},
		"but not questions, which lists show": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			require.NoError(t, r.sync(runlog.Asked, quote(large)))
			assert.Equal(t, quote(large), raw(t, store, "r")[1].Data)
		},
		"if the store can": func(t *testing.T) {
			store := runlog.NewMemory()
			d := newDesk(t, struct{ runlog.Store }{store})
			r := d.started(t, "r")
			require.NoError(t, r.sync(runlog.Called, quote(large)))
			assert.Equal(t, quote(large), raw(t, store, "r")[1].Data)
		},
		"and not in memory": func(t *testing.T) {
			d := newDesk(t, nil)
			r := d.started(t, "r")
			require.NoError(t, r.sync(runlog.Called, &engine.CalledData{Response: &agent.Response{Data: quote(large)}}))
			rec, err := d.Last(t.Context(), "r")
			require.NoError(t, err)
			assert.Empty(t, rec.Blob)
			assert.Greater(t, len(rec.Data), large)
		},
	})
}

func TestBlobsThatCannotBeKept(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"are tried again": func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			d := newDesk(t, double.Store())
			r := d.started(t, "r")
			double.Only("PutBlob")
			double.Fail(3)
			require.NoError(t, r.sync(runlog.Called, quote(large)))
			assert.Equal(t, 4, double.Calls("PutBlob"))
			assert.Equal(t, quote(large), d.records(t, "r")[1].Data)
		},
		"are an error of their record, which has no place": func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			d := newDesk(t, double.Store())
			r := d.started(t, "r")
			double.Only("PutBlob")
			double.Fail(1 << 30)
			err := r.sync(runlog.Called, quote(large))
			require.ErrorIs(t, err, journal.ErrOutage)
			require.ErrorContains(t, err, `large value of run "r"`)
			assert.Equal(t, "started called!", r.outcome())
			require.NoError(t, r.sync("note", nil))
			assert.Equal(t, "started note", d.kinds(t, "r"))
		},
		"have a name": func(t *testing.T) {
			d := newDesk(t, newTap())
			hash, err := d.Keep("r", []byte("value"))
			require.NoError(t, err)
			assert.Equal(t, runlog.BlobHash([]byte("value")), hash)
			data, err := d.Blob(t.Context(), "r", hash)
			require.NoError(t, err)
			assert.Equal(t, "value", string(data))
		},
	})
}

func TestBlobsThatAreNotThere(t *testing.T) {
	store := runlog.NewMemory()
	require.NoError(t, store.Append(t.Context(), []runlog.Record{
		{Run: "r", Kind: runlog.Started, Data: json.RawMessage(`{"version":1}`)},
		{Run: "r", Seq: 1, Kind: runlog.Called, Blob: runlog.BlobHash([]byte("gone"))},
		{Run: "r", Seq: 2, Kind: "note"},
	}))
	for name, tt := range map[string]struct {
		store runlog.Store
		err   error
	}{
		"in a store that keeps blobs":    {store, runlog.ErrNoBlob},
		"in a store that does not do so": {struct{ runlog.Store }{store}, runlog.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tt.store)
			var kinds []string
			var err error
			for rec, recErr := range d.Records(t.Context(), "r", 0) {
				require.NoError(t, err, "nothing comes behind an error")
				kinds, err = append(kinds, rec.Kind), recErr
			}
			assert.Equal(t, []string{"started", "called"}, kinds)
			require.ErrorIs(t, err, tt.err)
			require.ErrorContains(t, err, `log of run "r"`)
			require.ErrorIs(t, d.Read(t.Context(), "r", 1, new(engine.CalledData)), tt.err)
			for _, err := range d.Records(context.Background(), "r", 0) {
				require.NoError(t, err)
				break // who has enough gets no more
			}
		})
	}
}

func TestAnswersThatAreTooLarge(t *testing.T) {
	huge := strings.Repeat("x", engine.MaxData)
	usage := providers.Usage{Calls: 3, Cost: 5, Input: 7}
	t.Run("are failures of their calls", func(t *testing.T) {
		d := newDesk(t, newTap())
		r := d.started(t, "r")
		data := &engine.CalledData{Response: &agent.Response{Text: huge, Usage: usage}, Request: []string{"hash"}}
		require.NoError(t, r.sync(runlog.Called, data))
		for _, d := range []*engine.CalledData{data, read(t, d, "r", 1)} {
			require.ErrorIs(t, d.Err, engine.ErrTooLarge)
			assert.Equal(t, usage, d.Err.Usage)
			assert.Nil(t, d.Response)
			assert.Equal(t, []string{"hash"}, d.Request)
		}
		assert.Equal(t, "started called", d.kinds(t, "r"))
	})
	t.Run("also without a store", func(t *testing.T) {
		d := newDesk(t, nil)
		r := d.started(t, "r")
		data := &engine.CalledData{Response: &agent.Response{Data: json.RawMessage(`"` + huge + `"`), Usage: usage}}
		require.NoError(t, r.sync(runlog.Called, data))
		got := read(t, d, "r", 1)
		require.ErrorIs(t, got.Err, engine.ErrTooLarge)
		assert.Equal(t, usage, got.Err.Usage)
	})
	t.Run("and other values are errors, which take no place", func(t *testing.T) {
		d := newDesk(t, newTap())
		r := d.started(t, "r")
		err := r.sync("note", huge)
		require.ErrorIs(t, err, engine.ErrTooLarge)
		require.ErrorContains(t, err, `record "note" of run "r"`)
		failed := &engine.CalledData{Err: &agent.Error{Message: huge}}
		require.NoError(t, r.sync(runlog.Called, failed))
		require.ErrorIs(t, failed.Err, engine.ErrTooLarge, "a failure is one, too")
		require.Error(t, r.sync("note", func() {}), "what has no JSON neither")
		assert.Equal(t, "started note! called note!", r.outcome())
		require.NoError(t, r.sync("more", nil))
		assert.Equal(t, "started called more", d.kinds(t, "r"))
	})
}

// read is what a Called record says.
func read(t *testing.T, d *desk, run string, seq int64) *engine.CalledData {
	t.Helper()
	var data engine.CalledData
	require.NoError(t, d.Read(t.Context(), run, seq, &data))
	return &data
}
