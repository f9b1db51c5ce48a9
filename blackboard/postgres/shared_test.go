package postgres_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
)

// appendOne appends a small record.
func appendOne(t *testing.T, s *postgres.Store, run string, seq int64) error {
	t.Helper()
	return s.Append(t.Context(), []runlog.Record{small(run, seq)})
}

// TestLettersRace has the answer by one process and the expiry by another at the same
// time, while records are appended: one of the two letters is kept, and both processes
// see it until it is taken.
func TestLettersRace(t *testing.T) {
	_, a, b := two(t)
	require.NoError(t, appendOne(t, a, "r", 0))
	answers := 0
	for i := range int64(100) {
		key := fmt.Sprint("q", i)
		var all sync.WaitGroup
		var errs [2]error
		all.Go(func() { assert.NoError(t, appendOne(t, a, "r", 1+i)) })
		all.Go(func() { errs[0] = a.Put(t.Context(), runlog.Letter{Run: "r", Key: key, Expired: true}) })
		all.Go(func() { errs[1] = b.Put(t.Context(), runlog.Letter{Run: "r", Key: key, Data: []byte(`"yes"`)}) })
		all.Wait()
		expired := errs[0] == nil
		if !expired {
			answers++
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], runlog.ErrConflict)
		for _, s := range []*postgres.Store{a, b} {
			for l, err := range s.Letters(t.Context(), "r") {
				require.NoError(t, err)
				require.Equal(t, expired, l.Expired)
			}
		}
		require.NoError(t, b.Take(t.Context(), "r", key, 0))
		for l, err := range a.Letters(t.Context(), "r") {
			require.NoError(t, err)
			require.Fail(t, "a letter is left", "%+v", l)
		}
	}
	t.Logf("%d of 100 answers came first", answers)
}

// TestLetterAndDelete has one process put a letter for a run that another one deletes: the
// letter is deleted, too, or refused.
func TestLetterAndDelete(t *testing.T) {
	cfg, a, b := two(t)
	for range 50 {
		require.NoError(t, appendOne(t, a, "r", 0))
		var both sync.WaitGroup
		both.Go(func() { assert.NoError(t, a.Delete(t.Context(), "r")) })
		for i := range 4 {
			both.Go(func() {
				if err := b.Put(t.Context(), runlog.Letter{Run: "r", Key: "q", Round: i}); err != nil {
					assert.ErrorIs(t, err, runlog.ErrNoRun)
				}
			})
		}
		both.Wait()
		left := -1
		require.NoError(t, cfg.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+cfg.Schema+".inbox").Scan(&left))
		require.Zero(t, left)
	}
}

// TestDamagedLetter changes each column of a letter.
func TestDamagedLetter(t *testing.T) {
	for _, damage := range []string{"round = 1", "expired = true", "key = 'p'", "data = 'no'", "data = NULL", "sum = sum + 1"} {
		t.Run(damage, func(t *testing.T) {
			cfg, a, _ := two(t)
			require.NoError(t, appendOne(t, a, "r", 0))
			require.NoError(t, a.Put(t.Context(), runlog.Letter{Run: "r", Key: "q", Data: []byte(`"yes"`)}))
			_, err := cfg.Pool.Exec(t.Context(), "UPDATE "+cfg.Schema+".inbox SET "+damage)
			require.NoError(t, err)
			failed := false
			for _, err := range a.Letters(t.Context(), "") {
				require.ErrorIs(t, err, runlog.ErrDamaged)
				assert.ErrorContains(t, err, `of run "r"`)
				failed = true
			}
			assert.True(t, failed)
		})
	}
}

// TestManyRunsTogether has processes that append to the same runs in other orders,
// which must not end in a deadlock.
func TestManyRunsTogether(t *testing.T) {
	_, a, b := two(t)
	const runs = 20
	var recs []runlog.Record
	for i := range runs {
		recs = append(recs, small(fmt.Sprint(i), 0))
	}
	require.NoError(t, a.Append(t.Context(), recs))
	var all sync.WaitGroup
	for w := range 8 {
		store := []*postgres.Store{a, b}[w%2]
		all.Go(func() {
			for seq := range int64(20) {
				var recs []runlog.Record
				for i := range runs {
					if w%2 == 1 {
						i = runs - 1 - i
					}
					recs = append(recs, small(fmt.Sprint(i), seq+1))
				}
				if err := store.Append(t.Context(), recs); err != nil {
					assert.ErrorIs(t, err, runlog.ErrConflict)
				}
			}
		})
	}
	all.Wait()
	for i := range runs {
		last, err := a.Last(t.Context(), fmt.Sprint(i))
		require.NoError(t, err)
		assert.EqualValues(t, 20, last.Seq)
	}
}

func TestNumbersOutOfRange(t *testing.T) {
	_, a, _ := two(t)
	require.NoError(t, appendOne(t, a, "r", 0))
	for _, seq := range []int64{-1, 2, math.MaxInt64, math.MinInt64} {
		odd := small("r", 0)
		odd.Seq = seq
		require.ErrorIs(t, a.Append(t.Context(), []runlog.Record{odd}), runlog.ErrConflict, "%d", seq)
		for _, err := range a.Records(t.Context(), "r", max(seq, 1)) {
			require.Fail(t, "there is but one record", "from %d on: %v", seq, err)
		}
	}
}

