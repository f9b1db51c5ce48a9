package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Log is a store that knows which engines are alive.
type Log interface {
	runlog.Store
	runlog.Owners
}

// Past is the state of a run in the log.
type Past struct {
	ID      string
	Records int64
	Answers int
	Ended   bool
	Held    bool // another process works on it
}

// Family is the ID of the first run of a request: of a program with these parts. -new
// adds numbers to it.
func Family(program string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return program + "-" + hex.EncodeToString(sum[:6])
}

// Find returns the newest run of a family, or, if there is none or a new one is
// requested, the next ID with an empty past.
func (s *Settings) Find(ctx context.Context, log Log, family string) (Past, error) {
	var newest Past
	for n := 1; ; n++ {
		id := family
		if n > 1 {
			id = fmt.Sprintf("%s-%d", id, n)
		}
		p, err := Read(ctx, log, id)
		if err != nil {
			return Past{}, err
		}
		if p.Records > 0 {
			newest = p
			continue
		}
		if s.Fresh || n == 1 {
			return p, nil
		}
		return newest, nil
	}
}

// Read returns the state of a run that this process does not work on. An unknown run has no
// records.
func Read(ctx context.Context, log Log, id string) (Past, error) {
	p := Past{ID: id}
	for rec, err := range log.Records(ctx, id, 0) {
		if err != nil {
			return p, err
		}
		p.Records = rec.Seq + 1
		switch rec.Kind {
		case runlog.Called:
			p.Answers++
		case runlog.Ended:
			p.Ended = true
		}
	}
	for l, err := range log.List(ctx, runlog.Query{Run: id, Open: true}) {
		if err == nil {
			p.Held, err = log.Alive(ctx, l.Owner)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}
