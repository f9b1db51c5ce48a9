package blackboard

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"
)

var (
	// ErrConflict says that another process was first: with a record of the run,
	// a lease, or an answer.
	ErrConflict = errors.New("blackboard: another process was first")

	// ErrNoBlob says that a store has no blob of that hash.
	ErrNoBlob = errors.New("blackboard: no such blob")
)

// Store keeps the logs of runs. It is all that a host must implement; storetest
// checks it. Implementations are safe for concurrent use and for many processes,
// and hold no lock while they yield: the body of a loop over a sequence may call
// the store. With a context that is done already every method, here and below,
// changes nothing and returns or yields the context's error.
type Store interface {
	// Append stores recs, of one or of several runs, all or none, and returns when
	// they are durable. The records of one run are in order and continue its log
	// without a gap; if any (Run, Seq) is taken or leaves a gap, Append stores
	// nothing and returns ErrConflict. It keeps neither recs nor their Data. Data
	// comes back byte for byte, empty Data as nil.
	Append(ctx context.Context, recs []Record) error

	// Records yields the records of a run from Seq from on, in order. An unknown
	// run has none. After an error it yields no more. The caller owns Data.
	Records(ctx context.Context, run string, from int64) iter.Seq2[Record, error]

	// Runs yields the first and the last record of every run whose last record
	// is not Ended (open) or of every run, newest first: by At of the first
	// record, and runs of the same At in the order of their IDs. The caller owns
	// Data.
	Runs(ctx context.Context, open bool) iter.Seq2[[2]Record, error]
}

// Leaser is a Store that knows which process is alive. Engines lease their own
// name and prolong it while they live; another engine takes up a run only when
// the lease of the one that worked on it is free. Without a Leaser one process
// at a time may use the store.
type Leaser interface {
	// Lease makes owner the holder of name for d, by the store's clock, or returns
	// ErrConflict if another holds it. A holder prolongs its lease by calling
	// again; d <= 0 gives it back, if no other holds it. A lease that ran out is free.
	Lease(ctx context.Context, name, owner string, d time.Duration) error
}

// Letter is a word to a run from another process: the answer to the question
// that Key names, or, with Key "", the wish to cancel it.
type Letter struct {
	Run  string
	Key  string
	Data json.RawMessage
}

// Inbox is a Store that takes letters for runs of other processes.
type Inbox interface {
	// Put keeps a letter. The first for a (Run, Key) wins, be it a letter or an
	// Answered (by Name) or Canceled (Key "") record of the log: a later one is
	// ErrConflict.
	Put(ctx context.Context, l Letter) error

	// Letters yields the letters of run, or with run "" those of all runs, that are
	// not yet in the log: no Answered record has their Key as Name, and for Key ""
	// no Canceled record is there.
	Letters(ctx context.Context, run string) iter.Seq2[Letter, error]
}

// Blobs is a Store for large values by their hash. Each belongs to a run, so that
// deleting the run deletes them.
type Blobs interface {
	// PutBlob keeps data, once, and returns its hash: the SHA-256 in lower case hex.
	PutBlob(ctx context.Context, run string, data []byte) (hash string, err error)
	// Blob returns the data of hash, or ErrNoBlob. The caller owns it.
	Blob(ctx context.Context, run, hash string) ([]byte, error)
	// BlobsOf yields the data of all blobs of run, in the order of their hashes.
	BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error]
}

// Deleter is a Store that can forget a run.
type Deleter interface {
	// Delete removes the log, the letters and the blobs of run. An unknown run is
	// no error.
	Delete(ctx context.Context, run string) error
}
