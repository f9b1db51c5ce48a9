package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/convene-go/convene/blackboard"
)

// History is the log of a run, read and decoded.
type History struct {
	Run   string
	Flow  string
	Start StartedData
	Begun time.Time // of the first record
	Stuck string    // why the flow failed the last time; "": it did not

	recs    []blackboard.Record
	answers [][]CalledData // of recs, by Seq, so many in a part
}

// part is how many answers are decoded by one goroutine, while the next records are
// read.
const part = 512

// ReadHistory reads the log of a run from its first record; nil: there is none. What
// is kept beside the log is in Data already.
func ReadHistory(run string, records iter.Seq2[blackboard.Record, error]) (*History, error) {
	h := &History{Run: run}
	decoding, ctx := errgroup.WithContext(context.Background())
	decoding.SetLimit(runtime.GOMAXPROCS(0))
	err := h.read(ctx, records, decoding)
	if decodeErr := decoding.Wait(); err == nil {
		err = decodeErr
	}
	if err != nil || len(h.recs) == 0 {
		return nil, err
	}
	return h, h.open()
}

func (h *History) read(ctx context.Context, records iter.Seq2[blackboard.Record, error], decoding *errgroup.Group) error {
	for rec, err := range records {
		if err != nil {
			return fmt.Errorf("log of run %q: %w", h.Run, err)
		}
		if rec.Seq != int64(len(h.recs)) {
			return h.damaged(rec.Seq, "it is at the place of record %d", len(h.recs))
		}
		h.recs = append(h.recs, rec)
		if len(h.recs)%part == 0 {
			h.decode(ctx, decoding)
		}
	}
	h.decode(ctx, decoding)
	return nil
}

// decode lets g decode the answers of the records that came since.
func (h *History) decode(ctx context.Context, g *errgroup.Group) {
	recs := h.recs[len(h.answers)*part:]
	if len(recs) == 0 {
		return
	}
	answers := make([]CalledData, len(recs))
	h.answers = append(h.answers, answers)
	g.Go(func() error {
		for i := range recs {
			if recs[i].Kind != blackboard.Called || ctx.Err() != nil {
				continue
			}
			if err := json.Unmarshal(recs[i].Data, &answers[i]); err != nil {
				return h.damaged(recs[i].Seq, "%v", err)
			}
		}
		return nil
	})
}

// answer is the answer of a Called record.
func (h *History) answer(seq int64) *CalledData { return &h.answers[seq/part][seq%part] }

// open reads what the run is.
func (h *History) open() error {
	first := h.recs[0]
	if first.Kind != blackboard.Started {
		return h.damaged(0, "it is %q, want %q", first.Kind, blackboard.Started)
	}
	if err := json.Unmarshal(first.Data, &h.Start); err != nil {
		return h.damaged(0, "%v", err)
	}
	h.Flow, h.Begun = first.Name, first.At
	h.Start.Run = h.Run
	return h.openStuck()
}

// openStuck reads why the flow failed, if it did. What calls came to that were under
// way then may follow.
func (h *History) openStuck() error {
	for i := len(h.recs) - 1; i > 0; i-- {
		switch rec := &h.recs[i]; rec.Kind {
		case blackboard.Called, blackboard.Used:
			continue
		case blackboard.Stuck:
			var d StuckData
			if err := json.Unmarshal(rec.Data, &d); err != nil || d.Err == nil {
				return h.damaged(rec.Seq, "%v", err)
			}
			h.Stuck = d.Err.Message
		}
		return nil
	}
	return nil
}

func (h *History) damaged(seq int64, format string, args ...any) error {
	return fmt.Errorf("log of run %q: record %d: %w: %s", h.Run, seq, blackboard.ErrDamaged, fmt.Sprintf(format, args...))
}

// Next is the Seq of the record that comes next.
func (h *History) Next() int64 { return int64(len(h.recs)) }

// Ended tells whether the run has ended.
func (h *History) Ended() bool { return h.recs[len(h.recs)-1].Kind == blackboard.Ended }

// Each calls f with every record.
func (h *History) Each(f func(rec blackboard.Record)) {
	for _, rec := range h.recs {
		f(rec)
	}
}
