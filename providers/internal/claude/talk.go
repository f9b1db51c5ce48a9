// Package claude implements Anthropic's format: messages of content blocks. Anthropic's
// own service and Amazon Bedrock use it.
package claude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/schema"
	"github.com/convene-go/convene/providers/internal/wire"
)

// Service is a service that has Claude. All fields are set once.
type Service struct {
	Provider string       // name of the provider, for thoughts that are sent back
	Route    wire.Route   // where /messages is; zero: the caller knows
	Name     string       // name of the model in the body; "": it is in the URL
	Version  string       // version of the format in the body; "": it is in a header
	Stream   bool         // the body says that the answer is streamed
	Model    Model        // abilities of the model
	NoCache  bool         // prompts are not marked for the cache
	Memory   *wire.Memory // refusals of the model so far
}

// Talk is one request. It implements [wire.Talk].
type Talk struct {
	Service
	req    providers.Request
	typed  typed
	sent   []byte
	asked  string // URL of the Route that was asked
	forget bool   // do not send thoughts back to the vendor
	midway bool   // a system message was sent after others
	reader
}

// Begin returns the conversation of a call.
func (s *Service) Begin(req providers.Request) *Talk {
	t := &Talk{Service: *s, req: req}
	if req.Output != nil {
		t.typed = typedOf(s.Model, req)
		if t.typed.format != nil && s.Memory.Knows("format") {
			t.typed = typed{prompt: wire.Prompted(req.Output)}
		}
	}
	return t
}

// typed says how an answer is made to fit its schema. The zero typed does nothing.
type typed struct {
	format json.RawMessage // schema for the model's own parameter; nil: none
	tool   string          // the tool whose input is the answer; "": none
	prompt string          // words for the model; "": none
}

// typedOf passes the schema to models that take one, and makes a tool of it for others
// that can be forced to call one. An answer that must be the call of another tool has no
// schema.
func typedOf(m Model, req providers.Request) typed {
	forced := req.ToolChoice != "" && req.ToolChoice != "none"
	prompt := typed{prompt: wire.Prompted(req.Output)}
	switch {
	case !schema.IsObject(req.Output):
		return prompt
	case m.Format:
		fit, _, ok := schema.Claude.Fit(req.Output)
		if !ok {
			return prompt
		}
		return typed{format: fit}
	case forced && m.Force:
		return typed{}
	case m.Format || !m.Force:
		return prompt
	}
	return typed{tool: answerTool(req.Tools)}
}

// answerTool returns a name that no tool has.
func answerTool(tools []providers.Tool) string {
	name := "answer"
	for slices.ContainsFunc(tools, func(t providers.Tool) bool { return t.Name == name }) {
		name = "final_" + name
	}
	return name
}

type request struct {
	Version      string        `json:"anthropic_version,omitempty"`
	Model        string        `json:"model,omitempty"`
	MaxTokens    int           `json:"max_tokens"`
	System       any           `json:"system,omitempty"` // a text, or blocks
	Messages     []message     `json:"messages"`
	Tools        []tool        `json:"tools,omitempty"`
	ToolChoice   *choice       `json:"tool_choice,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Stop         []string      `json:"stop_sequences,omitempty"`
	Thinking     *thinkingMode `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Stream       bool          `json:"stream,omitempty"`
}

