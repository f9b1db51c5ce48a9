package runlog_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
)

// A model is a store in the dumbest way: a list of all records in the order in which they
// came, and one of all letters. It keeps no listing, no index and no addresses: it looks
// through everything each time, and follows the words of the interfaces, not Memory.
type model struct {
	recs    []runlog.Record
	letters []runlog.Letter
	taken   []bool // letters that were taken, by their place
}

func (m *model) records(run string) (recs []runlog.Record) {
	for _, r := range m.recs {
		if r.Run == run {
			recs = append(recs, r)
		}
	}
	return recs
}

// append adds records one by one, and takes all of them back at the first that is wrong.
func (m *model) append(recs []runlog.Record) error {
	before := len(m.recs)
	for _, rec := range recs {
		log := m.records(rec.Run)
		ended := len(log) > 0 && log[len(log)-1].Kind == runlog.Ended
		if ended || rec.Seq != int64(len(log)) {
			m.recs = m.recs[:before]
			return runlog.ErrConflict
		}
		m.recs = append(m.recs, rec)
	}
	return nil
}

func (m *model) delete(run string) {
	m.recs = slices.DeleteFunc(m.recs, func(r runlog.Record) bool { return r.Run == run })
	var letters []runlog.Letter
	var taken []bool
	for i, l := range m.letters {
		if l.Run != run {
			letters, taken = append(letters, l), append(taken, m.taken[i])
		}
	}
	m.letters, m.taken = letters, taken
}

// put keeps taken letters, too: they are the used addresses.
func (m *model) put(l runlog.Letter) error {
	if len(m.records(l.Run)) == 0 {
		return runlog.ErrNoRun
	}
	for _, old := range m.letters {
		if old.Run == l.Run && old.Key == l.Key && old.Round == l.Round {
			return runlog.ErrConflict
		}
	}
	m.letters, m.taken = append(m.letters, l), append(m.taken, false)
	return nil
}

func (m *model) take(run, key string, round int) {
	for i, l := range m.letters {
		m.taken[i] = m.taken[i] || l.Run == run && l.Key == key && l.Round == round
	}
}

func (m *model) waiting(run string) (letters []runlog.Letter) {
	for i, l := range m.letters {
		if !m.taken[i] && (run == "" || l.Run == run) {
			letters = append(letters, l)
		}
	}
	slices.SortFunc(letters, func(a, b runlog.Letter) int {
		return cmp.Or(strings.Compare(a.Run, b.Run), strings.Compare(a.Key, b.Key), a.Round-b.Round)
	})
	return letters
}

// data is what the model reads of a record's data.
type data struct {
	Owner, Parent, Status string
	Labels                map[string]string
}

// selects looks for what q wants in the log itself, from its last record back.
func (m *model) selects(q runlog.Query, log []runlog.Record) bool {
	var first, last, owner data
	for _, rec := range log {
		var d data
		if json.Unmarshal(rec.Data, &d) != nil {
			continue
		}
		switch rec.Kind {
		case runlog.Started:
			first, owner = d, d
		case runlog.Resumed:
			owner, last = d, data{}
		case runlog.Stuck:
			last = data{Status: "stuck"}
		case runlog.Ended:
			last = d
		}
	}
	end := log[len(log)-1]
	switch value, labeled := first.Labels["team"]; {
	case q.Open && end.Kind == runlog.Ended,
		q.Flow != "" && q.Flow != log[0].Name,
		q.Owner != "" && q.Owner != owner.Owner,
		q.Parent != "" && q.Parent != first.Parent,
		q.Status != "" && q.Status != last.Status,
		q.Label == "team" && !labeled,
		q.Label == "team=red" && value != "red",
		!q.Before.IsZero() && end.At.Compare(q.Before) >= 0:
		return false
	}
	return true
}

// list returns the IDs of the runs that q selects.
func (m *model) list(q runlog.Query) (runs []string, err error) {
	first := func(run string) time.Time { return m.records(run)[0].At }
	var every []string
	for _, rec := range m.recs {
		if rec.Seq == 0 {
			every = append(every, rec.Run)
		}
	}
	slices.SortFunc(every, func(a, b string) int { return cmp.Or(first(b).Compare(first(a)), strings.Compare(a, b)) })
	after := slices.Index(every, q.After)
	if q.After != "" && after < 0 {
		return nil, runlog.ErrNoRun
	}
	for _, run := range every[after+1:] {
		if m.selects(q, m.records(run)) && (q.Limit <= 0 || len(runs) < q.Limit) {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// drawRecords are records that mostly continue the logs of the model.
func (m *model) drawRecords(t *rapid.T) []runlog.Record {
	added := map[string]int{}
	var recs []runlog.Record
	for range rapid.IntRange(0, 4).Draw(t, "records") {
		run := drawRun(t)
		seq := len(m.records(run)) + added[run]
		added[run]++
		kind := runlog.Started
		if seq > 0 {
			kind = rapid.SampledFrom([]string{runlog.Called, runlog.Asked, runlog.Answered, runlog.Resumed, runlog.Stuck, runlog.Ended}).Draw(t, "kind")
		}
		recs = append(recs, runlog.Record{
			Run: run, Kind: kind, Seq: int64(seq + rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 1, -1}).Draw(t, "wrong")),
			At:   day.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "at")) * time.Minute),
			Name: rapid.SampledFrom([]string{"film", "book"}).Draw(t, "name"),
			Data: json.RawMessage(rapid.SampledFrom([]string{
				`{}`, `{"owner":"ann","labels":{"team":"red"}}`, `{"owner":"bob","parent":"a","status":"failed"}`, `{"labels":{"team":""},"status":"completed"}`,
			}).Draw(t, "data")),
		})
	}
	return recs
}

