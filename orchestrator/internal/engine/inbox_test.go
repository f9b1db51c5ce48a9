package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// desk is a store whose inbox and records a test can disturb.
type desk struct {
	*tap
	mu    sync.Mutex
	hooks hooks
}

// hooks are what a desk does besides; nil: nothing.
type hooks struct {
	refuse  func(l *runlog.Letter) error            // error of a Put that does nothing
	put     func(l *runlog.Letter, err error) error // result of a Put that came to err
	letters func() error                            // error of who reads letters
}

func newDesk() *desk { return &desk{tap: newTap()} }

func (d *desk) set(h hooks) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hooks = h
}

func (d *desk) get() hooks {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hooks
}

func (d *desk) Put(ctx context.Context, l runlog.Letter) error {
	h := d.get()
	if h.refuse != nil {
		if err := h.refuse(&l); err != nil {
			return err
		}
	}
	err := d.tap.Put(ctx, l)
	if h.put != nil {
		return h.put(&l, err)
	}
	return err
}

func (d *desk) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	if letters := d.get().letters; letters != nil {
		if err := letters(); err != nil {
			return func(yield func(runlog.Letter, error) bool) { yield(runlog.Letter{}, err) }
		}
	}
	return d.tap.Letters(ctx, run)
}

// observer is an engine that only looks and answers.
func observer(t *testing.T, s runlog.Store) *driver.Engine {
	t.Helper()
	return newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
}

// soon is output for a run that ends within two hours.
func soon(t *testing.T, wait waiter) string {
	t.Helper()
	return output(t, func(ctx context.Context) (engine.End, error) {
		ctx, stop := context.WithTimeout(ctx, 2*time.Hour)
		defer stop()
		return wait(ctx)
	})
}

var errDown = errors.New("the store is down")

// Who has the address of a question first has the question, whatever fails then.
func TestTheAddressOfAQuestionDecides(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"an answer has it, and cannot be read when the time is over": func(t *testing.T) {
			d := newDesk()
			o := observer(t, d.Memory)
			e := newEngine(t, driver.Config{Store: d})
			pause(poll / 2)
			wait := begin(t, e, timed, "x")
			pause(time.Minute - time.Second)
			var down atomic.Int64
			down.Store(1 << 30)
			d.set(hooks{
				letters: func() error {
					if down.Add(-1) < 0 {
						return nil
					}
					return errDown
				},
				put: func(l *runlog.Letter, err error) error {
					if l.Expired && errors.Is(err, runlog.ErrConflict) {
						down.Store(1) // who puts letters on record fails, who looks at the question does not
					}
					return err
				},
			})
			require.NoError(t, answer(t, o, "x", "7"))
			assert.Equal(t, `"7"`, soon(t, wait))
			assert.Equal(t, "started asked answered slept ended", kinds(t, e, "x"))
			pause(10 * poll)
			taken(t, d.Memory)
		},
		"an answer has it, and its record takes long: the end of its time puts nothing there": func(t *testing.T) {
			d := newDesk()
			e := newEngine(t, driver.Config{Store: d})
			wait := begin(t, e, timed, "x")
			pause(time.Minute - time.Second)
			var puts atomic.Int64
			d.set(hooks{put: func(_ *runlog.Letter, err error) error { puts.Add(1); return err }})
			open := d.holdBack(runlog.Answered)
			go func() { assert.NoError(t, answer(t, e, "x", "7")) }()
			pause(5 * time.Second)
			assert.EqualValues(t, 1, puts.Load(), "letters")
			close(open)
			assert.Equal(t, `"7"`, soon(t, wait))
			assert.Equal(t, "started asked answered slept ended", kinds(t, e, "x"))
		},
	})
}

// The limit of early answers holds though each one takes long to be put.
func TestEarlyAnswersAtOnce(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"N19 they come one after the other": func(t *testing.T) {
			d := newDesk()
			e := newEngine(t, driver.Config{Store: d})
			begin(t, e, flow("sleeps", func(c *orchestrator.Context) (int, error) { return 0, c.Sleep(time.Hour) }), "x")
			d.set(hooks{refuse: func(*runlog.Letter) error { <-time.After(time.Second); return nil }})
			data, err := engine.AnsweredData{Answer: json.RawMessage("7"), Early: true}.Encode()
			require.NoError(t, err)
			var kept, refused atomic.Int64
			for i := range engine.MaxEarly + 10 {
				go func() {
					err := e.Tell(t.Context(), "x", engine.Command{Kind: engine.AnswerIt, Key: fmt.Sprint(i), Data: data})
					if err == nil {
						kept.Add(1)
					} else if assert.ErrorIs(t, err, engine.ErrTooLarge) {
						refused.Add(1)
					}
				}()
			}
			pause(time.Hour / 2)
			assert.EqualValues(t, engine.MaxEarly, kept.Load())
			assert.EqualValues(t, 10, refused.Load())
		},
	})
}

