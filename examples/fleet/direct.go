package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
)

// direct makes the workers produce films, kills the first worker in the middle of one, and
// reports what it sees in the database.
func (s *studio) direct(ctx context.Context, workers []*worker, films int, out io.Writer) error {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	began := time.Now()
	var ids []string
	for n := range films {
		id := fmt.Sprintf("film-%d-%d", began.UnixMilli(), n)
		w := workers[n%len(workers)]
		if err := w.start(id, n); err != nil {
			return err
		}
		ids = append(ids, id)
		say("film %d is started by worker %s", n, w.name)
	}
	if err := s.await(ctx, ids, func(i orchestrator.Info) bool { return i.Spent.Calls >= 3 }); err != nil {
		return err
	}
	if err := workers[0].kill(); err != nil {
		return err
	}
	killed := time.Now()
	say("worker %s is killed", workers[0].name)
	dead, err := s.owner(ctx, ids[0])
	if err != nil {
		return err
	}
	if err := s.await(ctx, ids, func(i orchestrator.Info) bool { return i.Owner != dead || over(i) }); err != nil {
		return err
	}
	say("worker %s has taken over its films after %.1f s", workers[1].name, time.Since(killed).Seconds())
	if err := s.await(ctx, ids, over); err != nil {
		return err
	}
	return s.report(ctx, ids, say)
}

func over(i orchestrator.Info) bool { return i.Status == orchestrator.Completed }

// await waits until ok is true for all films.
func (s *studio) await(ctx context.Context, ids []string, ok func(orchestrator.Info) bool) error {
	left := slices.Clone(ids)
	for {
		var err error
		left = slices.DeleteFunc(left, func(id string) bool {
			run, openErr := s.eng.Open(ctx, id)
			if openErr != nil {
				return false // not started yet
			}
			info, infoErr := run.Info(ctx)
			if infoErr != nil {
				err = infoErr
			}
			return infoErr == nil && ok(info)
		})
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *studio) owner(ctx context.Context, id string) (string, error) {
	run, err := s.eng.Open(ctx, id)
	if err != nil {
		return "", err
	}
	info, err := run.Info(ctx)
	return info.Owner, err
}

// report prints the results of the films.
func (s *studio) report(ctx context.Context, ids []string, say func(string, ...any)) error {
	calls, twice := 0, 0
	for n, id := range ids {
		run, err := s.eng.Open(ctx, id)
		if err != nil {
			return err
		}
		result, err := s.film.Result(ctx, run)
		if err != nil {
			return err
		}
		c, t, err := s.calls(ctx, id)
		if err != nil {
			return err
		}
		calls, twice = calls+c, twice+t
		say("film %d is %s, by %d departments", n, result.Status, len(result.Reports))
	}
	say("%d films, %d calls on record, %d of them twice", len(ids), calls, twice)
	return nil
}
