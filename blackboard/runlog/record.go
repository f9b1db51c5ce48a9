package runlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Record is one entry of the append-only log of a run: its journal, its audit
// trail and what viewers see. Seq starts at 0 and has no gaps; (Run, Seq) is
// unique.
type Record struct {
	Run    string          `json:"run"`
	Seq    int64           `json:"seq"`
	Kind   string          `json:"kind"`             // one of the kinds below, or what the flow emitted
	Branch string          `json:"branch,omitempty"` // of the flow; "" is the root
	N      int64           `json:"n,omitempty"`      // of the effect in its branch: with Branch its identity
	Name   string          `json:"name,omitempty"`   // of the flow, agent or question
	Hash   string          `json:"hash,omitempty"`   // of the request
	At     time.Time       `json:"at"`               // UTC, nanoseconds; the zero time, or in the years 1678 to 2261
	Data   json.RawMessage `json:"data,omitempty"`
	Blob   string          `json:"blob,omitempty"` // the hash of the blob that holds a large Data; Data has what listings need of it, or nothing
}

// The kinds of records that engines write. A flow may emit any other.
const (
	Started   = "started"   // the first record: the flow and its input
	Resumed   = "resumed"   // another process, or this one again, continues the run
	Called    = "called"    // an agent answered, or failed
	Used      = "used"      // what a call used that has no answer, or had its answer before
	Refused   = "refused"   // a budget refused a call
	Lost      = "lost"      // what budgets hold against calls whose process was killed
	Slept     = "slept"     // a sleep or a time limit is over
	Asked     = "asked"     // a question is open
	Withdrawn = "withdrawn" // the flow does not wait for the question's answer any more
	Expired   = "expired"   // the question's time is over
	Answered  = "answered"  // the answer to the question that Name is the key of
	Canceled  = "canceled"  // the run is canceled
	Changed   = "changed"   // a resumed run asked an agent in other words than recorded, and continued
	Stuck     = "stuck"     // the flow's code failed; the run has not ended
	Ended     = "ended"     // the last record: the outcome
)

// AskKind tells whether records of that kind tell the state of a question, whose
// key is their Name: after Asked it is open, after Answered, Expired or Withdrawn
// it is not.
func AskKind(kind string) bool {
	switch kind {
	case Asked, Answered, Expired, Withdrawn:
		return true
	}
	return false
}

// Removes tells which letter of its run a record removes from the [Inbox]: an
// Answered, Expired or Withdrawn record that for the key in Name, an Asked record
// the same if the field rejected of its Data is neither absent nor empty, and a
// Canceled record that for key "". An Ended record, not ok here, removes all.
func Removes(rec Record) (key string, ok bool) {
	switch rec.Kind {
	case Canceled:
		return "", true
	case Answered, Expired, Withdrawn:
		return rec.Name, rec.Name != ""
	case Asked:
		return rec.Name, rec.Name != "" && rejects(rec.Data)
	}
	return "", false
}

// AskState is the state of a question after the record rec, whose Name is its key: the
// kind of the record that tells it. before is the one before rec; "" if rec is the
// first. An answer stays, also where the flow asks afterwards, until an Asked record
// rejects it.
func AskState(before string, rec Record) string {
	if before == Answered && (rec.Kind != Asked || !rejects(rec.Data)) {
		return Answered
	}
	return rec.Kind
}

// rejects tells whether the Data of an Asked record says why an early answer was
// dropped.
func rejects(data json.RawMessage) bool {
	var d struct {
		Rejected json.RawMessage `json:"rejected"`
	}
	_ = json.Unmarshal(data, &d) // other Data rejects nothing
	return !slices.Contains([]string{"", `""`, "null"}, string(d.Rejected))
}

// BlobHash returns the hash by which [Blobs] keep data: the SHA-256 in lower case
// hex.
func BlobHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CheckBlob returns [ErrDamaged], with the names of both, if data of a blob of run
// does not have its hash.
func CheckBlob(run, hash string, data []byte) error {
	if got := BlobHash(data); got != hash {
		return fmt.Errorf("%w: blob %q of run %q has the hash %s", ErrDamaged, hash, run, got)
	}
	return nil
}
