package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

// errUnanswered says that the run waits for an answer of a person.
var errUnanswered = errors.New("a person is asked")

// answer answers the questions of the run until it ends. Without an answer, it suspends
// the run.
func (s *session[In, Out]) answer(ctx context.Context, run *orchestrator.Run) {
	given := s.Answer
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return // watch says so
		}
		if rec.Kind != runlog.Asked {
			continue
		}
		q, open := question(ctx, run, rec.Name)
		if !open {
			continue // it was answered before
		}
		err := s.answerQuestion(ctx, run, q, given)
		if ctx.Err() != nil {
			return // the run needs no more answers
		}
		if err != nil {
			s.stop(fmt.Errorf("%w: %s: %w", errUnanswered, Clip(q.Text, 500), err))
			return
		}
		given = ""
	}
}

// question is the open question of a key.
func question(ctx context.Context, run *orchestrator.Run, key string) (q orchestrator.Question, open bool) {
	info, err := run.Info(ctx)
	at := slices.IndexFunc(info.Questions, func(q orchestrator.Question) bool { return q.Key == key })
	if err != nil || at < 0 {
		return q, false
	}
	return info.Questions[at], true
}

// answerQuestion answers a question with given, or else with what a person types.
func (s *session[In, Out]) answerQuestion(ctx context.Context, run *orchestrator.Run, q orchestrator.Question, given string) error {
	text := "\n" + Wrap(Plain(q.Text), "")
	if len(q.Options) > 0 {
		text += Wrap("("+strings.Join(q.Options, ", ")+", or words)", "")
	}
	s.say(text, false)
	for {
		said, err := given, error(nil)
		if given == "" {
			if said, err = s.line(ctx); err != nil {
				return err
			}
		}
		value, err := s.Reply(q, said)
		if err == nil {
			err = run.Answer(ctx, q.Key, value)
		}
		switch {
		case err == nil:
			s.say("answered: "+Clip(said, 200)+"\n", false)
			return nil
		case given != "":
			return fmt.Errorf("-answer %q: %w", given, err)
		case ctx.Err() != nil || errors.Is(err, orchestrator.ErrAnswered) || errors.Is(err, orchestrator.ErrNoQuestion):
			return nil //nolint:nilerr // another process answered it, or the run has ended
		}
		s.say(err.Error()+"\n", false)
	}
}

// say prints a text beside the lines or the picture of the run. still stops the picture
// until the next call.
func (s *session[In, Out]) say(text string, still bool) {
	if s.live != nil {
		s.live.say(text, still)
		return
	}
	s.c.Print("%s", text)
}

// line is the next line that is typed and not empty.
func (s *session[In, Out]) line(ctx context.Context) (string, error) {
	if s.c.In == nil {
		return "", errNoAnswer
	}
	s.say("> ", true)
	defer s.say("", false)
	for {
		if s.typed == nil {
			s.typed = lines(s.c.In)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case text, ok := <-s.typed:
			if !ok {
				return "", errNoAnswer
			}
			if text != "" {
				return text, nil
			}
		}
	}
}

var errNoAnswer = errors.New("no answer is given: use -answer, or a terminal")

// lines are those of a reader. The reading goroutine ends only with in: nothing else ends
// a read from a terminal.
func lines(in io.Reader) chan string {
	typed := make(chan string)
	go func() {
		defer close(typed)
		for all := bufio.NewScanner(in); all.Scan(); {
			typed <- strings.TrimSpace(all.Text())
		}
	}()
	return typed
}
