package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// play is the script of a worker for one attempt at a task: a tool call in each turn, and
// the answer at the end.
type play struct {
	opening string
	steps   []step
	end     string // JSON

	// turned is the worker's text after a nudge of the Guardian, and nudged the step that
	// it does then; without a nudge it continues to the end.
	turned string
	nudged int
}

type step struct {
	tool  string
	input input
}

// input is the input of any of the tools.
type input struct {
	Path    string `json:"path,omitempty"`
	Content string `json:"content,omitempty"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
	Command string `json:"command,omitempty"`
}

var (
	section = regexp.MustCompile(`(?m)^-- (.+) --\n`)
	copied  = regexp.MustCompile(`^(\S+) as in (\d+)$`)
)

// readPlay reads the play of a part, an agent's name and a task's ID, at an attempt. Its
// file is a text with sections: "-- read a/b.go --", "-- write a/b.go --" with the
// content below or "-- write a/b.go as in 1 --" with that of another attempt, "-- edit a/b.go
// --" with the old and the new text and a line "====" between them, "-- remove a --",
// "-- test --", "-- nudged --" with what is said then, and at the end "-- done --" with
// the answer.
func readPlay(part string, attempt int) (*play, error) {
	text, err := playText(part, attempt)
	if err != nil {
		return nil, err
	}
	p := new(play)
	at := section.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		to := len(text)
		if i+1 < len(at) {
			to = at[i+1][0]
		}
		if i == 0 {
			p.opening = strings.TrimSpace(text[:m[0]])
		}
		if err := p.add(part, text[m[2]:m[3]], text[m[1]:to]); err != nil {
			return nil, fmt.Errorf("the script of %s at attempt %d: %w", part, attempt, err)
		}
	}
	if p.end == "" {
		return nil, fmt.Errorf("the script of %s at attempt %d has no end", part, attempt)
	}
	return p, nil
}

// playText is the file for an attempt, or for the last attempt before it.
func playText(part string, attempt int) (string, error) {
	for n := attempt; n > 0; n-- {
		if data, err := fs.ReadFile(script, fmt.Sprintf("%s.%d.txt", part, n)); err == nil {
			return string(data), nil
		}
	}
	return "", fmt.Errorf("the script has nothing for %s at attempt %d", part, attempt)
}

// add adds a section.
func (p *play) add(part, head, body string) error {
	verb, path, _ := strings.Cut(head, " ")
	switch verb {
	case "read", "remove":
		tool := map[string]string{"read": "read_file", "remove": "remove"}[verb]
		p.steps = append(p.steps, step{tool, input{Path: path}})
	case "write":
		if m := copied.FindStringSubmatch(path); m != nil {
			var err error
			if path = m[1]; body == "" {
				body, err = written(part, m[2], path)
			}
			if err != nil {
				return err
			}
		}
		p.steps = append(p.steps, step{"write_file", input{Path: path, Content: body}})
	case "edit":
		old, text, found := strings.Cut(body, "\n====\n")
		if !found {
			return fmt.Errorf("%s: no line ====", head)
		}
		p.steps = append(p.steps, step{"edit_file", input{Path: path, Old: old + "\n", New: text}})
	case "test":
		p.steps = append(p.steps, step{"run", input{Command: "test"}})
	case "nudged":
		p.turned, p.nudged = strings.TrimSpace(body), len(p.steps)
	case "done":
		p.end = strings.TrimSpace(body)
	default:
		return fmt.Errorf("%q is no section", head)
	}
	return nil
}

// written is the content that an attempt writes to a file.
func written(part, attempt, path string) (string, error) {
	n, err := strconv.Atoi(attempt)
	if err != nil {
		return "", err
	}
	p, err := readPlay(part, n)
	if err != nil {
		return "", err
	}
	for _, s := range p.steps {
		if s.tool == "write_file" && s.input.Path == path {
			return s.input.Content, nil
		}
	}
	return "", fmt.Errorf("attempt %d does not write %s", n, path)
}

// turn is the next turn of a conversation: the words and the step, or the end.
func (p *play) turn(talk []providers.Message) (words string, next *step) {
	done, since := 0, -1 // turns of this attempt, in all and since a nudge
	for _, m := range talk[begun(talk):] {
		switch {
		case m.Role == providers.Assistant && since >= 0:
			since++
		case m.Role == providers.Assistant:
			done++
		case m.Role == providers.System && done > 0 && p.nudged > done:
			since = 0
		}
	}
	at := done
	if since >= 0 {
		at = p.nudged + since
	}
	switch at {
	case 0:
		words = p.opening
	case p.nudged:
		words = p.turned
	}
	if at >= len(p.steps) {
		return p.end, nil
	}
	return words, &p.steps[at]
}

// begun is where an attempt begins in a conversation, which may contain earlier ones.
func begun(talk []providers.Message) int {
	for i, m := range slices.Backward(talk) {
		if m.Role == providers.User && strings.Contains(m.Text, `,"slice":1,`) {
			return i
		}
	}
	return 0
}

// call is a step as a model's tool call, with a unique ID in the conversation.
func (s step) call(talk []providers.Message) providers.ToolCall {
	return providers.ToolCall{ID: fmt.Sprintf("call-%d", len(talk)), Name: s.tool, Input: json.RawMessage(agent.JSON(s.input))}
}
