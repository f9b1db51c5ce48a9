package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
)

// listed yields records as they are, with their numbers.
func listed(recs []runlog.Record, err error) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		for _, rec := range recs {
			if !yield(rec, nil) {
				return
			}
		}
		if err != nil {
			yield(runlog.Record{}, err)
		}
	}
}

// long is a log of n calls.
func long(n int64) (recs []runlog.Record) {
	recs = append(recs, started())
	for i := range n {
		recs = append(recs, called(i, "a", "", fmt.Sprint(i)))
	}
	for i := range recs {
		recs[i].Run, recs[i].Seq = "x", int64(i)
	}
	return recs
}

// TestDamageInEachPlace damages one record of a log that is decoded in several parts. The
// error names the record, in whatever part it is.
func TestDamageInEachPlace(t *testing.T) {
	whole := long(2*part + 3)
	for _, at := range []int{1, part - 1, part, part + 1, 2*part - 1, 2 * part, 2*part + 1, len(whole) - 1} {
		for name, data := range map[string]string{"cut": `{"response":{"te`, "no object": `7`, "another form": `{"response":[]}`, "nothing": ``} {
			recs := slices.Clone(whole)
			recs[at].Data = json.RawMessage(data)
			p, err := NewReplay("x", listed(recs, nil))
			require.ErrorIs(t, err, runlog.ErrDamaged, "%s at %d", name, at)
			require.ErrorContains(t, err, fmt.Sprintf(`log of run "x": record %d: `, at), name)
			assert.Nil(t, p)
		}
		recs := slices.Delete(slices.Clone(whole), at, at+1)
		_, err := NewReplay("x", listed(recs, nil))
		if at == len(whole)-1 {
			require.NoError(t, err, "that a last record is missing does not show")
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("record %d: runlog: damaged: it is at the place of record %d", at+1, at))
	}
}

// TestLengthsAroundAPart reads logs that end where a part does.
func TestLengthsAroundAPart(t *testing.T) {
	for _, n := range []int64{0, 1, part - 2, part - 1, part, part + 1, 2*part - 1, 2 * part} {
		p, err := NewReplay("x", listed(long(n), nil))
		require.NoError(t, err)
		require.Len(t, p.Records, int(n)+1)
		for i := range n {
			require.Equal(t, fmt.Sprint(i), p.answer(i+1).Response.Text, "of %d", n)
			require.Equal(t, Recorded{Made: true}, p.Recorded("", i))
		}
		require.Equal(t, Recorded{}, p.Recorded("", n))
	}
}

func TestReadingStopsAtAnError(t *testing.T) {
	lost := errors.New("connection lost")
	for _, n := range []int64{0, 1, part - 1, part, 3 * part} {
		p, err := NewReplay("x", listed(long(n), lost))
		require.ErrorIs(t, err, lost)
		require.EqualError(t, err, `log of run "x": connection lost`)
		assert.Nil(t, p)
	}
	_, err := NewReplay("x", listed(nil, lost))
	require.ErrorIs(t, err, lost, "also where there is no record")
	damaged := long(part)
	damaged[1].Data = json.RawMessage(`{`)
	_, err = NewReplay("x", listed(damaged, lost))
	require.ErrorIs(t, err, lost, "the reader's error counts first")
	read := 0
	_, err = NewReplay("x", func(yield func(runlog.Record, error) bool) {
		for _, rec := range []runlog.Record{started(), {Seq: 5}, {Seq: 6}} {
			if read++; !yield(rec, nil) {
				return
			}
		}
	})
	require.ErrorIs(t, err, runlog.ErrDamaged)
	assert.Equal(t, 2, read, "nothing is read behind the first damage")
}

func TestStuckIsWhyTheLastOneFailed(t *testing.T) {
	stuck := func(why string) runlog.Record {
		return runlog.Record{Kind: runlog.Stuck, Data: json.RawMessage(fmt.Sprintf(`{"error":{"message":%q}}`, why))}
	}
	used := runlog.Record{Kind: runlog.Used, Data: json.RawMessage(`{}`)}
	for name, tt := range map[string]struct {
		recs []runlog.Record
		want string
	}{
		"never":                     {nil, ""},
		"once":                      {[]runlog.Record{stuck("one")}, "one"},
		"twice":                     {[]runlog.Record{stuck("one"), {Kind: runlog.Resumed}, stuck("two")}, "two"},
		"with usage behind it":      {[]runlog.Record{stuck("one"), used, used, called(0, "a", "", "")}, "one"},
		"an answer came behind it":  {[]runlog.Record{stuck("one"), {Kind: runlog.Answered, Name: "q"}}, ""},
		"it was canceled behind it": {[]runlog.Record{stuck("one"), {Kind: runlog.Canceled}}, ""},
		"only calls":                {[]runlog.Record{called(0, "a", "", ""), used}, ""},
	} {
		p, err := NewReplay("x", logOf(append([]runlog.Record{started()}, tt.recs...)...))
		require.NoError(t, err, name)
		assert.Equal(t, tt.want, p.Stuck, name)
	}
	for _, data := range []string{``, `{}`, `{"error":null}`, `[]`} {
		_, err := NewReplay("x", logOf(started(), runlog.Record{Kind: runlog.Stuck, Data: json.RawMessage(data)}))
		require.ErrorIs(t, err, runlog.ErrDamaged, "Data %q", data)
	}
}

// TestRandomDamage changes the log of a random run at random. The replay ends without a
// panic: the log is damaged, the flow diverges from it, or it is one that can be.
func TestRandomDamage(t *testing.T) {
	kinds := []string{
		runlog.Started, runlog.Resumed, runlog.Called, runlog.Used, runlog.Refused, runlog.Lost, runlog.Slept, runlog.Asked,
		runlog.Withdrawn, runlog.Expired, runlog.Answered, runlog.Canceled, runlog.Changed, runlog.Stuck, runlog.Ended, "step", "",
	}
	rapid.Check(t, func(t *rapid.T) {
		script := scripts.Draw(t, "script")
		w, _ := lived(t, script)
		log := slices.Clone(w.log)
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			i := rapid.IntRange(0, len(log)-1).Draw(t, "record")
			switch rec := &log[i]; rapid.IntRange(0, 5).Draw(t, "damage") {
			case 0:
				rec.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
			case 1:
				rec.Data = json.RawMessage(rapid.SampledFrom([]string{"", "null", "{}", "[]", "7", `"text"`, "{", `{"usage":{"calls":-1}}`}).Draw(t, "data"))
			case 2:
				rec.N = rapid.Int64Range(-1, 6).Draw(t, "n")
			case 3:
				rec.Branch = rapid.SampledFrom([]string{"", "0", "1", "9"}).Draw(t, "branch")
			case 4:
				rec.Name, rec.Hash = rapid.SampledFrom([]string{"", "a", "f", keyAt(0, 0)}).Draw(t, "name"), ""
			case 5:
				j := rapid.IntRange(0, len(log)-1).Draw(t, "other")
				log[i], log[j] = log[j], log[i] // logOf numbers them anew
			}
		}
		if _, err := NewReplay("x", logOf(log...)); err != nil {
			require.ErrorIs(t, err, runlog.ErrDamaged)
			return
		}
		p, _, err := replayed(t, script, log)
		if err != nil {
			require.True(t, errors.Is(err, runlog.ErrDamaged) || errors.Is(err, ErrDiverged), "%v", err)
			require.ErrorContains(t, err, `run "x"`)
			return
		}
		p.Live = &heard{}
		p.GoLive()
	})
}