type outputConfig struct {
	Format *format `json:"format,omitempty"`
	Effort string  `json:"effort,omitempty"`
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type choice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

// Ask implements [wire.Talk].
func (t *Talk) Ask(a *wire.Answer) (string, []byte, error) {
	t.reader = reader{}
	req, m := t.req, t.Model
	body := request{
		Version: t.Version, Model: t.Name, MaxTokens: m.MaxTokens, Stop: req.Stop, Stream: t.Stream, Messages: t.messages(),
	}
	if req.MaxTokens > 0 {
		body.MaxTokens = req.MaxTokens
	}
	words := t.tools(&body, a)
	t.think(&body)
	if m.Sampling && body.Thinking == nil {
		if !t.Memory.Knows("temperature") {
			body.Temperature = req.Temperature
		}
		if !t.Memory.Knows("top_p") && body.Temperature == nil { // both together are refused
			body.TopP = req.TopP
		}
	}
	if t.typed.format != nil {
		if body.OutputConfig == nil {
			body.OutputConfig = &outputConfig{}
		}
		body.OutputConfig.Format = &format{"json_schema", t.typed.format}
	}
	if system := t.instructions(words); system != "" {
		body.System = system
	}
	t.cache(&body)
	data, err := wire.Body(body, req)
	t.sent = data
	t.asked = t.Route.URL()
	return t.asked + "/messages", data, err
}

// instructions returns the leading system messages, for which the format has one place.
func (t *Talk) instructions(words []string) string {
	var texts []string
	for _, m := range t.req.Messages[:wire.Leading(t.req.Messages)] {
		if !wire.Blank(m) {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(append(texts, words...), "\n\n")
}

// think adds the effort to the request.
func (t *Talk) think(body *request) {
	how := t.Model.think(t.req.Effort, body.MaxTokens, body.ToolChoice)
	if !t.Memory.Knows("thinking") {
		body.Thinking = how.Thinking
	}
	if other, refused := t.Memory.Instead("effort " + how.Effort); refused {
		how.Effort = other
	}
	if how.Effort != "" {
		body.OutputConfig = &outputConfig{Effort: how.Effort}
	}
}

// tools adds the tools and the tool choice, and returns instructions in words for what
// cannot be forced.
func (t *Talk) tools(body *request, a *wire.Answer) (words []string) {
	for _, x := range t.req.Tools {
		body.Tools = append(body.Tools, tool{x.Name, x.Description, wire.InputOf(x)})
	}
	wanted := t.req.ToolChoice
	if len(t.req.Tools) == 0 {
		wanted = ""
		if body.Tools = t.called(); len(body.Tools) > 0 {
			wanted = "none"
		}
	}
	if t.typed.prompt != "" {
		words = append(words, t.typed.prompt)
	}
	if t.typed.tool != "" {
		a.Tool, a.Alone = t.typed.tool, wanted == "none" || len(t.req.Tools) == 0
		body.Tools = append(body.Tools, tool{a.Tool, "Gives the final answer. Its input is the answer.", t.req.Output})
		body.ToolChoice = &choice{Type: "any"} // a tool or the answer
		if a.Alone {
			body.ToolChoice = &choice{"tool", a.Tool}
		}
		return words
	}
	switch {
	case wanted == "":
	case wanted == "none":
		body.ToolChoice = &choice{Type: "none"}
	case !t.Model.Force && wanted == "required":
		return append(words, "Answer by calling at least one of the tools.")
	case !t.Model.Force:
		return append(words, fmt.Sprintf("Answer by calling the tool %q.", wanted))
	case wanted == "required":
		body.ToolChoice = &choice{Type: "any"}
	default:
		body.ToolChoice = &choice{"tool", wanted}
	}
	return words
}

// called returns the tools that were called before, of which only the names are known:
// calls and results are refused in a request without tools.
func (t *Talk) called() []tool {
	var out []tool
	for _, m := range t.req.Messages {
		for _, c := range m.ToolCalls {
			if !slices.ContainsFunc(out, func(x tool) bool { return x.Name == c.Name }) {
				out = append(out, tool{Name: c.Name, InputSchema: wire.InputOf(providers.Tool{})})
			}
		}
	}
	return out
}

// midway is the name in the memory of refused system messages after others.
const midway = "system behind others"

// aboutSystem matches errors about a system message after others, of Anthropic and of
// servers that use its format for other models.
var aboutSystem = regexp.MustCompile("(?i)roles? [`'\"]?system|system (?:role|message)|messages\\.\\d+\\.role|[`'\"]system[`'\"]")

// Concede implements [wire.Talk].
func (t *Talk) Concede(status int, said *wire.Said) bool {
	if t.midway && status >= http.StatusBadRequest && aboutSystem.MatchString(said.Message) { // some servers answer 500
		t.Memory.Learn(midway, "")
		return true
	}
	if t.Route.Concede(t.asked, status, said) {
		return true
	}
	if !wire.RefusesRequest(status) {
		return false
	}
	switch {
	case t.typed.format != nil && said.RefusesFormat():
		t.Memory.Learn("format", "")
		t.typed = typed{prompt: wire.Prompted(t.req.Output)}
		return true
	case !t.forget && said.RefusesThoughts():
		t.forget = true
		return true
	}
	switch param := said.RefusedParam(t.sent, "temperature", "top_p", "thinking", "effort", "output_config.effort", "output_config", "cache_control", "stop_sequences"); param {
	case "":
		if !strings.Contains(said.Message, "cache_control") {
			return false
		}
		t.Memory.Learn("cache_control", "")
	case "effort", "output_config.effort", "output_config":
		asked := t.Model.think(t.req.Effort, 1<<20, nil).Effort
		t.Memory.Learn("effort "+asked, wire.Nearest(asked, said.SupportedValues()))
	default:
		t.Memory.Learn(param, "")
	}
	return true
}

var _ wire.Talk = (*Talk)(nil)
