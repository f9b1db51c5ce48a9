package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/postgres/pgtest"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// small returns a record as the answer of an agent leaves it.
func small(run string, seq int64) runlog.Record {
	return runlog.Record{
		Run: run, Seq: seq, Kind: runlog.Called, Branch: "0.3", N: 2, Name: "writer",
		Hash: "0123456789abcdef0123456789abcdef", At: time.Unix(1_700_000_000, seq).UTC(),
		Data: fmt.Appendf(nil, `{"text":"%s"}`, bytes.Repeat([]byte("hello "), 20)),
	}
}

// durable is a store on a server that waits for the disk, as servers do.
func durable(b *testing.B) (postgres.Config, *postgres.Store) {
	b.Helper()
	cfg := postgres.Config{Pool: pool(b, pgtest.Open(b).DSN()+" pool_max_conns=8")}
	return cfg, open(b, cfg)
}

// BenchmarkStep is a bare INSERT of one row with its commit beside Append of one
// record, in turn, so that both see the same disk.
func BenchmarkStep(b *testing.B) {
	cfg, s := durable(b)
	ctx := b.Context()
	_, err := cfg.Pool.Exec(ctx, `CREATE TABLE bare(run bigint, seq bigint, kind text, branch text, n bigint, name text, hash text, at bigint, data bytea, PRIMARY KEY(run, seq))`)
	require.NoError(b, err)
	var bare, step time.Duration
	var seq int64
	for b.Loop() {
		r := small("run-1", seq)
		began := time.Now()
		_, err := cfg.Pool.Exec(ctx, "INSERT INTO bare VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)", 1, r.Seq, r.Kind, r.Branch, r.N, r.Name, r.Hash, r.At.UnixNano(), []byte(r.Data))
		if err != nil {
			b.Fatal(err)
		}
		bare += time.Since(began)
		began = time.Now()
		if err := s.Append(ctx, []runlog.Record{r}); err != nil {
			b.Fatal(err)
		}
		step += time.Since(began)
		seq++
	}
	b.ReportMetric(float64(bare.Microseconds())/float64(b.N), "us/bare")
	b.ReportMetric(float64(step.Microseconds())/float64(b.N), "us/step")
	b.ReportMetric(float64(step)/float64(bare), "x")
}

// BenchmarkAppend has each appender write a run of its own, one record at a time.
func BenchmarkAppend(b *testing.B) {
	for _, appenders := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint(appenders), func(b *testing.B) {
			_, s := durable(b)
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
						if err := s.Append(context.Background(), []runlog.Record{small(run, seq)}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkAppendBatch writes 256 records of one run at a time.
func BenchmarkAppendBatch(b *testing.B) {
	const batch = 256
	_, s := durable(b)
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
	_, s := durable(b)
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

// BenchmarkBranches has a flow with that many branches, each of which calls an agent
// that answers at once, again and again: a call is a record.
func BenchmarkBranches(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, s := durable(b)
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: s, Agents: agent.Roster{"a": agent.Func(
				func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: "x"}, nil },
			)}})
			require.NoError(b, err)
			f := orchestrator.Flow[int, int]{Name: "f", Do: func(c *orchestrator.Context, calls int) (int, error) {
				_, err := orchestrator.Values(orchestrator.Map(c, make([]int, n), 0, func(c *orchestrator.Context, _ int) (int, error) {
					for range calls/n + 1 {
						if _, err := c.Call("a", agent.Request{Prompt: "p"}); err != nil {
							return 0, err
						}
					}
					return 0, nil
				}))
				return 0, err
			}}
			b.ResetTimer()
			_, err = f.Run(b.Context(), e, b.N)
			b.StopTimer()
			require.NoError(b, err)
			require.NoError(b, e.Close(b.Context()))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// BenchmarkResume resumes nothing beside 10,000 runs of a living engine.
func BenchmarkResume(b *testing.B) {
	_, s := durable(b)
	require.NoError(b, s.Beat(b.Context(), "alive", time.Hour))
	for from := range 10 {
		var recs []runlog.Record
		for i := range 1000 {
			first := small(fmt.Sprintf("run-%d-%d", from, i), 0)
			first.Kind, first.Name, first.Data = runlog.Started, "flow", []byte(`{"owner":"alive"}`)
			recs = append(recs, first)
		}
		require.NoError(b, s.Append(b.Context(), recs))
	}
	e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
	require.NoError(b, err)
	b.ResetTimer()
	for b.Loop() {
		res, err := e.Resume(b.Context())
		require.NoError(b, err)
		require.Len(b, res.Held, 10_000)
	}
	b.StopTimer()
	require.NoError(b, e.Close(b.Context()))
}

// BenchmarkPrune deletes 100 runs of 100 records at a time.
func BenchmarkPrune(b *testing.B) {
	_, s := durable(b)
	const runs, records = 100, 100
	for b.Loop() {
		b.StopTimer()
		ids := make([]string, runs)
		for i := range ids {
			ids[i] = fmt.Sprint("run-", i)
			recs := make([]runlog.Record, records)
			for seq := range recs {
				recs[seq] = small(ids[i], int64(seq))
			}
			require.NoError(b, s.Append(b.Context(), recs))
		}
		b.StartTimer()
		require.NoError(b, s.Delete(b.Context(), ids...))
	}
	b.ReportMetric(float64(b.N*runs*records)/b.Elapsed().Seconds(), "records/s")
}
