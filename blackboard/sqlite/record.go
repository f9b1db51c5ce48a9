package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"github.com/convene-go/convene/blackboard"
)

// The number of the run ?1, which is NULL if there is none, and with it the ids of
// the run's record ?2, of its last one at the latest, and of all of them.
const (
	runNumber = "(SELECT no FROM runs WHERE run = ?1)"
	recordID  = runNumber + " << 32 | ?2"
	lastID    = runNumber + " << 32 | 0xffffffff"
	ofRun     = "id BETWEEN " + runNumber + " << 32 AND " + lastID
)

// maxSeq is the largest Seq that an id has room for.
const maxSeq = 1<<32 - 1

// A record is read as two columns: its Data, and a head of all other fields with
// a separator between them. Nine columns would take the driver twice the time.
// Numbers come first, so that Seq is known whatever the texts hold.
const (
	separator  = "\x1f"
	headFields = 8
)

// recordColumns selects the two columns of a record of that table.
func recordColumns(table string) string {
	head := []string{"X.id & 0xffffffff", "ifnull(X.n, '')", "X.at", "X.kind"}
	for _, column := range []string{"branch", "name", "hash", "blob"} {
		head = append(head, "ifnull(X."+column+", '')")
	}
	columns := "concat_ws('" + separator + "', " + strings.Join(head, ", ") + "), CAST(X.data AS BLOB)"
	return strings.ReplaceAll(columns, "X", table)
}

const selectTexts = "SELECT kind, branch, name, hash, blob FROM log WHERE id = " + recordID

// record reads the columns of recordColumns.
func (c *conn) record(run string, head, data driver.Value) (blackboard.Record, error) {
	f, rest, ok := splitHead(text(head))
	seq, seqErr := strconv.ParseInt(f[0], 10, 64)
	at, atErr := strconv.ParseInt(f[2], 10, 64)
	if seqErr != nil || atErr != nil {
		return blackboard.Record{}, fmt.Errorf("run %q has a damaged record: %q", run, head)
	}
	n, _ := strconv.ParseInt(f[1], 10, 64) // NULL is 0
	r := blackboard.Record{
		Run: run, Seq: seq, N: n, At: fromNanos(at),
		Kind: f[3], Branch: f[4], Name: f[5], Hash: f[6], Blob: rest, Data: bytes(data),
	}
	if ok {
		return r, nil
	}
	err := c.rows(func(row []driver.Value) bool {
		r.Kind, r.Branch, r.Name, r.Hash, r.Blob = text(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4])
		return false
	}, selectTexts, run, seq)
	return r, err
}

// splitHead returns the fields of a head and the last one, not ok if a text has a
// separator in it and it is not known which.
func splitHead(head string) (f [headFields - 1]string, rest string, ok bool) {
	for i := range f {
		f[i], head, ok = strings.Cut(head, separator)
	}
	return f, head, ok && !strings.Contains(head, separator)
}
