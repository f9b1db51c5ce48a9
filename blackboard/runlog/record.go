package runlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Record is one entry of the append-only log of a run: its journal, its audit
// trail and what viewers see. Seq starts at 0 and has no gaps; (Run, Seq) is
// unique.
type Record struct {
	Run    string          `json:"run"`              // ID of the run
	Seq    int64           `json:"seq"`              // place in the log, from 0
	Kind   string          `json:"kind"`             // one of the kinds below, or what the flow emitted
	Branch string          `json:"branch,omitempty"` // path of the flow's branch; "": the root
	N      int64           `json:"n,omitempty"`      // number of the effect in its branch; with Branch its identity
	Name   string          `json:"name,omitempty"`   // name of the flow or agent, or key of the question
	Hash   string          `json:"hash,omitempty"`   // hash of the request; "": none
	At     time.Time       `json:"at"`               // UTC, nanoseconds; the zero time, or in the years 1678 to 2261
	Data   json.RawMessage `json:"data,omitempty"`   // JSON, by Kind; nil: none
	Blob   string          `json:"blob,omitempty"`   // hash of the blob that holds a large Data; Data has what lists and sums need of it, or nothing
}

// The kinds of records that engines write. A flow may emit any other.
const (
	Started   = "started"   // the first record: the flow and its input
	Resumed   = "resumed"   // another process, or this one again, continues the run
	Called    = "called"    // an agent answered, or failed
	Used      = "used"      // usage of a call that has no answer, or had its answer before
	Refused   = "refused"   // a budget refused a call
	Lost      = "lost"      // reservations that budgets keep for calls whose process was killed
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

// AskKind tells whether records of that kind are about a question. Their Name is its
// key.
func AskKind(kind string) bool {
	switch kind {
	case Asked, Answered, Expired, Withdrawn:
		return true
	}
	return false
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
