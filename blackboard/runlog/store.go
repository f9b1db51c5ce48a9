// Package runlog keeps what a run did: its log of records, and the stores
// that logs are kept in.
//
// A host plugs in its own storage by implementing [Store], four methods; package
// storetest checks them. The optional interfaces [Owners], [Notifier], [Messenger],
// [Inbox], [Questions], [OpenQuestions], [Blobs] and [Deleter] say what more a store can
// do. [Memory] has them all. [As] finds them, also in a store that wraps another one.
//
// [Export] and [Import] carry a run from one store to another as JSON lines.
package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"
)

var (
	// ErrConflict says that another writer was first: with a record of the run, with the
	// address of a letter, or with the name of an engine.
	ErrConflict = errors.New("runlog: another writer was first")

	// ErrNoBlob says that a store has no blob of that hash.
	ErrNoBlob = errors.New("runlog: no such blob")

	// ErrNoRun says that a store has no run of that ID.
	ErrNoRun = errors.New("runlog: no such run")

	// ErrNoReply says that no engine of that name replies to requests.
	ErrNoReply = errors.New("runlog: no such engine replies")

	// ErrDamaged says that a store does not hold what was stored: a file was changed,
	// or a disk failed. The error names the run, and the record, letter or blob.
	ErrDamaged = errors.New("runlog: damaged")

	// ErrTooLarge says that a store never takes a value of that size: nothing was stored,
	// and no other attempt helps. A store that fails only for now returns another error.
	ErrTooLarge = errors.New("runlog: too large")

	// ErrRefused says the same of a value that has another fault than its size, such as a
	// time that the store has no room for.
	ErrRefused = errors.New("runlog: refused")
)

// IsNever reports whether err says that a store never takes a value: it is [ErrTooLarge]
// or [ErrRefused].
func IsNever(err error) bool {
	return errors.Is(err, ErrTooLarge) || errors.Is(err, ErrRefused)
}

// Store keeps the logs of runs. It is all that a host must implement.
// Implementations are safe for concurrent use and for many processes, and hold no
// lock while they yield: the body of a loop may call the store. With a context that
// is done already every method, here and below, changes nothing and returns or yields
// the context's error. After an error a sequence yields no more. The caller owns what
// is returned or yielded: Data, Labels, bytes.
type Store interface {
	// Append stores recs, of one or of several runs, all or none, and returns when
	// they are durable. The records of one run are in order and continue its log
	// without a gap. If any (Run, Seq) is taken, leaves a gap, or follows an Ended
	// record, Append stores nothing and returns ErrConflict. If the store will never take
	// one of recs, Append stores nothing and returns ErrTooLarge or ErrRefused: so it
	// refuses records that [Listing.Add] refuses. After any other error the outcome is
	// unknown: all of recs are stored, or none is (a commit whose confirmation was lost).
	// An engine tries such an Append again, so a store that says "never" by another error
	// holds up all runs for the time of an outage. Append returns soon after ctx is done. It keeps neither recs nor their Data. Data comes back
	// byte for byte, empty Data as nil.
	Append(ctx context.Context, recs []Record) error

	// Records yields the records of a run from Seq from on, in order. An unknown
	// run has none.
	Records(ctx context.Context, run string, from int64) iter.Seq2[Record, error]

	// Last returns the last record of a run, or ErrNoRun.
	Last(ctx context.Context, run string) (Record, error)

	// List yields the runs that q selects, newest first: by Started, and runs of the
	// same time in the order of their IDs. It reads no logs: its cost does not depend
	// on their length.
	List(ctx context.Context, q Query) iter.Seq2[Listing, error]
}

// Query selects runs. A zero field selects all.
type Query struct {
	Open   bool      // runs that have not ended
	Run    string    // the run of that ID
	Flow   string    // runs of that flow
	Status string    // runs of that status, as in Listing
	Owner  string    // runs of that owner
	Parent string    // children of that run
	Label  string    // runs that have that label; "name=value": that value of it
	Text   string    // runs that have that text in the ID, the flow's name, a label's value or Err; ASCII case is ignored
	Before time.Time // runs whose last record is older
	Limit  int       // most runs to yield; 0 or less: all
	After  string    // runs that follow the run of that ID: the cursor for the next page. An unknown ID is ErrNoRun
}

// Listing is what a list shows of a run. It follows from only some records of the log:
// see [Listing.Add].
//
// An engine whose runs no process owns names in Owner the engine, or the service, that
// works on them. Next and Changed are then of the records that it shows: Next never
// shrinks, and a record that was shown keeps its Seq.
type Listing struct {
	Run     string            // ID of the run
	Flow    string            // name of the flow
	Version int               // version of the flow
	Parent  string            // the run that started it as its child; "": none
	Labels  map[string]string // labels that the host gave; nil: none
	Owner   string            // the engine, or the service, that works on the run, or did last
	Status  string            // how it ended, or that it is stuck; "": open
	Err     string            // why it failed or is stuck; "": it did not and is not
	Ended   bool              // the last record is Ended
	Started time.Time         // At of the first record
	Changed time.Time         // At of the last record
	Next    int64             // Seq of the next record
}

