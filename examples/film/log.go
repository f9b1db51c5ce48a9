package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/sqlite"
)

// past is what the log knows of a run.
type past struct {
	id      string
	records int64
	answers int
	ended   bool
	held    bool // another process works on it
}

// family is the ID of the first run of a request; -new adds numbers to it. The same
// request with another cast is another run.
func family(o options) string {
	sum := sha256.Sum256([]byte(o.who() + "\n" + o.request))
	return "film-" + hex.EncodeToString(sum[:6])
}

// find returns the newest run of the family, or, if there is none or a fresh one
// is wanted, the next ID with an empty past.
func find(ctx context.Context, s *sqlite.Store, o options) (past, error) {
	var newest past
	for n := 1; ; n++ {
		id := family(o)
		if n > 1 {
			id = fmt.Sprintf("%s-%d", id, n)
		}
		p, err := read(ctx, s, id)
		if err != nil {
			return past{}, err
		}
		if p.records > 0 {
			newest = p
			continue
		}
		if o.fresh || n == 1 {
			return p, nil
		}
		return newest, nil
	}
}

// read returns what the log knows of a run that this process does not work on.
func read(ctx context.Context, s *sqlite.Store, id string) (past, error) {
	p := past{id: id}
	for rec, err := range s.Records(ctx, id, 0) {
		if err != nil {
			return p, err
		}
		p.records = rec.Seq + 1
		switch rec.Kind {
		case blackboard.Called:
			p.answers++
		case blackboard.Ended:
			p.ended = true
		}
	}
	for l, err := range s.List(ctx, blackboard.Query{Run: id, Open: true}) {
		if err == nil {
			p.held, err = s.Alive(ctx, l.Owner)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}
