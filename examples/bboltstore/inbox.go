package bboltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Put implements [runlog.Inbox]. An address is used if its key is there.
func (s *Store) Put(ctx context.Context, l runlog.Letter) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		run := tx.Bucket(name(l.Run))
		if run == nil {
			return fmt.Errorf("%w: %q", runlog.ErrNoRun, l.Run)
		}
		letters, err := run.CreateBucketIfNotExists(lettersKey)
		if err != nil {
			return err
		}
		rounds, err := letters.CreateBucketIfNotExists(name(l.Key))
		if err != nil {
			return err
		}
		if rounds.Get(number(int64(l.Round))) != nil {
			return fmt.Errorf("%w: run %q had a letter for key %q, round %d", runlog.ErrConflict, l.Run, l.Key, l.Round)
		}
		return put(rounds, number(int64(l.Round)), storedLetter{l, l.Data})
	})
}

// Take implements [runlog.Inbox].
func (s *Store) Take(ctx context.Context, run, key string, round int) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		b := tx.Bucket(name(run))
		for _, sub := range [][]byte{lettersKey, name(key)} {
			if b == nil {
				return nil
			}
			b = b.Bucket(sub)
		}
		if b == nil || b.Get(number(int64(round))) == nil {
			return nil
		}
		return b.Put(number(int64(round)), nil)
	})
}

// Letters implements [runlog.Inbox]. bbolt keeps runs, keys and rounds in order.
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	return yieldAll(ctx, func() (all []runlog.Letter, err error) {
		err = s.view(ctx, func(tx *bbolt.Tx) error {
			return tx.ForEach(func(id []byte, b *bbolt.Bucket) error {
				letters := b.Bucket(lettersKey)
				if letters == nil || run != "" && !bytes.Equal(id, name(run)) {
					return nil
				}
				return letters.ForEachBucket(func(key []byte) error {
					return letters.Bucket(key).ForEach(func(_, v []byte) error {
						if len(v) == 0 { // it is taken
							return nil
						}
						var l storedLetter
						err := get(v, &l, "a letter for %s of run %s", key, id)
						l.Letter.Data = l.Data
						all = append(all, l.Letter)
						return err
					})
				})
			})
		})
		return all, err
	})
}

// Delete implements [runlog.Deleter]: all that is known of a run is in its bucket.
func (s *Store) Delete(ctx context.Context, runs ...string) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		for _, run := range runs {
			if err := tx.DeleteBucket(name(run)); err != nil && !errors.Is(err, bolterrors.ErrBucketNotFound) {
				return err
			}
		}
		return nil
	})
}