func TestTheEndOfAQuestionsTime(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"is tried again until the inbox takes it": func(t *testing.T) {
			d := newDesk()
			e := newEngine(t, driver.Config{Store: d})
			wait := begin(t, e, timed, "x")
			began := time.Now()
			d.set(hooks{refuse: func(l *runlog.Letter) error {
				if l.Expired && time.Since(began) < time.Minute+5*time.Second {
					return errDown
				}
				return nil
			}})
			assert.Equal(t, `"expired"`, soon(t, wait))
			assert.InDelta(t, time.Hour+time.Minute+5*time.Second, time.Since(began), float64(2*poll))
			assert.Equal(t, "started asked expired slept ended", kinds(t, e, "x"))
		},
		"takes its letter as soon as it is on record": func(t *testing.T) {
			d := newDesk()
			e := newEngine(t, driver.Config{Store: d})
			pause(poll / 2)
			begin(t, e, timed, "x")
			open := d.holdBack(runlog.Expired)
			pause(time.Minute + time.Millisecond)
			assert.Equal(t, 1, lettersOf(t, d))
			assert.Equal(t, "started asked", kinds(t, e, "x"))
			d.set(hooks{letters: func() error { return errDown }}) // nobody else can meet it
			close(open)
			pause(time.Millisecond)
			assert.Equal(t, "started asked expired", kinds(t, e, "x"))
			taken(t, d.Memory)
		},
		"comes in the next round, if the key was asked again meanwhile": func(t *testing.T) {
			d := newDesk()
			var first atomic.Bool
			d.set(hooks{put: func(l *runlog.Letter, err error) error {
				if l.Expired && first.CompareAndSwap(false, true) { // another branch is faster, and asks again
					<-time.After(5 * time.Second)
				}
				return err
			}})
			f := flow("f", func(c *orchestrator.Context) (string, error) {
				both, err := orchestrator.Values(orchestrator.Map(c, []int{1, 2}, 0, func(c *orchestrator.Context, _ int) (string, error) {
					began := c.Now()
					_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Minute})
					took := c.Now().Sub(began).Round(time.Second)
					if !errors.Is(err, orchestrator.ErrTimeout) {
						return "", fmt.Errorf("not expired: %w", err)
					}
					if took < time.Minute+time.Second { // the faster one
						_, err = orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: 10 * time.Minute})
						if !errors.Is(err, orchestrator.ErrTimeout) {
							return "", fmt.Errorf("not expired again: %w", err)
						}
					}
					return took.String(), nil
				}))
				return fmt.Sprint(both), err
			})
			e := newEngine(t, driver.Config{Store: d})
			wait := begin(t, e, f, "x")
			got := soon(t, wait)
			assert.Contains(t, got, "1m0s")
			assert.Contains(t, got, "1m5s")
			assert.Equal(t, "started asked asked expired asked expired expired ended", kinds(t, e, "x"))
			pause(10 * poll)
			taken(t, d.Memory)
		},
	})
}

func TestLettersToARunThatIsNotLive(t *testing.T) {
	// waits says that it begins, and then waits for its test before it asks.
	waits := func(begins chan<- none, on <-chan none) script[int] {
		return flow("waits", func(c *orchestrator.Context) (int, error) {
			begins <- none{}
			<-on
			return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
		})
	}
	bubble(t, map[string]func(*testing.T){
		"follow the record that it is resumed": func(t *testing.T) {
			begins, on := make(chan none, 2), make(chan none, 2)
			on <- none{}
			s := left(t, driver.Config{}, waits(begins, on))
			<-begins
			e := newEngine(t, driver.Config{Store: s, Programs: programs(waits(begins, on))})
			go func() { _, _ = e.Resume(t.Context()) }()
			<-begins // it repeats its log
			require.NoError(t, answer(t, observer(t, s), "waits", "7"))
			pause(5 * poll)
			assert.Equal(t, "started asked", kinds(t, e, "waits"))
			assert.Equal(t, 1, lettersOf(t, s))
			on <- none{}
			assert.Equal(t, "7", soon(t, waitFor(e, "waits")))
			assert.Equal(t, "started asked resumed answered ended", kinds(t, e, "waits"))
			pause(10 * poll)
			taken(t, s)
		},
		"are kept where they cannot be put on record": func(t *testing.T) {
			s := newTap()
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, asker, "x")
			synctest.Wait()
			s.on(func(_ context.Context, recs []runlog.Record) error {
				if recs[0].Kind == runlog.Answered {
					return errDown
				}
				return nil
			})
			require.NoError(t, answer(t, observer(t, s), "x", "7"))
			_, err := wait(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
			pause(10 * poll)
			assert.Equal(t, 1, lettersOf(t, s))
			s.on(nil)
			two := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
			shut(t, e)
			resume(t, two)
			assert.Equal(t, "7", soon(t, waitFor(two, "x")))
			pause(10 * poll)
			taken(t, s)
		},
	})
}
