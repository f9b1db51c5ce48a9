package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// logbook keeps what engines log, without the times.
type logbook struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

// logger logs to b what is of that level or above.
func (b *logbook) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// lines are what was logged since the last call.
func (b *logbook) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := strings.Split(strings.TrimSpace(b.out.String()), "\n")
	b.out.Reset()
	return all
}

func TestLogging(t *testing.T) {
	hangs := agent.Roster{"a": hang}
	bubble(t, map[string]func(*testing.T){
		"a start and an end are a line each, and calls are none": func(t *testing.T) {
			var b logbook
			e := newEngine(t, driver.Config{Log: b.logger(slog.LevelInfo)})
			output(t, begin(t, e, pair, "x"))
			begin(t, e, asker, "y")
			synctest.Wait()
			require.NoError(t, cancel(t, e, "y"))
			synctest.Wait()
			assert.Equal(t, []string{
				`level=INFO msg="run started" run=x flow=pair version=0`,
				`level=INFO msg="run ended" run=x flow=pair status=completed`,
				`level=INFO msg="run started" run=y flow=asker version=0`,
				`level=INFO msg="run ended" run=y flow=asker status=canceled`,
			}, b.lines())
		},
		"a child is shown to debuggers": func(t *testing.T) {
			var b logbook
			e := newEngine(t, driver.Config{Log: b.logger(slog.LevelDebug)})
			output(t, begin(t, e, over, "x"))
			var levels []string
			for _, line := range b.lines() {
				levels = append(levels, line[:strings.Index(line, " run=")])
			}
			assert.Equal(t, []string{
				`level=INFO msg="run started"`, `level=DEBUG msg="run started"`, `level=DEBUG msg="run ended"`, `level=INFO msg="run ended"`,
			}, levels)
		},
		"a close suspends without a warning, and a drain": func(t *testing.T) {
			for _, drain := range []bool{false, true} {
				var b logbook
				e := newEngine(t, driver.Config{Log: b.logger(slog.LevelDebug), Store: runlog.NewMemory(), Agents: hangs})
				begin(t, e, pair, "works")
				begin(t, e, asker, "waits")
				begin(t, e, over, "has a child")
				pause(time.Second)
				b.lines()
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				_ = e.Close(ctx, drain) // a drain waits for calls as long as it may
				stop()
				synctest.Wait()
				lines := b.lines()
				require.Len(t, lines, 4, "three runs and a child")
				for _, line := range lines {
					assert.Contains(t, line, `level=DEBUG msg="run stopped without an end"`, "drain %v", drain)
				}
			}
		},
		"a run that is taken over says from which engine": func(t *testing.T) {
			s := left(t, driver.Config{Agents: hangs}, pair)
			require.NoError(t, s.Beat(t.Context(), "ghost", lease))
			steal(t, s, "pair", "ghost")
			var b logbook
			e := newEngine(t, driver.Config{Store: s, Log: b.logger(slog.LevelInfo), Programs: programs(pair)})
			assert.Empty(t, resume(t, e).Runs)
			pause(2 * lease) // in the background
			assert.Equal(t, []string{
				`level=INFO msg="run taken over" run=pair flow=pair from=ghost`,
				`level=INFO msg="run ended" run=pair flow=pair status=completed`,
			}, b.lines())
		},
		"a stuck run is a warning, and its cancel a line": func(t *testing.T) {
			var b logbook
			e := newEngine(t, driver.Config{Store: runlog.NewMemory(), Log: b.logger(slog.LevelInfo)})
			_, err := begin(t, e, broken, "x")(t.Context())
			require.ErrorContains(t, err, "a bug")
			assert.Contains(t, b.lines()[1], `level=WARN msg="run stopped without an end" run=x flow=broken err=`)
			require.NoError(t, cancel(t, e, "x"))
			assert.Equal(t, []string{`level=INFO msg="run ended" run=x flow=broken status=canceled`}, b.lines())
		},
		"a flow that fails while the engine is closed is a warning": func(t *testing.T) {
			var b logbook
			s := newTap()
			s.holdBack(runlog.Stuck)
			e := newEngine(t, driver.Config{Store: s, Log: b.logger(slog.LevelWarn)})
			begin(t, e, broken, "x")
			synctest.Wait()
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_ = e.Close(ctx, false)
			synctest.Wait()
			assert.Contains(t, strings.Join(b.lines(), "\n"), `level=WARN msg="run stopped without an end" run=x flow=broken`)
		},
		"an outage of the store is a warning, and what follows a resume": func(t *testing.T) {
			var b logbook
			s := newTap()
			e := newEngine(t, driver.Config{Store: s, Log: b.logger(slog.LevelInfo), Programs: programs(sleeper)})
			resume(t, e)
			begin(t, e, sleeper, "x")
			s.on(func(context.Context, []runlog.Record) error { return errors.New("the disk is full") })
			pause(2 * time.Hour)
			out := strings.Join(b.lines(), "\n")
			assert.Contains(t, out, `level=WARN msg="the store fails; trying again"`)
			assert.Contains(t, out, `level=WARN msg="run stopped without an end" run=x`)
			s.on(nil)
			pause(2 * outage)
			assert.Contains(t, strings.Join(b.lines(), "\n"), `level=INFO msg="run resumed" run=x flow=sleeper from=`)
		},
		"a run that another engine has resumed meanwhile is a warning": func(t *testing.T) {
			var b logbook
			s := newTap()
			e := newEngine(t, driver.Config{Store: s, Log: b.logger(slog.LevelInfo)})
			wait := begin(t, e, sleeper, "x")
			require.NoError(t, s.Beat(t.Context(), "ghost", 100*time.Hour))
			steal(t, s, "x", "ghost")
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
			defer stop()
			_, err := wait(ctx)
			require.Error(t, err)
			assert.Contains(t, strings.Join(b.lines(), "\n"), `level=WARN msg="run stopped without an end" run=x`)
		},
	})
}
