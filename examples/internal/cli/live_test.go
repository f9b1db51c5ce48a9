package cli

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/examples/internal/cli/vterm"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func newLive(width, height int) (*live, *vterm.Screen) {
	screen := vterm.New(width, height)
	return &live{out: screen, size: screen.Size, began: time.Now(), said: map[string]string{}, cost: "2 calls, no cost"}, screen
}

func rows(n int, text string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("  row %d %s", i+1, text)
	}
	return all
}

func TestLivePictureStaysInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, size := range []struct{ width, height int }{{2, 3}, {10, 4}, {40, 10}, {80, 24}, {200, 50}} {
			l, screen := newLive(size.width, size.height)
			_, _ = screen.Write([]byte("above\n"))
			for n := range 60 {
				l.show(func() { l.rows = rows(n%30, strings.Repeat("long ", n)) })
			}
			l.show(func() { l.rows = rows(3, "last") })
			got := screen.String()
			assert.LessOrEqual(t, strings.Count(got, "\n"), size.height+2, "%v: %s", size, got)
			if size.width >= 40 {
				assert.Equal(t, "above\n  0s, 2 calls, no cost\n  row 1 last\n  row 2 last\n  row 3 last\n", got, "%v", size)
			}
		}
	})
}

func TestLivePictureSaysWhatItLeavesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, screen := newLive(40, 10)
		l.show(func() { l.rows = rows(20, "") })
		assert.Equal(t, "  0s, 2 calls, no cost\n  row 1\n  row 2\n  row 3\n  row 4\n  row 5\n  row 6\n  row 7\n  … and 13 more\n", screen.String())
	})
}

func TestLivePictureOnATerminalThatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, screen := newLive(80, 24)
		l.show(func() { l.rows = rows(5, "wide enough for a line of sixty characters or so") })
		screen.Resize(80, 12)
		l.show(nil)
		screen.Resize(120, 40)
		l.show(func() { l.rows = rows(2, "wide") })
		assert.Equal(t, "  0s, 2 calls, no cost\n  row 1 wide\n  row 2 wide\n", screen.String())

		// A terminal that wraps what stands there has twice as many lines when it is half as
		// wide: the picture begins at the first of them.
		var out strings.Builder
		width := 60
		l = &live{out: &out, size: func() (int, int) { return width, 20 }, began: time.Now(), cost: "no cost"}
		l.show(func() { l.rows = rows(2, strings.Repeat("x", 40)) })
		out.Reset()
		width = 30
		l.show(nil)
		assert.True(t, strings.HasPrefix(out.String(), "\x1b[5A\r\x1b[J"), "1 + 2 + 2 lines: %q", out.String())
	})
}

func TestLivePictureOfWideAndHostileTexts(t *testing.T) {
	l, screen := newLive(20, 10)
	l.show(func() { l.rows = []string{"  日本語日本語日本語日本語", "  a\x1b[2Jb\nc\td\x07"} })
	for line := range strings.Lines(screen.String()) {
		assert.NotContains(t, line, "\x1b")
	}
	assert.Contains(t, screen.String(), "  a[2Jb c d\n")
	assert.Equal(t, 3, strings.Count(screen.String(), "\n"), "no line is broken: %s", screen.String())
}

func TestLivePictureShowsTheLastSentence(t *testing.T) {
	l, screen := newLive(60, 10)
	say := func(key, name, text string) {
		l.show(func() { l.hear(agent.Progress{Agent: name, Key: key, Kind: agent.ProgressText, Text: text}) })
	}
	say("1", "writer", "It is dark. A door")
	assert.Contains(t, screen.String(), "  writer: It is dark.\n")
	say("1", "writer", " opens. ")
	assert.Contains(t, screen.String(), "  writer: A door opens.\n")
	say("2", "critic", "Hm\xff")
	assert.Contains(t, screen.String(), "  critic: Hm\n")
	l.show(func() {
		l.hear(agent.Progress{Agent: "writer", Kind: agent.ProgressTool, Tool: &providers.ToolCall{Name: "search"}})
	})
	assert.Contains(t, screen.String(), "  writer uses search\n")
	say("1", "writer", strings.Repeat("never an end ", 1000))
	assert.LessOrEqual(t, len(l.said["1"]), 2000)
}
