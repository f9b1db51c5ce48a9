package runlog_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// kinds has every kind that engines write, with its text in logs, whether it is about a
// question, and whether it changes the listing.
var kinds = []struct {
	kind, text  string
	ask, listed bool
}{
	{runlog.Started, "started", false, true},
	{runlog.Resumed, "resumed", false, true},
	{runlog.Called, "called", false, false},
	{runlog.Used, "used", false, false},
	{runlog.Refused, "refused", false, false},
	{runlog.Lost, "lost", false, false},
	{runlog.Slept, "slept", false, false},
	{runlog.Asked, "asked", true, false},
	{runlog.Withdrawn, "withdrawn", true, false},
	{runlog.Expired, "expired", true, false},
	{runlog.Answered, "answered", true, false},
	{runlog.Canceled, "canceled", false, false},
	{runlog.Changed, "changed", false, false},
	{runlog.Stuck, "stuck", false, true},
	{runlog.Ended, "ended", false, true},
	{"Asked", "Asked", false, false},
	{"", "", false, false},
}

func TestKinds(t *testing.T) {
	for _, tt := range kinds {
		assert.Equal(t, tt.text, tt.kind, "stored logs have it")
		assert.Equal(t, tt.ask, runlog.AskKind(tt.kind), "AskKind(%q)", tt.kind)
		assert.Equal(t, tt.listed, runlog.Listed(tt.kind), "Listed(%q)", tt.kind)
	}
}

// TestRecordJSON has the names by which exports and databases keep the fields.
func TestRecordJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		rec  runlog.Record
		want string
	}{
		{"all", runlog.Record{
			Run: "r", Seq: 1, Kind: "k", Branch: "0.1", N: 2, Name: "n", Hash: "h", At: day, Data: []byte(`{"a":1}`), Blob: "b",
		}, `{"run":"r","seq":1,"kind":"k","branch":"0.1","n":2,"name":"n","hash":"h","at":"2026-01-02T03:04:05.000000006Z","data":{"a":1},"blob":"b"}`},
		{"least", runlog.Record{Run: "r", Kind: "k", At: day.Add(-6)}, `{"run":"r","seq":0,"kind":"k","at":"2026-01-02T03:04:05Z"}`},
		{"no time", runlog.Record{}, `{"run":"","seq":0,"kind":"","at":"0001-01-01T00:00:00Z"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.rec)
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			var back runlog.Record
			require.NoError(t, json.Unmarshal(got, &back))
			assert.Equal(t, tt.rec, back)
		})
	}
}

func TestBlobHash(t *testing.T) {
	assert.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", runlog.BlobHash(nil))
	assert.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", runlog.BlobHash([]byte("abc")))
}

func TestCheckBlob(t *testing.T) {
	require.NoError(t, runlog.CheckBlob("r", runlog.BlobHash(nil), nil))
	require.NoError(t, runlog.CheckBlob("r", runlog.BlobHash([]byte("x")), []byte("x")))
	err := runlog.CheckBlob("r", runlog.BlobHash([]byte("x")), []byte("y"))
	require.ErrorIs(t, err, runlog.ErrDamaged)
	require.ErrorContains(t, err, `blob "`+runlog.BlobHash([]byte("x"))+`" of run "r"`)
	assert.ErrorContains(t, err, "has the hash "+runlog.BlobHash([]byte("y")))
	require.ErrorIs(t, runlog.CheckBlob("r", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", []byte("abc")),
		runlog.ErrDamaged, "hashes are in lower case")
}

// TestErrorsDiffer has callers tell the errors of a store apart.
func TestErrorsDiffer(t *testing.T) {
	errs := []error{runlog.ErrConflict, runlog.ErrNoBlob, runlog.ErrNoRun, runlog.ErrNoReply, runlog.ErrDamaged}
	for i, one := range errs {
		assert.ErrorContains(t, one, "runlog: ")
		for _, other := range errs[:i] {
			assert.NotErrorIs(t, one, other)
		}
	}
}

// TestMemoryKeepsTheTime has times of any zone and clock come back in UTC.
func TestMemoryKeepsTheTime(t *testing.T) {
	zone := time.FixedZone("x", 2*60*60)
	now := time.Now() // only this has a reading of the monotonic clock
	for _, at := range []time.Time{{}, day, day.In(zone), now, time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2261, 12, 31, 23, 59, 59, 999999999, zone)} {
		m := appended(t, runlog.Record{Run: "r", Kind: runlog.Started, At: at})
		last, err := m.Last(t.Context(), "r")
		require.NoError(t, err)
		listing := all(t, m.List(t.Context(), runlog.Query{}))[0]
		for _, got := range []time.Time{last.At, listing.Started, listing.Changed} {
			assert.Equal(t, at.Round(0).UTC(), got)
		}
	}
}