func drawRun(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "run") }

func drawQuery(t *rapid.T) runlog.Query {
	q := runlog.Query{Open: rapid.Bool().Draw(t, "open"), Limit: rapid.IntRange(-1, 3).Draw(t, "limit")}
	for _, f := range []struct {
		field  *string
		values []string
	}{
		{&q.Flow, []string{"film", "book"}},
		{&q.Owner, []string{"ann", "bob"}},
		{&q.Parent, []string{"a"}},
		{&q.Status, []string{"stuck", "failed", "completed"}},
		{&q.Label, []string{"team", "team=red"}},
		{&q.After, []string{"a", "b", "c"}},
	} {
		*f.field = rapid.SampledFrom(append([]string{"", "", ""}, f.values...)).Draw(t, "value")
	}
	if rapid.Bool().Draw(t, "before") {
		q.Before = day.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "minutes")) * time.Minute)
	}
	return q
}

// sameError compares the kinds of two errors.
func sameError(t *rapid.T, want, got error) {
	if want == nil {
		require.NoError(t, got)
		return
	}
	require.ErrorIs(t, got, want)
}

// TestMemoryModel has Memory and the model do the same, and compares all that they show.
func TestMemoryModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, s, m := context.Background(), runlog.NewMemory(), new(model)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				recs := m.drawRecords(t)
				sameError(t, m.append(recs), s.Append(ctx, recs))
			},
			"put": func(t *rapid.T) {
				l := runlog.Letter{Run: drawRun(t), Key: rapid.SampledFrom([]string{"", "k", "l"}).Draw(t, "key"), Round: rapid.IntRange(0, 1).Draw(t, "round")}
				sameError(t, m.put(l), s.Put(ctx, l))
			},
			"take": func(t *rapid.T) {
				run, key, round := drawRun(t), rapid.SampledFrom([]string{"", "k", "l"}).Draw(t, "key"), rapid.IntRange(0, 1).Draw(t, "round")
				m.take(run, key, round)
				require.NoError(t, s.Take(ctx, run, key, round))
			},
			"delete": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
					return
				}
				run := drawRun(t)
				m.delete(run)
				require.NoError(t, s.Delete(ctx, run))
			},
			"query": func(t *rapid.T) { compareList(t, s, m, drawQuery(t)) },
			"": func(t *rapid.T) {
				for _, run := range []string{"a", "b", "c"} {
					compareRun(t, s, m, run)
				}
				require.Equal(t, m.waiting(""), all(t, s.Letters(ctx, "")))
				compareList(t, s, m, runlog.Query{})
			},
		})
	})
}

func compareRun(t *rapid.T, s *runlog.Memory, m *model, run string) {
	ctx, want := context.Background(), m.records(run)
	for from := range int64(len(want)) + 2 {
		require.Equal(t, want[min(from, int64(len(want))):], append(want[:0:0], all(t, s.Records(ctx, run, from))...), "from %d", from)
	}
	last, err := s.Last(ctx, run)
	if len(want) == 0 {
		require.ErrorIs(t, err, runlog.ErrNoRun)
	} else {
		require.Equal(t, want[len(want)-1], last)
	}
	var asks []runlog.Record
	for _, rec := range want {
		if (rec.Kind == runlog.Asked || rec.Kind == runlog.Answered) && rec.Name == "film" {
			asks = append(asks, rec)
		}
	}
	require.Equal(t, asks, all(t, s.Asks(ctx, run, "film")))
	require.Equal(t, m.waiting(run), all(t, s.Letters(ctx, run)))
}

func compareList(t *rapid.T, s *runlog.Memory, m *model, q runlog.Query) {
	want, wantErr := m.list(q)
	var got []string
	var gotErr error
	for l, err := range s.List(context.Background(), q) {
		if gotErr = err; err == nil {
			got = append(got, l.Run)
		}
	}
	require.Equal(t, want, got, fmt.Sprintf("%+v", q))
	require.Equal(t, wantErr != nil, errors.Is(gotErr, runlog.ErrNoRun), "%v", gotErr)
}
