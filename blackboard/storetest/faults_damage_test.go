package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

// damageFaults are faults of stores that are damaged.
var damageFaults = []fault{
	{"yields what is damaged", "Damage/Record", func(d *double) { d.records = d.Memory.Records }},
	{"damage has an error of its own", "Damage/Record", func(d *double) {
		records := d.records
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return func(yield func(runlog.Record, error) bool) {
				for r, err := range records(ctx, run, from) {
					if err != nil {
						err = errors.New(err.Error())
					}
					if !yield(r, err) {
						return
					}
				}
			}
		}
	}},
	{"Last is damaged", "Damage/Last", func(d *double) { d.last = d.Memory.Last }},
	{"a blob is damaged", "Damage/Blob", func(d *double) { d.blob = d.Memory.Blob }},
	{"one of the blobs is damaged", "Damage/Blob", func(d *double) { d.blobsOf = d.Memory.BlobsOf }},
	{"List reads the log", "Damage/ListReadsNoLog", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return func(yield func(runlog.Listing, error) bool) {
				for l, err := range d.Memory.List(ctx, q) {
					for _, readErr := range d.records(ctx, l.Run, 0) {
						err = errors.Join(err, readErr)
					}
					if !yield(l, err) {
						return
					}
				}
			}
		}
	}},
}

// damage damages a double: what it marks is an error from then on.
func damage(_ testing.TB, s runlog.Store, run string, seq int64) {
	if d, ok := s.(*double); ok {
		d.damaged[fmt.Sprint(run, " ", seq)] = true
	}
}

func (d *double) damage(run string, seq int64, what string) error {
	if !d.damaged[fmt.Sprint(run, " ", seq)] {
		return nil
	}
	return fmt.Errorf("%w: %s of run %q", runlog.ErrDamaged, what, run)
}

// withDamage has d find what was damaged.
func (d *double) withDamage() *double {
	d.records = func(ctx context.Context, run string, from int64) recordSeq {
		return func(yield func(runlog.Record, error) bool) {
			for r, err := range d.Memory.Records(ctx, run, from) {
				if damaged := d.damage(run, r.Seq, fmt.Sprint("record ", r.Seq)); damaged != nil {
					yield(runlog.Record{}, damaged)
					return
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	d.last = func(ctx context.Context, run string) (runlog.Record, error) {
		r, err := d.Memory.Last(ctx, run)
		return r, errors.Join(err, d.damage(run, r.Seq, fmt.Sprint("record ", r.Seq)))
	}
	d.blob = func(ctx context.Context, run, hash string) ([]byte, error) {
		data, err := d.Memory.Blob(ctx, run, hash)
		return data, errors.Join(err, d.damage(run, -1, "blob "+hash))
	}
	d.blobsOf = func(ctx context.Context, run string) blobSeq {
		return func(yield func([]byte, error) bool) {
			for data, err := range d.Memory.BlobsOf(ctx, run) {
				if damaged := d.damage(run, -1, "blob "+hashOf(data)); damaged != nil {
					yield(nil, damaged)
					return
				}
				if !yield(data, err) {
					return
				}
			}
		}
	}
	return d
}
