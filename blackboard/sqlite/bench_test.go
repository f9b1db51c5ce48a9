package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

var syncs = map[string]sqlite.Sync{"Full": sqlite.Full, "Normal": sqlite.Normal}

// small returns a record as the answer of an agent leaves it.
func small(run string, seq int64) runlog.Record {
	return runlog.Record{
		Run: run, Seq: seq, Kind: runlog.Called, Branch: "0.3", N: 2, Name: "writer",
		Hash: "0123456789abcdef0123456789abcdef", At: time.Unix(1_700_000_000, seq).UTC(),
		Data: fmt.Appendf(nil, `{"text":"%s"}`, bytes.Repeat([]byte("hello "), 20)),
	}
}

// BenchmarkBareInsert is what Append is measured by: a prepared INSERT of the same
// row by database/sql, into a table of its own, without a fence.
func BenchmarkBareInsert(b *testing.B) {
	for name := range syncs {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bare.db")
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+name+")")
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, db.Close()) })
			_, err = db.ExecContext(b.Context(), `CREATE TABLE log(id INTEGER PRIMARY KEY, kind TEXT NOT NULL,
				branch TEXT, n INTEGER, name TEXT, hash TEXT, at INTEGER NOT NULL, data TEXT, blob TEXT)`)
			require.NoError(b, err)
			insert, err := db.PrepareContext(b.Context(), "INSERT INTO log VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)")
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, insert.Close()) })
			var seq int64
			for b.Loop() {
				r := small("run-1", seq)
				_, err := insert.Exec(1<<32|r.Seq, r.Kind, r.Branch, r.N, r.Name, r.Hash, r.At.UnixNano(), string(r.Data), nil)
				if err != nil {
					b.Fatal(err)
				}
				seq++
			}
		})
	}
}

// BenchmarkAppend has each appender write a run of its own, one record at a time.
func BenchmarkAppend(b *testing.B) {
	for name, mode := range syncs {
		for _, appenders := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/%d", name, appenders), func(b *testing.B) {
				s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "runs.db"), Sync: mode})
				b.ResetTimer()
				var all sync.WaitGroup
				for i := range appenders {
					n := b.N / appenders
					if i < b.N%appenders {
						n++
					}
					all.Go(func() {
						run := fmt.Sprint("run-", i)
						for seq := range int64(n) {
							if err := s.Append(b.Context(), []runlog.Record{small(run, seq)}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// BenchmarkAppendBatch writes 256 records of one run at a time.
func BenchmarkAppendBatch(b *testing.B) {
	const batch = 256
	s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "runs.db")})
	recs := make([]runlog.Record, batch)
	var seq int64
	for b.Loop() {
		for i := range recs {
			recs[i] = small("run-1", seq)
			seq++
		}
		require.NoError(b, s.Append(b.Context(), recs))
	}
	b.ReportMetric(float64(seq)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkRecords(b *testing.B) {
	const n = 20_000
	s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "runs.db"), Sync: sqlite.Normal})
	for from := int64(0); from < n; from += 1000 {
		var recs []runlog.Record
		for seq := from; seq < from+1000; seq++ {
			recs = append(recs, small("run-1", seq))
		}
		require.NoError(b, s.Append(b.Context(), recs))
	}
	b.ReportAllocs()
	read := 0
	for b.Loop() {
		for _, err := range s.Records(b.Context(), "run-1", 0) {
			if err != nil {
				b.Fatal(err)
			}
			read++
		}
	}
	require.Equal(b, b.N*n, read)
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "records/s")
}

// lists fills s with 20,000 runs of which 5,000 are open, and owned by a living
// engine but for ten.
func lists(b testing.TB, s *sqlite.Store) {
	b.Helper()
	require.NoError(b, s.Beat(b.Context(), "alive", time.Hour))
	for from := range 20 {
		var recs []runlog.Record
		for i := range 1000 {
			owner := "alive"
			if from == 0 && i < 10 {
				owner = "dead"
			}
			first := small(fmt.Sprintf("run-%d-%d", from, i), int64(0))
			first.Kind, first.Name = runlog.Started, fmt.Sprint("flow-", i%10)
			first.At = first.At.Add(time.Duration(from*1000 + i))
			first.Data = fmt.Appendf(nil, `{"owner":%q,"labels":{"n":"%d"}}`, owner, i)
			recs = append(recs, first)
			if from >= 5 {
				end := small(first.Run, 1)
				end.Kind, end.Data = runlog.Ended, []byte(`{"status":"completed"}`)
				recs = append(recs, end)
			}
		}
		require.NoError(b, s.Append(b.Context(), recs))
	}
}

// BenchmarkLists lists runs among 20,000 in several ways.
func BenchmarkLists(b *testing.B) {
	s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "runs.db"), Sync: sqlite.Normal})
	lists(b, s)
	for _, tt := range []struct {
		name string
		want int
		list iter.Seq2[runlog.Listing, error]
	}{
		{"Orphans", 10, s.Orphans(b.Context())},
		{"Newest", 20, s.List(b.Context(), runlog.Query{Limit: 20})},
		{"OpenOfFlow", 20, s.List(b.Context(), runlog.Query{Open: true, Flow: "flow-3", Limit: 20})},
		{"Label", 20, s.List(b.Context(), runlog.Query{Label: "n=500"})},
		{"Text", 20, s.List(b.Context(), runlog.Query{Text: "flow-3", Limit: 20})},
		{"One", 1, s.List(b.Context(), runlog.Query{Run: "run-3-500"})},
		{"AllOpen", 5000, s.List(b.Context(), runlog.Query{Open: true})},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range tt.list {
					require.NoError(b, err)
					n++
				}
				require.Equal(b, tt.want, n)
			}
		})
	}
}

// BenchmarkAnswer puts a letter into a run of 50,000 records, after looking at its
// question.
func BenchmarkAnswer(b *testing.B) {
	s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "runs.db"), Sync: sqlite.Normal})
	recs := []runlog.Record{{Run: "r", Kind: runlog.Started}}
	for seq := int64(1); seq < 50_000; seq++ {
		r := small("r", seq)
		if seq%100 == 0 {
			r.Kind, r.Name = runlog.Asked, fmt.Sprint("q", seq%1000)
		}
		recs = append(recs, r)
	}
	require.NoError(b, s.Append(b.Context(), recs))
	n := 0
	for b.Loop() {
		asks := 0
		for _, err := range s.Asks(b.Context(), "r", "q500") {
			require.NoError(b, err)
			asks++
		}
		require.Equal(b, 50, asks)
		require.NoError(b, s.Put(b.Context(), runlog.Letter{Run: "r", Key: fmt.Sprint("early ", n), Data: []byte(`"yes"`)}))
		n++
	}
}
