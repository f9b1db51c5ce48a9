package cassette

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/convene-go/convene/providers"
)

// Player plays a cassette. Create it with [Play]. It is safe for concurrent use.
type Player struct {
	path  string
	clean cleaner
	lines []line

	lists   map[string][]tool
	results map[string][]string // results of tools, by name and input, in the order of their recording

	mu     sync.Mutex
	byKey  map[string][]int // the lines to play, by line.Key; the last one stays
	known  map[again]int    // calls that may be repeated
	misses []error
	told   map[string]int // how many of results were returned
}

// Play reads the cassette at path. It ignores an incomplete last line, which a process
// leaves that dies while it writes; any other line that cannot be read is an error.
func Play(path string, o Options) (*Player, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cassette: play: %w", err)
	}
	p := &Player{path: path, clean: newCleaner(o), byKey: map[string][]int{}, known: map[again]int{}, lists: map[string][]tool{}, told: map[string]int{}}
	for n := 1; ; n++ {
		text, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			p.results = resultsOf(p.lines)
			return p, nil
		}
		data = rest
		l, err := readLine(text)
		if err != nil {
			return nil, fmt.Errorf("cassette: play %s: line %d: %w", path, n, err)
		}
		if l.n = n; l.List != "" {
			p.lists[l.List] = l.Tools
			continue
		}
		p.byKey[l.Key] = append(p.byKey[l.Key], len(p.lines))
		p.lines = append(p.lines, l)
	}
}

// Model returns the model that was recorded under a name. It is priced, because playing
// is free; the Usage is the recorded one. OnText gets the text in one piece.
func (p *Player) Model(name string) providers.Model { return playing{p, name} }

// Open returns the model that was recorded under the name of a Spec, as a function for
// [providers.NewRoles].
func (p *Player) Open(s providers.Spec) (providers.Model, error) { return p.Model(s.String()), nil }

// Check returns nil if every call so far was on the cassette, else an error with all that
// were not: a team may have handled their errors.
func (p *Player) Check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.misses...)
}

// next returns the line to play for a call.
func (p *Player) next(id again) (line, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.known[id]; ok && id.call != "" {
		return p.lines[n], true
	}
	left := p.byKey[id.key]
	if len(left) == 0 {
		return line{}, false
	}
	if len(left) > 1 {
		p.byKey[id.key] = left[1:]
	}
	if id.call != "" {
		p.known[id] = left[0]
	}
	return p.lines[left[0]], true
}

// playing is a recorded model.
type playing struct {
	p    *Player
	name string
}

// Priced says that playing costs nothing.
func (playing) Priced() bool { return true }

// Generate plays what was recorded, or returns [ErrMiss].
func (m playing) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	if ctx.Err() != nil {
		return providers.Response{}, canceled(ctx.Err(), context.Cause(ctx))
	}
	asked, err := m.p.clean.ask(m.name, req)
	if err != nil {
		return providers.Response{}, &providers.Error{Kind: providers.Invalid, Model: m.name, Message: err.Error(), Err: err}
	}
	l, ok := m.p.next(again{providers.KeyFrom(ctx), asked.Key})
	if !ok {
		return providers.Response{}, m.p.miss(asked)
	}
	return tell(ctx, l, req.OnText)
}

// tell plays a line, and passes its text to onText.
func tell(ctx context.Context, l line, onText func(string) error) (providers.Response, error) {
	resp, err := l.play()
	if err != nil || onText == nil || resp.Text == "" {
		return resp, err
	}
	if err := onText(resp.Text); err != nil {
		return providers.Response{}, &providers.Error{Kind: providers.Canceled, Model: resp.Model, Message: "OnText ended the call", Err: err}
	}
	if ctx.Err() != nil {
		return providers.Response{}, canceled(ctx.Err(), context.Cause(ctx))
	}
	return resp, nil
}

func canceled(err, cause error) *providers.Error {
	return &providers.Error{Kind: providers.Canceled, Message: err.Error(), Err: errors.Join(err, cause)}
}