// TestOddTexts has texts that Postgres cannot hold.
func TestOddTexts(t *testing.T) {
	_, a, _ := two(t)
	for _, text := range []string{"a\x00b", "\xff\xfe", `\x00`, `\`, "\x00"} {
		first := small(text, 0)
		first.Kind, first.Name, first.Branch, first.Blob, first.Hash = runlog.Started, text, text, text, text
		first.Data = []byte(`{"owner":"a\u0000b","parent":"p\u0000","labels":{"l\u0000":"v\u0000"}}`)
		end := small(text, 1)
		end.Kind, end.Data = runlog.Ended, []byte(`{"status":"failed\u0000","error":{"message":"\u0000"}}`)
		require.NoError(t, a.Append(t.Context(), []runlog.Record{first, end}))
		var got []runlog.Record
		for r, err := range a.Records(t.Context(), text, 0) {
			require.NoError(t, err)
			got = append(got, r)
		}
		assert.Equal(t, []runlog.Record{first, end}, got)
		hash, err := a.PutBlob(t.Context(), text, []byte("\x00"))
		require.NoError(t, err)
		_, err = a.Blob(t.Context(), text, hash)
		require.NoError(t, err)
		for _, q := range []runlog.Query{
			{Run: text},
			{Flow: text},
			{Run: text, Owner: "a\x00b"},
			{Run: text, Parent: "p\x00"},
			{Run: text, Label: "l\x00=v\x00"},
			{Run: text, Status: "failed\x00"},
		} {
			n := 0
			for l, err := range a.List(t.Context(), q) {
				require.NoError(t, err)
				assert.Equal(t, text, l.Run)
				assert.Equal(t, "\x00", l.Err)
				n++
			}
			assert.Equal(t, 1, n, "%+v", q)
		}
		for _, err := range a.List(t.Context(), runlog.Query{Text: text}) {
			require.NoError(t, err)
		}
		require.NoError(t, a.Delete(t.Context(), text))
		_, err = a.Last(t.Context(), text)
		require.ErrorIs(t, err, runlog.ErrNoRun)
	}
}

// TestLongTexts has keys and labels that are longer than an index of Postgres takes,
// and a run's ID, which is refused.
func TestLongTexts(t *testing.T) {
	_, a, _ := two(t)
	var long strings.Builder
	for i := range 2000 {
		_, _ = fmt.Fprint(&long, i*i) // hard to compress
	}
	key := long.String()
	first := small("r", 0)
	first.Kind, first.Data = runlog.Started, fmt.Appendf(nil, `{"labels":{%q:%q}}`, key, key)
	require.NoError(t, a.Append(t.Context(), []runlog.Record{first, {Run: "r", Seq: 1, Kind: runlog.Asked, Name: key}}))
	require.NoError(t, a.Put(t.Context(), runlog.Letter{Run: "r", Key: key}))
	require.ErrorIs(t, a.Put(t.Context(), runlog.Letter{Run: "r", Key: key}), runlog.ErrConflict)
	require.NoError(t, a.Put(t.Context(), runlog.Letter{Run: "r", Key: key + "x"}))
	require.NoError(t, a.Take(t.Context(), "r", key, 0))
	for r, err := range a.Asks(t.Context(), "r", key) {
		require.NoError(t, err)
		assert.Equal(t, int64(1), r.Seq)
	}
	for l, err := range a.Letters(t.Context(), "r") {
		require.NoError(t, err)
		assert.Equal(t, key+"x", l.Key)
	}
	for _, q := range []runlog.Query{{Label: key}, {Label: key + "=" + key}} {
		n := 0
		for _, err := range a.List(t.Context(), q) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 1, n)
	}
	err := appendOne(t, a, key, 0)
	require.ErrorContains(t, err, "longer than an index of Postgres can hold")
}

func TestTimeOutOfRange(t *testing.T) {
	_, a, _ := two(t)
	bad := small("r", 1)
	bad.At = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	err := a.Append(t.Context(), []runlog.Record{small("r", 0), bad})
	require.ErrorContains(t, err, `record 1 of run "r"`)
	require.ErrorContains(t, err, "is not in the years 1678 to 2261")
	require.NoError(t, appendOne(t, a, "r", 0), "nothing of it was stored")
}

// TestSmallPool has nested loops and parallel calls on one connection.
func TestSmallPool(t *testing.T) {
	cfg := config(t)
	cfg.Pool = pool(t, dsn(t)+" pool_max_conns=1")
	s := open(t, cfg)
	for i := range 20 {
		require.NoError(t, appendOne(t, s, fmt.Sprint(i), 0))
	}
	var depth func(i int)
	depth = func(i int) {
		for _, err := range s.Records(t.Context(), fmt.Sprint(i), 0) {
			require.NoError(t, err)
			if i < 19 {
				depth(i + 1)
			}
			require.NoError(t, appendOne(t, s, fmt.Sprint(i), 1))
			break
		}
	}
	depth(0)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			assert.NoError(t, s.Append(context.Background(), []runlog.Record{small(fmt.Sprint(i), 2)}))
			assert.NoError(t, s.Put(context.Background(), runlog.Letter{Run: fmt.Sprint(i), Key: "q"}))
		})
	}
	all.Wait()
}
