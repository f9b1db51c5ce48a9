package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
)

// inquires and fails are what 100,000 runs do.
func inquires(r *runlog.Record, i int) {
	r.Kind, r.Name = runlog.Asked, "approve"
	r.Data = fmt.Appendf(nil, `{"key":"approve","text":"Shall we pay %d to supplier number %d of the north?","options":["yes","no"]}`, i*7, i)
}

func fails(r *runlog.Record, _ int) {
	r.Kind, r.Data = runlog.Ended, []byte(`{"status":"failed","error":{"message":"orchestrator: no money left for the call to writer"}}`)
}

const manyOf = 100_000

// manyRuns returns a store with 100,000 runs of two records.
func manyRuns(b *testing.B, second func(r *runlog.Record, i int)) *postgres.Store {
	b.Helper()
	p := pool(b, pgtest.Open(b, "fsync=off").DSN()+" pool_max_conns=4")
	s := open(b, postgres.Config{Pool: p})
	for from := 0; from < manyOf; from += 1000 {
		var recs []runlog.Record
		for i := from; i < from+1000; i++ {
			first := runlog.Record{Run: fmt.Sprintf("order-%06d", i), Kind: runlog.Started, Name: fmt.Sprint("flow-", i%10), At: time.Unix(1_700_000_000, int64(i)).UTC()}
			first.Data = fmt.Appendf(nil, `{"owner":"engine","labels":{"team":"team-%d","customer":"c%d"}}`, i%1000, i)
			last := runlog.Record{Run: first.Run, Seq: 1, At: first.At}
			second(&last, i)
			recs = append(recs, first, last)
		}
		require.NoError(b, s.Append(b.Context(), recs))
	}
	_, err := p.Exec(b.Context(), "ANALYZE") // as autovacuum does
	require.NoError(b, err)
	return s
}

// BenchmarkQuestions reads a page of 50 questions among 100,000.
func BenchmarkQuestions(b *testing.B) {
	s := manyRuns(b, inquires)
	middle := runlog.AskPlace{At: time.Unix(1_700_000_000, manyOf/2).UTC()}
	for _, tt := range []struct {
		name string
		want int
		q    runlog.AskQuery
	}{
		{"First", 50, runlog.AskQuery{Limit: 50}},
		{"Middle", 50, runlog.AskQuery{Limit: 50, After: middle}},
		{"Flow", 50, runlog.AskQuery{Limit: 50, Flow: "flow-3"}},
		{"Label", 50, runlog.AskQuery{Limit: 50, Label: "team=team-7"}},
		{"OneLabel", 1, runlog.AskQuery{Limit: 50, Label: "customer=c99999"}},
		{"Text", 50, runlog.AskQuery{Limit: 50, Text: "SUPPLIER"}},
		{"OneText", 1, runlog.AskQuery{Limit: 50, Text: "number 99999 OF"}},
		{"NoText", 0, runlog.AskQuery{Limit: 50, Text: "zebra"}},
		{"Run", 1, runlog.AskQuery{Limit: 50, Run: "order-077777"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				got := 0
				for _, err := range s.OpenAsks(b.Context(), tt.q) {
					require.NoError(b, err)
					got++
				}
				require.Equal(b, tt.want, got)
			}
		})
	}
}

// BenchmarkText searches a text in 100,000 runs.
func BenchmarkText(b *testing.B) {
	s := manyRuns(b, fails)
	for _, tt := range []struct {
		name string
		want int
		q    runlog.Query
	}{
		{"Newest", 50, runlog.Query{Limit: 50}},
		{"Page", 50, runlog.Query{Limit: 50, Text: "MONEY"}},
		{"One", 1, runlog.Query{Text: "ORDER-077777"}},
		{"None", 0, runlog.Query{Text: "zebra"}},
		{"OneOfFlow", 1, runlog.Query{Text: "ORDER-077777", Flow: "flow-7"}},
		{"NoneOpen", 0, runlog.Query{Text: "zebra", Open: true}},
		{"NoneFailed", 0, runlog.Query{Text: "zebra", Status: "failed"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				got := 0
				for _, err := range s.List(b.Context(), tt.q) {
					require.NoError(b, err)
					got++
				}
				require.GreaterOrEqual(b, got, tt.want)
			}
		})
	}
}
