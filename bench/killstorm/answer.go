package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/convene-go/convene/orchestrator"
)

// answer answers the questions that are open, some of them twice at the same time.
func (s *storm) answer(ctx context.Context) error {
	for _, id := range s.ledger.open() {
		for _, key := range s.ledger.questions(id) {
			if s.asked[id+" "+key] {
				continue
			}
			s.asked[id+" "+key] = true
			hosts := s.hosts[:1+s.rng.IntN(2)]
			if err := s.answerFrom(ctx, hosts, id, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerFrom answers a question from several engines at once.
func (s *storm) answerFrom(ctx context.Context, hosts []*orchestrator.Engine, id, key string) error {
	var wg sync.WaitGroup
	errs := make([]error, len(hosts))
	for i, host := range hosts {
		wg.Go(func() {
			run, err := host.Open(ctx, id)
			if err == nil {
				err = run.AnswerWith(ctx, key, reception{answerTo(key), by(i)}, orchestrator.AnswerOptions{By: by(i), Early: true})
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
			s.accepted[id+" "+key] = append(s.accepted[id+" "+key], by(i))
		case !errors.Is(err, orchestrator.ErrAnswered) && !errors.Is(err, orchestrator.ErrNoQuestion): // the flow may have given it up
			return fmt.Errorf("answer of %s to %s: %w", by(i), id+" "+key, err)
		}
	}
	return nil
}

// by names a host.
func by(i int) string { return fmt.Sprintf("host %d", i) }
