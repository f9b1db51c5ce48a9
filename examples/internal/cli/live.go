package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// redraw is how often the clock of a live picture is updated.
const redraw = 250 * time.Millisecond

// live is a picture of a run on a terminal, redrawn in place. Its methods are safe for
// concurrent use.
type live struct {
	out  io.Writer
	size func() (width, height int)

	mu    sync.Mutex
	began time.Time
	cost  string   // what the run has used
	rows  []string // of the program
	heard string   // the last sentence of an agent, with its name
	said  map[string]string
	drawn []int // the widths of the lines on the screen
	still bool  // a person types: nothing is drawn
}

func onTerminal(c Console) *live {
	return &live{out: c.Out, size: c.Size, began: time.Now(), said: map[string]string{}}
}

// say replaces the picture by a text; the picture continues below it, once still is false.
func (l *live) say(text string, still bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	width, height := l.size()
	l.draw(nil, max(width, 2), max(height, 2))
	_, _ = io.WriteString(l.out, Plain(text)) // a closed console is no error
	l.still = still
}

// tick redraws the clock until ctx is done, and adapts to a new size of the terminal.
func (l *live) tick(ctx context.Context) {
	t := time.NewTicker(redraw)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			l.show(nil)
		}
	}
}

// listen keeps the last sentence that an agent of the run has written.
func (l *live) listen(ctx context.Context, run *orchestrator.Run) {
	for p, err := range run.Progress(ctx) {
		if err != nil {
			return // another process works on the run
		}
		l.show(func() { l.hear(p) })
	}
}

// hear adds a piece of an agent's text.
func (l *live) hear(p agent.Progress) {
	const kept = 2000 // bytes of an unfinished text
	switch p.Kind {
	case agent.ProgressText:
		text := l.said[p.Key] + p.Text
		if len(text) > kept {
			text = text[len(text)-kept:]
		}
		l.said[p.Key] = text
		if s := sentence(text); s != "" {
			l.heard = p.Agent + ": " + s
		}
	case agent.ProgressTool, agent.ProgressStep:
		l.heard = p.Agent + " uses " + p.Tool.Name
	case agent.ProgressTurn, agent.ProgressCompact:
	}
}

// sentence is the last complete sentence of a growing text, or all of it if none is
// complete.
func sentence(text string) string {
	text = oneLine(Plain(strings.ToValidUTF8(text, "")))
	end := strings.LastIndexAny(text, ".!?")
	if end < 0 {
		return text
	}
	begin := strings.LastIndexAny(text[:end], ".!?") + 1
	return strings.TrimSpace(text[begin : end+1])
}

// show changes the picture, if change is not nil, and draws it.
func (l *live) show(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if change != nil {
		change()
	}
	if l.still {
		return
	}
	width, height := l.size()
	lines := append([]string{fmt.Sprintf("  %v, %s", time.Since(l.began).Truncate(time.Second), l.cost)}, l.rows...)
	if l.heard != "" {
		lines = append(lines[:1:1], append([]string{"  " + l.heard}, lines[1:]...)...)
	}
	l.draw(lines, max(width, 2), max(height, 2))
}

// draw replaces the lines on the screen by lines, as many as fit. A narrower terminal has
// wrapped the old ones.
func (l *live) draw(lines []string, width, height int) {
	var b strings.Builder
	up := 0
	for _, w := range l.drawn {
		up += max(1, (w+width-1)/width)
	}
	if up = min(up, height-1); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r\x1b[J")
	if room := height - 1; len(lines) > room { // the cursor needs a line, too
		rest := len(lines) - room + 1
		lines = append(lines[:room-1:room-1], fmt.Sprintf("  … and %d more", rest))
	}
	l.drawn = l.drawn[:0]
	for _, line := range lines {
		line = fit(Plain(line), width-1)
		b.WriteString(line + "\n")
		l.drawn = append(l.drawn, runewidth.StringWidth(line))
	}
	_, _ = io.WriteString(l.out, b.String()) // a closed console is no error
}

// fit cuts a line to a width in cells, and keeps its indentation.
func fit(line string, width int) string {
	line = strings.NewReplacer("\n", " ", "\t", " ").Replace(line)
	return runewidth.Truncate(line, width, "…")
}

// watchLive shows the run as a picture until it ends.
func (s *session[In, Out]) watchLive(ctx context.Context, run *orchestrator.Run) (err error) {
	ctx, stop := context.WithCancel(ctx)
	l, cost := s.live, s.soFar(ctx, run)
	l.show(func() { l.began, l.cost = time.Now(), cost })
	var all sync.WaitGroup
	all.Go(func() { l.tick(ctx) })
	all.Go(func() { l.listen(ctx, run) })
	defer all.Wait()
	defer stop()
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return err
		}
		picture, cost := s.Picture(ctx, run, rec), s.soFar(ctx, run)
		l.show(func() {
			l.cost = cost
			if picture != nil {
				l.rows = picture
			}
		})
	}
	if ctx.Err() == nil {
		l.show(func() { l.heard = "" })
	}
	return nil
}

// soFar is the run's usage until now.
func (s *session[In, Out]) soFar(ctx context.Context, run *orchestrator.Run) string {
	info, err := run.Info(ctx)
	if err != nil {
		return "unknown" // the next record shows it again
	}
	return fmt.Sprintf("%d calls, %s", info.Spent.Calls, s.Cost(info.Spent))
}
