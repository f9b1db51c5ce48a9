package cassette

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/providers"
)

// Tools records a list of tools under a name, or returns the list recorded under it: so a
// Tape that plays needs no server that has the tools. Each list has its own name.
// agent.TapeTools turns the list into tools for agents.
func (t *Tape) Tools(name string, tools []providers.Tool) ([]providers.Tool, error) {
	if t.recorder != nil {
		return tools, t.recorder.tools(name, tools)
	}
	list, ok := t.player.lists[name]
	if !ok {
		return nil, fmt.Errorf("cassette: %s has no tools under the name %q", t.player.path, name)
	}
	var out []providers.Tool
	for _, l := range list {
		out = append(out, providers.Tool(l))
	}
	return out, nil
}

// ToolResult returns a tool's answer to an input, as the recorded conversations show it;
// for several calls with that input, in order, and then the last answer repeatedly. It
// is [ErrMiss] if there was none, or if the answer was shown with images, which a
// cassette does not store.
func (t *Tape) ToolResult(name string, input json.RawMessage) (string, error) {
	if t.player == nil {
		return "", fmt.Errorf("cassette: tool %q: the tape records", name)
	}
	return t.player.result(name, input)
}

// tools records a list.
func (r *Recorder) tools(name string, tools []providers.Tool) error {
	l := line{V: version, List: name}
	for _, t := range tools {
		l.Tools = append(l.Tools, r.clean.tool(t))
	}
	if err := r.write(again{}, l, r.clean); err != nil {
		return fmt.Errorf("cassette: record tools %q: %w", name, err)
	}
	return nil
}

// result plays a tool's answer.
func (p *Player) result(name string, input json.RawMessage) (string, error) {
	id := callOf(name, p.clean.raw(input, p.clean.request))
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.results[id]
	if len(all) == 0 {
		err := fmt.Errorf("cassette: %w: %s has no answer of tool %q to %s", ErrMiss, p.path, name, short(string(input)))
		p.misses = append(p.misses, err)
		return "", err
	}
	at := min(p.told[id], len(all)-1)
	p.told[id]++
	return all[at], nil
}

// callOf is equal for equal calls of a tool.
func callOf(name string, input json.RawMessage) string {
	v, _ := readJSON(string(input)) // invalid JSON counts as none
	return name + " " + string(encode(v))
}

// resultsOf returns the answers of tools, by callOf: those of a turn are at the end of the
// next request.
func resultsOf(lines []line) map[string][]string {
	out, seen := map[string][]string{}, map[string]bool{}
	for _, l := range lines {
		var req request
		if json.Unmarshal(l.Req, &req) != nil || seen[string(l.Req)] {
			continue // another model of a chain has it, too
		}
		seen[string(l.Req)] = true
		last := len(req.Messages)
		for last > 0 && req.Messages[last-1].Role == providers.ToolRole {
			last--
		}
		if last == 0 {
			continue
		}
		calls := req.Messages[last-1].ToolCalls
		for _, m := range req.Messages[last:] {
			at := slices.IndexFunc(calls, func(c toolCall) bool { return c.ID == m.ToolID })
			if at >= 0 && len(m.Parts) == 0 {
				id := callOf(calls[at].Name, calls[at].Input)
				out[id] = append(out[id], m.Text)
			}
		}
	}
	return out
}