// Owners is a Store that knows which engines are alive. An engine resumes another
// engine's run only when that engine is dead. With a store that is not Owners, one
// process at a time may execute runs.
type Owners interface {
	// Beat says that the engine of that name is alive. The engine calls it again
	// well before d is over; one that has been silent for d counts as dead. An empty
	// name and a d of 0 or less are errors. A store that can tell that a living engine
	// of another process has the name returns ErrConflict.
	Beat(ctx context.Context, owner string, d time.Duration) error

	// Leave says that the engine has stopped: its runs are free at once.
	Leave(ctx context.Context, owner string) error

	// Alive tells whether the engine of that name is alive. One that never called
	// Beat, or left, is not. A store that can tell that a process has died (by a lock
	// of the operating system, by a session of a database) says so at once; else Alive
	// compares with what it saw before, by its own monotonic clock, so that clocks
	// that differ or are set back do no harm.
	Alive(ctx context.Context, owner string) (bool, error)

	// Orphans yields the open runs whose owner is not alive, oldest first. It checks
	// each owner once.
	Orphans(ctx context.Context) iter.Seq2[Listing, error]
}

// Notifier is a Store that reports changes by other processes, so that an engine
// learns of them before its next poll.
type Notifier interface {
	// Changes yields the IDs of runs to which another process appended a record or
	// put a letter, soon after it did, until ctx is done or another error ends it,
	// which it yields. It may yield a run once for several changes, and for changes of
	// this process; it may miss changes, so poll too, slowly.
	Changes(ctx context.Context) iter.Seq2[string, error]
}

// Messenger is a Store that carries requests from one engine to another, and the
// replies. It keeps neither of them. Data is any bytes, and may be megabytes.
type Messenger interface {
	// Request has the engine of that name handle data, and returns its reply. It
	// returns ErrNoReply as soon as the store can tell that no engine of the name
	// serves requests. If an engine hangs or a request is lost, Request ends only with
	// ctx: give it a deadline.
	Request(ctx context.Context, owner string, data []byte) (reply []byte, err error)

	// Serve replies by handle to the requests to the engine of that name, several at
	// once, until ctx is done or the store is closed, and returns why when the last
	// handle has returned. The context of handle ends with that of Serve, and at the
	// deadline of the request. A name that has called Beat is served once at a time.
	Serve(ctx context.Context, owner string, handle func(ctx context.Context, data []byte) []byte) error
}

// Letter is a message to a run from any process: the answer to a question, or the wish
// to cancel the run. Run, Key and Round are its address, which is used once.
type Letter struct {
	Run   string // ID of the run
	Key   string // key of the question; "": the letter cancels the run
	Round int    // how often the question was opened again before; 0: it is the first time, or not asked yet

	// Expired says that there is no answer: the run's own engine closes the question
	// by it, so that an answer that comes later finds the address used. Data is nil.
	Expired bool

	Data json.RawMessage // the answer, or the reason to cancel as a JSON string; nil: none
}

// Inbox is a Store that takes letters for runs. It knows no rules about questions: that
// each address is used once is all that engines need. Without an Inbox, only the engine
// that executes a run can be told answers.
type Inbox interface {
	// Put keeps a letter. If a letter with its address was ever put, Put returns
	// ErrConflict, also after Take. It returns ErrNoRun if the run has no record, and
	// ErrTooLarge or ErrRefused for a letter that the store never takes. It does not look
	// at what the records say: a run that has ended gets letters, too.
	Put(ctx context.Context, l Letter) error

	// Letters yields the letters of run that were not taken, in the order of runs,
	// keys (byte for byte) and rounds. With run "" it yields those of all runs.
	Letters(ctx context.Context, run string) iter.Seq2[Letter, error]

	// Take marks a letter as taken: Letters does not yield it any more, and its address
	// stays used. If there is no such letter, Take does nothing.
	Take(ctx context.Context, run, key string, round int) error
}

// Questions is a Store with an index of the records about questions. Without it,
// engines read the whole log: see [Asks].
type Questions interface {
	// Asks yields the records of a run whose kinds are [AskKind], in order. With a key
	// it yields only those whose Name is the key. An unknown run has none.
	Asks(ctx context.Context, run, key string) iter.Seq2[Record, error]
}

// Asks yields what [Questions] yield, for any store.
func Asks(ctx context.Context, s Store, run, key string) iter.Seq2[Record, error] {
	if q, ok := As[Questions](s); ok {
		return q.Asks(ctx, run, key)
	}
	return func(yield func(Record, error) bool) {
		for rec, err := range s.Records(ctx, run, 0) {
			if err == nil && (!AskKind(rec.Kind) || key != "" && rec.Name != key) {
				continue
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// OpenQuestions is a Store with an index of the questions that wait for an answer, over
// all runs. Without it, engines read the logs of all open runs: see [OpenAsks].
type OpenQuestions interface {
	// OpenAsks yields the open questions that q selects, oldest first, in the order of
	// [AskPlace]. It sees what Append has stored: [AskChange] says which records open
	// and close a question.
	OpenAsks(ctx context.Context, q AskQuery) iter.Seq2[OpenAsk, error]
}

// Blobs is a Store for large values by their hash. Each belongs to a run, so that
// deleting the run deletes them. A blob may come before the first record of its run.
// Data that does not have its hash is ErrDamaged.
type Blobs interface {
	// PutBlob keeps data, once, and returns its [BlobHash]. ErrTooLarge and ErrRefused
	// say that the store never takes data.
	PutBlob(ctx context.Context, run string, data []byte) (hash string, err error)
	// Blob returns the data of hash, or ErrNoBlob.
	Blob(ctx context.Context, run, hash string) ([]byte, error)
	// BlobsOf yields the data of all blobs of run, in the order of their hashes.
	BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error]
}

// Deleter is a Store that can forget runs.
type Deleter interface {
	// Delete removes the logs, the letters with their addresses, and the blobs of runs,
	// all or none. An unknown run is no error.
	Delete(ctx context.Context, runs ...string) error
}
