// Package toolbox stands two tools for libraries of many: a model sees the schema of a tool
// only when it asks for it.
package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// Domain is a library of tools, such as research, code or ops. In a team, Profile.Tools of
// package director names the domains of a worker.
type Domain struct {
	Name  string       // name, without a slash
	Does  string       // its use in a line, told to the model; "": nothing
	Tools []agent.Tool // its tools, each with a name of its own
}

// The names of the tools that [New] returns.
const (
	findTools = "find_tools"
	callTool  = "call_tool"
)

// New returns two tools that stand for those of all domains: find_tools lists them and shows
// the schemas of those that are asked for, call_tool calls one, by the name domain/tool.
// Libraries and MCP servers with many tools do not fill a prompt by that. The input of a tool
// is checked against its schema before it is called; the call's key in [agent.InfoFrom] is the
// key of call_tool.
//
// The error has every fault of the domains.
func New(domains ...Domain) ([]agent.Tool, error) {
	b := toolbox{domains: slices.Clone(domains), tools: map[string]agent.Tool{}}
	if err := b.index(); err != nil {
		return nil, fmt.Errorf("toolbox: %w", err)
	}
	find, err := agent.NewTool(findTools, "Lists the tools that there are, by their domains. Name some of them under tools to see what input they want.", b.find)
	if err != nil {
		return nil, err
	}
	call, err := agent.NewTool(callTool, "Calls one of the tools that "+findTools+" lists.", b.call)
	if err != nil {
		return nil, err
	}
	return []agent.Tool{find, call}, nil
}

type toolbox struct {
	domains []Domain
	tools   map[string]agent.Tool // tools by domain/tool
}

// index notes the tools by their names, or says what is wrong with them.
func (b *toolbox) index() error {
	var f team.Faults
	seen := map[string]bool{}
	for i, d := range b.domains {
		if d.Name == "" || strings.Contains(d.Name, "/") || seen[d.Name] {
			f.Add("domains[%d]: Name is %q, want one without a slash that no earlier domain has", i, d.Name)
		}
		seen[d.Name] = true
		for j, t := range d.Tools {
			name := d.Name + "/" + t.Name
			if _, taken := b.tools[name]; taken || t.Name == "" || t.Call == nil {
				f.Add("domains[%d].Tools[%d]: Name is %q, want one that no earlier tool has, and a Call", i, j, t.Name)
			}
			b.tools[name] = t
		}
	}
	return f.Err()
}

type findInput struct {
	Domain string   `json:"domain,omitempty" jsonschema:"only the tools of this domain"`
	Words  string   `json:"words,omitempty" jsonschema:"only tools whose name or description has all of these words"`
	Tools  []string `json:"tools,omitempty" jsonschema:"show the schema of the input of these, such as code/search"`
}

func (b *toolbox) find(_ context.Context, in findInput) (string, error) {
	if len(in.Tools) > 0 {
		return b.schemas(in.Tools)
	}
	var out strings.Builder
	for _, d := range b.domains {
		var lines []string
		for _, t := range d.Tools {
			if line := d.Name + "/" + t.Name + ": " + prompt.OneLine(t.Description); hasWords(line+" "+d.Does, in.Words) {
				lines = append(lines, line)
			}
		}
		if (in.Domain == "" || in.Domain == d.Name) && len(lines) > 0 {
			fmt.Fprintf(&out, "%s\n  %s\n", strings.TrimSpace("# "+d.Name+" "+d.Does), strings.Join(lines, "\n  "))
		}
	}
	if out.Len() == 0 {
		return "", fmt.Errorf("no tool fits domain %q and words %q; the domains are %q", in.Domain, in.Words, b.names())
	}
	return out.String(), nil
}

// names returns the names of all domains.
func (b *toolbox) names() (names []string) {
	for _, d := range b.domains {
		names = append(names, d.Name)
	}
	return names
}

// hasWords says whether line has all words, in any case and any normal form.
func hasWords(line, words string) bool {
	line = text.Fold(line)
	for word := range strings.FieldsSeq(text.Fold(words)) {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

func (b *toolbox) schemas(names []string) (string, error) {
	var out strings.Builder
	for _, name := range names {
		t, err := b.tool(name)
		if err != nil {
			return "", err
		}
		schema := string(t.Input)
		fmt.Fprintf(&out, "%s: %s\n  input: %s\n", name, prompt.OneLine(t.Description), cmp.Or(schema, "{}"))
	}
	return out.String(), nil
}

func (b *toolbox) tool(name string) (agent.Tool, error) {
	t, ok := b.tools[name]
	if !ok {
		return t, fmt.Errorf("there is no tool %.100q: %s lists those that there are, as domain/tool", name, findTools)
	}
	return t, nil
}

type callInput struct {
	Tool  string          `json:"tool" jsonschema:"as find_tools lists it, such as code/search"`
	Input json.RawMessage `json:"input,omitempty" jsonschema:"an object that fits the schema of the tool"`
}

func (b *toolbox) call(ctx context.Context, in callInput) (string, error) {
	t, err := b.tool(in.Tool)
	if err != nil {
		return "", err
	}
	input, err := inputFor(t, in.Input)
	if err != nil {
		return "", fmt.Errorf("the input of %s does not fit: %w; its schema is %s", in.Tool, err, cmp.Or(string(t.Input), "{}"))
	}
	return t.Call(ctx, input)
}

// inputFor is what a model wrote as the input of a tool: an object, or its text.
func inputFor(t agent.Tool, input json.RawMessage) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(input, &text) == nil {
		input = json.RawMessage(text)
	}
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil {
		return nil, errors.New("it is not a JSON object")
	}
	shape, unreadable := answer.FromSchema(t.Input)
	if unreadable != nil {
		return input, nil //nolint:nilerr // then the tool checks its input
	}
	return shape.Find(input, "")
}
