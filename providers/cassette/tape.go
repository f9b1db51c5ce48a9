package cassette

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/convene-go/convene/providers"
)

// Mode says whether [Open] plays or records.
type Mode string

// The modes. A test takes one as its only switch, for example from a flag:
//
//	var mode = flag.String("cassette", string(cassette.RecordIfMissing), "play, record or record-if-missing")
const (
	PlayOnly        Mode = "play"              // a call that is not recorded is ErrMiss
	RecordAnew      Mode = "record"            // models are called, and the cassette is replaced
	RecordIfMissing Mode = "record-if-missing" // models are called if there is no cassette: delete it to record again
)

// Tape plays or records, depending on its [Mode]. Create it with [Open]. It is safe for
// concurrent use.
type Tape struct {
	recorder *Recorder // nil: it plays
	player   *Player
}

// Open opens the cassette at path.
func Open(path string, m Mode, o Options) (*Tape, error) {
	switch m {
	case PlayOnly, RecordAnew:
	case RecordIfMissing:
		_, err := os.Stat(path)
		if m = PlayOnly; errors.Is(err, fs.ErrNotExist) {
			m = RecordAnew
		}
	default:
		return nil, fmt.Errorf("cassette: mode is %q, want %q, %q or %q", string(m), PlayOnly, RecordAnew, RecordIfMissing)
	}
	if m == RecordAnew {
		r, err := Record(path, o)
		return &Tape{recorder: r}, err
	}
	p, err := Play(path, o)
	return &Tape{player: p}, err
}

// Recording says whether models are called.
func (t *Tape) Recording() bool { return t.recorder != nil }

// Opener returns an opener for [providers.NewRoles]. Only a Tape that records opens models
// with open: one that plays needs neither keys nor a network.
func (t *Tape) Opener(open func(providers.Spec) (providers.Model, error)) func(providers.Spec) (providers.Model, error) {
	if t.recorder != nil {
		return t.recorder.Open(open)
	}
	return t.player.Open
}

// Model returns m with its calls recorded under a name, or the model recorded under it. m
// may be nil in a Tape that plays.
func (t *Tape) Model(name string, m providers.Model) providers.Model {
	if t.recorder != nil {
		return t.recorder.Model(name, m)
	}
	return t.player.Model(name)
}

// Close ends the use of the cassette; no model may be in use. It returns why calls could
// not be recorded, or which were not on the cassette.
func (t *Tape) Close() error {
	if t.recorder != nil {
		return t.recorder.Close()
	}
	return t.player.Check()
}
