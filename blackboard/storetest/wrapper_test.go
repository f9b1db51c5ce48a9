package storetest

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/blackboard/runlog"
)

// wrapper is a store around another one, whose optional interfaces it keeps.
type wrapper struct{ runlog.Store }

func (w wrapper) Unwrap() runlog.Store { return w.Store }

func TestSuiteAcceptsWrapper(t *testing.T) {
	Run(t, func(*testing.T) runlog.Store { return wrapper{wrapper{newDouble()}} })
}

// TestWrapperHasAllFaces checks that no face of a wrapped store is skipped.
func TestWrapperHasAllFaces(t *testing.T) {
	for _, f := range doubles.faces() {
		assert.True(t, f.has(wrapper{newDouble()}), f.name)
		assert.Equal(t, f.name == "Store", f.has(struct{ runlog.Store }{wrapper{newDouble()}}), "%s, which is hidden", f.name)
	}
}

// veiled is a wrapper that changes Data and forgets that the store inside has an index of
// the same records.
type veiled struct{ wrapper }

func veil(rec runlog.Record) runlog.Record {
	rec.Data = bytes.ToUpper(rec.Data)
	return rec
}

func unveil(rec runlog.Record) runlog.Record {
	rec.Data = bytes.ToLower(rec.Data)
	return rec
}

func (v veiled) Append(ctx context.Context, recs []runlog.Record) error {
	var out []runlog.Record
	for _, rec := range recs {
		out = append(out, veil(rec))
	}
	return v.Store.Append(ctx, out)
}

func (v veiled) Records(ctx context.Context, run string, from int64) recordSeq {
	return func(yield func(runlog.Record, error) bool) {
		for rec, err := range v.Store.Records(ctx, run, from) {
			if !yield(unveil(rec), err) || err != nil {
				return
			}
		}
	}
}

func (v veiled) Last(ctx context.Context, run string) (runlog.Record, error) {
	rec, err := v.Store.Last(ctx, run)
	return unveil(rec), err
}

// TestSuiteFindsBypassedWrapper checks that a wrapper which an interface inside bypasses
// is found, and that one without Unwrap is right.
func TestSuiteFindsBypassedWrapper(t *testing.T) {
	assert.NotEmpty(t, complaints(t, "Questions/Kinds", veiled{wrapper{newDouble()}}))
	assert.Empty(t, complaints(t, "Records/From", veiled{wrapper{newDouble()}}))
	hidden := struct{ runlog.Store }{veiled{wrapper{newDouble()}}}
	assert.Empty(t, complaints(t, "Records/From", hidden))
	assert.False(t, is[runlog.Questions](hidden))
}
