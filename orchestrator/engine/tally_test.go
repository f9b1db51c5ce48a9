package engine

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// figuresLog makes records at random, with a Tally now and then that may lag behind, and
// what each prefix of them counts.
func figuresLog(t *testing.T, r *rand.Rand, n int) (log []runlog.Record, counted []Tally) {
	t.Helper()
	every := 1 + r.IntN(400)
	var sum Tally
	counted = append(counted, sum.Clone())
	for seq := range int64(n) {
		rec := runlog.Record{Run: "x", Seq: seq, Name: fmt.Sprint("agent", r.IntN(3))}
		used := providers.Usage{Calls: r.Int64N(3), Cost: providers.NanoUSD(r.IntN(9))}
		var carried *Tally
		if r.IntN(every) == 0 {
			lag := counted[max(0, int(seq)-r.IntN(20))].Clone()
			carried = &lag
		}
		var data any
		switch k := r.IntN(8); {
		case seq == 0:
			rec.Kind, data = runlog.Started, StartedData{Input: Input{ContinuedFrom: "w", Budget: Budget{Cost: 5}}}
			sum.ContinuedFrom = "w"
		case k == 0:
			rec.Kind, data = runlog.Called, &CalledData{Response: &agent.Response{Usage: used}, Tally: carried}
			sum.Add(rec.Name, used)
		case k == 1:
			rec.Kind, data = runlog.Called, &CalledData{Err: &agent.Error{Usage: used}, Tally: carried}
			sum.Add(rec.Name, used)
		case k == 2:
			rec.Kind, data = runlog.Used, UsedData{Usage: used}
			sum.Add(rec.Name, used)
		case k == 3:
			lost := Lost{Calls: 1, Cost: used.Cost, Tokens: 2}
			rec.Kind, data = runlog.Lost, LostData{Lost: lost}
			sum.Lost = Lost{sum.Lost.Calls + 1, sum.Lost.Cost + lost.Cost, sum.Lost.Tokens + 2}
		case k == 4:
			rec.Kind, data = runlog.Slept, SleptData{Tally: carried}
		case k == 5:
			rec.Kind, data = runlog.Resumed, ResumedData{Owner: "e", Tally: carried}
		case k == 6:
			rec.Kind, data = runlog.Stuck, StuckData{Err: &agent.Error{Message: "m", Usage: used}, Tally: carried}
		default:
			rec.Kind, data = "emitted", map[string]any{"usage": used, "lost": Lost{Calls: 9}, "tally": carried, "calls": 5}
		}
		var err error
		rec.Data, err = Encode(data)
		require.NoError(t, err)
		sum.Records = seq + 1
		log, counted = append(log, rec), append(counted, sum.Clone())
	}
	return log, counted
}

// reader yields records from a Seq on, and counts them.
func reader(log []runlog.Record, reads *int) func(from int64) iter.Seq2[runlog.Record, error] {
	return func(from int64) iter.Seq2[runlog.Record, error] {
		return func(yield func(runlog.Record, error) bool) {
			for _, rec := range log[from:] {
				*reads++
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// ReadTally says what a count of the whole log says, from wherever it starts, and Note and
// Count say it record by record.
func TestReadTally(t *testing.T) {
	for seed := range uint64(roundtest.Of(20, 200)) {
		r := rand.New(rand.NewPCG(seed, 3))
		log, counted := figuresLog(t, r, 1+r.IntN(1500))
		n, reads := int64(len(log)), 0
		for _, base := range []int64{0, n, r.Int64N(n + 1)} {
			for _, next := range []int64{n, r.Int64N(n + 1)} { // the log may grow meanwhile
				got, err := ReadTally(counted[base].Clone(), next, reader(log, &reads))
				require.NoError(t, err)
				require.Equal(t, counted[n], got, "seed %d: %d records, from %d, at %d", seed, n, base, next)
			}
		}
		var noted Tally
		for i := range log {
			require.NoError(t, noted.Note(&log[i]))
			require.Equal(t, counted[i+1], noted.Clone())
		}
		v := View{}
		require.NoError(t, v.ReadLog(reader(log, &reads)(0)))
		require.Equal(t, View{Spent: noted.Spent(), Lost: noted.Lost, ByAgent: noted.ByAgent, ContinuedFrom: "w"}, v)
	}
}

// With a Tally among the last 128 records no more are read, and without one 8 times as many.
func TestWhatReadTallyReads(t *testing.T) {
	log := make([]runlog.Record, 10_000)
	for i := range log {
		log[i] = runlog.Record{Seq: int64(i), Kind: "emitted"}
	}
	carry := func(seq int, t Tally) {
		data, _ := Encode(SleptData{Tally: &t})
		log[seq] = runlog.Record{Seq: int64(seq), Kind: runlog.Slept, Data: data}
	}
	a := map[string]providers.Usage{"a": {Calls: 3}}
	for _, tt := range []struct {
		name               string
		at, records, reads int
		want               providers.Usage
	}{
		{"none", 0, 0, 128 + 1024 + 8192 + 10_000, providers.Usage{}},
		{"the last record", 9999, 9999, 128, a["a"]},
		{"the first of 128", 9872, 9872, 128, a["a"]},
		{"the one before these", 9871, 9871, 128 + 1024, a["a"]},
		{"one that counts too little", 9999, 9871, 128 + 1024, a["a"]},
		{"one that counts itself", 9999, 10_000, 128 + 1024 + 8192 + 10_000, providers.Usage{}},
	} {
		if tt.at > 0 {
			carry(tt.at, Tally{Records: int64(tt.records), ByAgent: a})
		}
		reads := 0
		got, err := ReadTally(Tally{}, 10_000, reader(log, &reads))
		require.NoError(t, err)
		assert.Equal(t, tt.reads, reads, tt.name)
		assert.Equal(t, tt.want, got.Spent(), tt.name)
		assert.Equal(t, int64(10_000), got.Records, tt.name)
		log[tt.at] = runlog.Record{Seq: int64(tt.at), Kind: "emitted"}
	}
}

func TestTallyOfWhatCannotBeRead(t *testing.T) {
	broken := errors.New("broken")
	for _, kind := range []string{runlog.Started, runlog.Called, runlog.Used, runlog.Lost, runlog.Slept, runlog.Resumed, runlog.Stuck} {
		reads := 0
		log := []runlog.Record{{Run: "x", Seq: 7, Kind: kind, Data: raw(`[]`)}}
		for range 7 {
			log = append([]runlog.Record{{}}, log...)
		}
		for i := range 7 {
			log[i] = runlog.Record{Run: "x", Seq: int64(i), Kind: "emitted", Data: raw(`[]`)}
		}
		_, err := ReadTally(Tally{}, 8, reader(log, &reads))
		require.ErrorIs(t, err, runlog.ErrDamaged)
		require.ErrorContains(t, err, `log of run "x": record 7`)
		require.ErrorIs(t, new(View).ReadLog(reader(log, &reads)(0)), runlog.ErrDamaged)
	}
	fails := func(int64) iter.Seq2[runlog.Record, error] {
		return func(yield func(runlog.Record, error) bool) { yield(runlog.Record{}, broken) }
	}
	_, err := ReadTally(Tally{}, 8, fails)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, new(View).ReadLog(fails(0)), broken)
	damaged := reader([]runlog.Record{{Kind: runlog.Ended, Data: raw(`[]`)}}, new(int))
	require.ErrorIs(t, new(View).ReadLog(damaged(0)), runlog.ErrDamaged)
}
