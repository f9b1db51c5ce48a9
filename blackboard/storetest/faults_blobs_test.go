package storetest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
)

// blobsFaults are faults of Blobs and a Deleter.
var blobsFaults = []fault{
	{"a short hash", "Blobs/Hash", func(d *double) {
		d.putBlob = func(ctx context.Context, run string, data []byte) (string, error) {
			hash, err := d.Memory.PutBlob(ctx, run, data)
			return hash[:min(len(hash), 16)], err
		}
	}},
	{"blobs of all runs", "Blobs/BelongsToRun", func(d *double) {
		d.putBlob = func(ctx context.Context, _ string, data []byte) (string, error) {
			return d.Memory.PutBlob(ctx, "", data)
		}
		d.blob = func(ctx context.Context, _, hash string) ([]byte, error) { return d.Memory.Blob(ctx, "", hash) }
		d.blobsOf = func(ctx context.Context, _ string) iter.Seq2[[]byte, error] { return d.Memory.BlobsOf(ctx, "") }
	}},
	{"an unknown blob is empty", "Blobs/NoBlob", func(d *double) {
		d.blob = func(ctx context.Context, run, hash string) ([]byte, error) {
			data, err := d.Memory.Blob(ctx, run, hash)
			if errors.Is(err, runlog.ErrNoBlob) {
				err = nil
			}
			return data, err
		}
	}},
	{"blobs in the order of their size", "Blobs/Order", func(d *double) {
		d.blobsOf = func(ctx context.Context, run string) iter.Seq2[[]byte, error] {
			return func(yield func([]byte, error) bool) {
				var blobs [][]byte
				for data, err := range d.Memory.BlobsOf(ctx, run) {
					if err != nil {
						yield(nil, err)
						return
					}
					blobs = append(blobs, data)
				}
				slices.SortFunc(blobs, func(a, b []byte) int { return len(a) - len(b) })
				for _, data := range blobs {
					if !yield(data, nil) {
						return
					}
				}
			}
		}
	}},
	{"blobs twice", "Blobs/Twice", func(d *double) {
		d.blobsOf = func(ctx context.Context, run string) iter.Seq2[[]byte, error] {
			return func(yield func([]byte, error) bool) {
				for data, err := range d.Memory.BlobsOf(ctx, run) {
					for range 2 {
						if !yield(data, err) {
							return
						}
					}
				}
			}
		}
	}},
	{"no big blobs", "Blobs/Big", func(d *double) {
		d.putBlob = func(ctx context.Context, run string, data []byte) (string, error) {
			return d.Memory.PutBlob(ctx, run, data[:min(len(data), 1<<20)])
		}
	}},
	{"one blob buffer", "Blobs/CallerOwnsData", func(d *double) {
		shared := make(map[string][]byte)
		d.blob = func(ctx context.Context, run, hash string) ([]byte, error) {
			data, err := d.Memory.Blob(ctx, run, hash)
			if shared[hash] == nil {
				shared[hash] = data
			}
			return shared[hash], err
		}
	}},
	{"BlobsOf holds a lock", "Blobs/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.blobsOf = func(ctx context.Context, run string) iter.Seq2[[]byte, error] {
			return locked(&mu, d.Memory.BlobsOf(ctx, run))
		}
	}},
	{"ignores contexts in PutBlob", "Blobs/CanceledContext", func(d *double) {
		d.putBlob = func(ctx context.Context, run string, data []byte) (string, error) {
			return d.Memory.PutBlob(context.WithoutCancel(ctx), run, data)
		}
	}},
	{"deletes nothing", "Deleter/Log", func(d *double) {
		d.delete = func(ctx context.Context, _ ...string) error { return ctx.Err() }
	}},
	{"deletes the first run only", "Deleter/Several", func(d *double) {
		d.delete = func(ctx context.Context, runs ...string) error {
			return d.Memory.Delete(ctx, runs[:min(len(runs), 1)]...)
		}
	}},
	{"hides a deleted run for ever", "Deleter/NewRunOfTheID", func(d *double) {
		gone := make(map[string]bool)
		d.delete = func(ctx context.Context, runs ...string) error {
			for _, run := range runs {
				gone[run] = ctx.Err() == nil
			}
			return d.Memory.Delete(ctx, runs...)
		}
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				if gone[r.Run] {
					return runlog.ErrConflict
				}
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"cannot delete an unknown run", "Deleter/UnknownRun", func(d *double) {
		d.delete = func(ctx context.Context, runs ...string) error {
			if length(ctx, d, runs[0]) == 0 {
				return errors.New("unknown run")
			}
			return d.Memory.Delete(ctx, runs...)
		}
	}},
	{"letters outlive their run", "Deleter/Letters", func(d *double) {
		var letters []runlog.Letter
		d.put = func(ctx context.Context, l runlog.Letter) error {
			letters = append(letters, l)
			return d.Memory.Put(ctx, l)
		}
		d.letters = func(context.Context, string) iter.Seq2[runlog.Letter, error] {
			return func(yield func(runlog.Letter, error) bool) {
				for _, l := range letters {
					if !yield(l, nil) {
						return
					}
				}
			}
		}
	}},
	{"blobs outlive their run", "Deleter/Blobs", func(d *double) {
		d.delete = func(ctx context.Context, runs ...string) error {
			run := runs[0]
			var blobs [][]byte
			for data, err := range d.Memory.BlobsOf(ctx, run) {
				if err != nil {
					return err
				}
				blobs = append(blobs, data)
			}
			err := d.Memory.Delete(ctx, run)
			for _, data := range blobs {
				_, putErr := d.Memory.PutBlob(ctx, run, data)
				err = errors.Join(err, putErr)
			}
			return err
		}
	}},
	{"ignores contexts in Delete", "Deleter/CanceledContext", func(d *double) {
		d.delete = func(ctx context.Context, runs ...string) error {
			return d.Memory.Delete(context.WithoutCancel(ctx), runs...)
		}
	}},
}
