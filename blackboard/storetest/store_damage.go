package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

func (suite Suite) damageChecks() []check {
	return []check{
		{"Record", suite.damagedRecord},
		{"Last", suite.damagedLast},
		{"Blob", suite.damagedBlob},
		{"ListReadsNoLog", suite.listReadsNoLog},
	}
}

func wantDamaged(t testing.TB, what string, err error, names ...string) {
	t.Helper()
	if !errors.Is(err, runlog.ErrDamaged) {
		t.Errorf("%s = %v, want ErrDamaged", what, err)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s = %q, which does not name %s", what, err, name)
		}
	}
}

func (suite Suite) damagedRecord(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("run-7", 0, 60)...)
	mustAppend(t, s, entries("other", 0, 60)...)
	suite.Damage(t, s, "run-7", 41)
	read := 0
	var damaged error
	for _, err := range s.Records(t.Context(), "run-7", 0) {
		if err != nil {
			damaged = err
			break
		}
		read++
	}
	wantDamaged(t, "Records of a damaged log", damaged, "run-7", "41")
	if read > 41 {
		t.Errorf("Records yielded %d records of a log whose record 41 is damaged", read)
	}
	wantRecords(t, "Records behind the damage", all(t, s.Records(t.Context(), "run-7", 42)), entries("run-7", 42, 60))
	wantLog(t, s, "other", entries("other", 0, 60)...)
}

func (suite Suite) damagedLast(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entries("run-7", 0, 3)...)
	suite.Damage(t, s, "run-7", 2)
	_, err := s.Last(t.Context(), "run-7")
	wantDamaged(t, "Last of a damaged log", err, "run-7", "2")
}

func (suite Suite) damagedBlob(t testing.TB, s runlog.Store) {
	b, ok := runlog.As[runlog.Blobs](s)
	if !ok {
		return
	}
	mustAppend(t, s, entry("run-7", 0), entry("other", 0))
	hash := mustPutBlob(t, b, "run-7", []byte("x"))
	mustPutBlob(t, b, "other", []byte("x"))
	suite.Damage(t, s, "run-7", -1)
	_, err := b.Blob(t.Context(), "run-7", hash)
	wantDamaged(t, "Blob that is damaged", err, "run-7", hash)
	wantDamaged(t, "BlobsOf with a damaged blob", firstError(t, b.BlobsOf(t.Context(), "run-7")), "run-7", hash)
	wantBlob(t, b, "other", []byte("x"))
}

// listReadsNoLog lists runs whose logs cannot be read.
func (suite Suite) listReadsNoLog(t testing.TB, s runlog.Store) {
	for i := range 3 {
		run := fmt.Sprint("run-", i)
		mustAppend(t, s, entries(run, 0, 10)...)
		for seq := range int64(9) {
			suite.Damage(t, s, run, seq)
		}
	}
	wantRuns(t, s, everyRun, "run-0", "run-1", "run-2")
	if o, ok := runlog.As[runlog.Owners](s); ok {
		wantOrphans(t, o, "run-0", "run-1", "run-2")
	}
}
